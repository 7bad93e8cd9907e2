// swift-tools-version: 6.2
import PackageDescription

// What several targets use of other packages.
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")

/// The targets that other programs may use; everything else serves the programs of this package.
let libraries = ["BlockExchange", "GhostDrop", "Pairing", "Selection"]

/// Each layer uses itself and those before it.
let layers = [
    // The machine: C libraries, C of our own, the system bus.
    layer(
        "System",
        [
            .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
            .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
            .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),
            .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
            .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
            .systemLibrary(name: "CBluetooth", pkgConfig: "bluez", providers: [.apt(["libbluetooth-dev"])]),
            .target(name: "CLinux"),
            .target(name: "MessageBus", dependencies: ["CLinux", "CSystemd"]),
        ]),
    // Pure: values in, values out.
    layer(
        "Core",
        [
            .target(name: "Archives", dependencies: ["CZlib"]),
            .target(name: "Arithmetic"),
            .target(name: "BlockExchange", dependencies: ["Cryptography", "CLZ4", nioCore]),
            .target(name: "Cryptography", dependencies: ["COpenSSL"]),
            .target(name: "GhostDrop", dependencies: ["Cryptography"]),
            .target(name: "Pairing", dependencies: ["Cryptography"]),
            .target(
                name: "Reconciliation", dependencies: ["Arithmetic", "BlockExchange", "Cryptography", "Selection"]),
            .target(name: "Selection"),
            .target(name: "TOML"),
            .target(name: "Thumbnails", dependencies: ["Cryptography"]),
            .target(name: "ControlAPI", dependencies: ["Arithmetic"]),
        ]),
    // The disk: index, files, folders.
    layer(
        "Storage",
        [
            .target(
                name: "IndexStore",
                dependencies: [
                    "BlockExchange", "Cryptography", grdb, .product(name: "GRDBSQLite", package: "GRDB.swift"),
                ]),
            .target(name: "FileAccess", dependencies: ["CLinux", "Cryptography"]),
            .target(
                name: "FolderScanner",
                dependencies: ["Arithmetic", "BlockExchange", "Cryptography", "FileAccess", "Selection"]),
            .target(name: "FolderWatcher", dependencies: ["CLinux", "FileAccess", logging]),
        ]),
    // Transports, and TLS over them.
    layer(
        "Links",
        [
            .target(name: "Transport", dependencies: [nioCore]),
            .target(
                name: "TransportTCP",
                dependencies: ["BlockExchange", "CLinux", "Cryptography", "Transport", logging, nioCore, nioPosix]),
            .target(
                name: "TransportVirtual", dependencies: ["Arithmetic", "GhostDrop", "Transport", nioCore, nioPosix]),
            .target(
                name: "TransportBluetooth",
                dependencies: [
                    "CBluetooth", "CLinux", "GhostDrop", "MessageBus", "Transport", logging, nioCore, nioPosix,
                ]),
            .target(
                name: "LinkSecurity",
                dependencies: [
                    "BlockExchange", "Cryptography", "Transport", nioCore,
                    .product(name: "NIOSSL", package: "swift-nio-ssl"), .product(name: "NIOTLS", package: "swift-nio"),
                ]),
        ]),
    // The agent, its configuration and its server.
    layer(
        "Agent",
        [
            .target(
                name: "AgentConfiguration",
                dependencies: ["BlockExchange", "Cryptography", "FileAccess", "Selection", "TOML"]),
            .target(name: "MachineState", dependencies: ["AgentConfiguration", "MessageBus", logging]),
            .target(
                name: "SyncAgent",
                dependencies: [
                    "AgentConfiguration", "Archives", "Arithmetic", "BlockExchange", "ControlAPI", "Cryptography",
                    "FileAccess", "FolderScanner", "FolderWatcher", "GhostDrop", "IndexStore", "LinkSecurity",
                    "Pairing", "Reconciliation", "Selection", "Thumbnails", "Transport", logging, nioCore, nioPosix,
                    serviceLifecycle,
                ]),
            .target(
                name: "AgentServer",
                dependencies: [
                    "ControlAPI", "Cryptography", "WebPage", logging, nioCore, nioHTTP1, nioPosix, serviceLifecycle,
                ]),
            // The files of the page: `Sources/Agent/WebPage/embed` writes which.
            .target(name: "WebPage", exclude: ["embed", "openapi.json", "page"]),
        ]),
    // What people run.
    layer(
        "Programs",
        [
            .target(name: "ControlClient", dependencies: ["ControlAPI", nioCore, nioHTTP1, nioPosix]),
            .executableTarget(
                name: "synctrain",
                dependencies: [
                    "AgentConfiguration", "AgentServer", "Arithmetic", "BlockExchange", "ControlAPI",
                    "ControlClient", "CLinux", "CQREncode", "Cryptography", "FileAccess", "FolderWatcher",
                    "MachineState", "SyncAgent", "Transport", "TransportBluetooth", "TransportTCP",
                    "TransportVirtual", argumentParser, logging, nioCore,
                    nioHTTP1,
                    nioPosix, serviceLifecycle,
                ]),
            // The only user of libinotifytools, in a process of its own: docs/decisions/watching.md.
            .executableTarget(name: "synctrain-watch", linkerSettings: [.linkedLibrary("inotifytools")]),
        ]),
]

let package = Package(
    name: "synctrain",
    // Only read on Apple systems, where nothing here is built; ArgumentParser's async commands want it stated.
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "synctrain", targets: ["synctrain"]),
        .executable(name: "synctrain-watch", targets: ["synctrain-watch"]),
    ] + libraries.map { .library(name: $0, targets: [$0]) },
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: layers.flatMap { $0 } + [
        // MARK: benchmarks
        .benchmark("CodecBenchmark", ["BlockExchange", "Cryptography", nioCore]),
        .benchmark("IndexStoreBenchmark", ["BlockExchange", "Cryptography", "IndexStore"]),
        .benchmark("RadioBenchmark", ["Cryptography", "GhostDrop", "TransportVirtual", nioCore]),
        .benchmark("ScanBenchmark", ["BlockExchange", "Cryptography", "FileAccess", "FolderScanner", "Selection"]),

        // MARK: what tests share
        .target(
            name: "SyncTestKit", dependencies: ["BlockExchange", "CLinux", "Cryptography", "FileAccess"],
            path: "Tests/SyncTestKit"),
        // Real sessions over links in memory.
        .target(
            name: "SessionTestKit",
            dependencies: [
                "AgentConfiguration", "BlockExchange", "Cryptography", "FileAccess", "IndexStore", "LinkSecurity",
                "SyncAgent", "SyncTestKit", "Transport", logging, nioCore,
                .product(name: "NIOEmbedded", package: "swift-nio"), nioPosix,
            ],
            path: "Tests/SessionTestKit"),
        // What every transport has to do; also for programs that try one where tests cannot run.
        .target(
            name: "TransportConformance", dependencies: ["Transport", nioCore], path: "Tests/TransportConformance"),
        // Runs in the machine that Tests/BluetoothLab/run boots.
        .executableTarget(
            name: "BluetoothProbe",
            dependencies: ["CBluetooth", "MessageBus", "Transport", "TransportBluetooth", logging, nioCore, nioPosix],
            path: "Tests/BluetoothLab/Probe"),

        // MARK: tests
        .testTarget(name: "ArchitectureTests"),
        .tests(of: "Archives", ["Cryptography"], exclude: ["make-vectors.py"], resources: [.copy("Vectors")]),
        .tests(of: "Arithmetic"),
        .tests(
            of: "BlockExchange", ["Cryptography", nioCore, .product(name: "NIOTestUtils", package: "swift-nio")],
            resources: [.copy("Vectors")]),
        .tests(of: "Cryptography"),
        .tests(of: "GhostDrop", ["Cryptography"], resources: [.copy("Vectors")]),
        .tests(of: "Pairing", ["Cryptography"]),
        .tests(of: "Reconciliation", ["BlockExchange", "Cryptography", "Selection"]),
        .tests(of: "Selection", resources: [.copy("Vectors")]),
        .tests(of: "TOML"),
        .tests(of: "Thumbnails", ["Cryptography"]),
        .tests(of: "IndexStore", ["BlockExchange", "Cryptography", grdb]),
        .tests(of: "FileAccess"),
        .tests(of: "FolderScanner", ["BlockExchange", "Cryptography", "FileAccess", "Selection"]),
        .tests(of: "FolderWatcher", ["FileAccess", "synctrain-watch", logging]),
        .tests(
            of: "TransportTCP",
            [
                "BlockExchange", "Cryptography", "LinkSecurity", "Transport", "TransportConformance", logging, nioCore,
                .product(name: "NIOEmbedded", package: "swift-nio"), nioPosix,
            ]),
        .tests(
            of: "TransportVirtual",
            [
                "BlockExchange", "Cryptography", "GhostDrop", "LinkSecurity", "Transport", "TransportConformance",
                nioCore, nioPosix,
            ]),
        .tests(of: "TransportBluetooth", ["GhostDrop", "MessageBus", "Transport", nioCore, nioPosix]),
        .tests(of: "AgentConfiguration", ["BlockExchange", "Cryptography", "FileAccess"]),
        .tests(
            of: "AgentServer",
            ["ControlAPI", "ControlClient", "synctrain", logging, nioCore, nioPosix, serviceLifecycle]),
        .tests(
            of: "SyncAgent",
            [
                "AgentConfiguration", "BlockExchange", "ControlAPI", "Cryptography", "FileAccess", "GhostDrop",
                "IndexStore", "LinkSecurity", "Pairing", "Reconciliation", "Selection", "SessionTestKit", "Thumbnails",
                "Transport", "TransportTCP", "TransportVirtual", logging, nioCore,
                .product(name: "NIOEmbedded", package: "swift-nio"), nioPosix,
            ]),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "AgentConfiguration", "BlockExchange", "ControlAPI", "Cryptography", "FileAccess", "IndexStore",
                "LinkSecurity", "Reconciliation", "Selection", "SessionTestKit", "SyncAgent", "SyncTestKit",
                "Transport",
                logging, nioCore,
            ],
            path: "Tests/Simulation", exclude: ["run"]),
    ])

// Warnings are errors; Swift 6 language mode comes from the tools version.
for target in package.targets where target.type != .system {
    target.swiftSettings = [.treatAllWarnings(as: .error)]
}

/// The targets of one layer, each in a directory of its own.
func layer(_ name: String, _ targets: [Target]) -> [Target] {
    for target in targets { target.path = "Sources/\(name)/\(target.name)" }
    return targets
}

extension Target {
    static func benchmark(_ name: String, _ dependencies: [Dependency]) -> Target {
        .executableTarget(name: name, dependencies: dependencies, path: "Benchmarks/\(name)")
    }

    /// The tests of one target, in a target of the same name; `dependencies` are those beyond it and `SyncTestKit`.
    static func tests(
        of target: String, _ dependencies: [Dependency] = [], exclude: [String] = [], resources: [Resource] = []
    ) -> Target {
        .testTarget(
            name: "\(target)Tests", dependencies: [.target(name: target), "SyncTestKit"] + dependencies,
            exclude: exclude, resources: resources)
    }
}
