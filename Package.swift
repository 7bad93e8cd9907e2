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
            .systemLibrary(name: "CFuse", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
            .target(name: "CLinux"),
            // The texts in other languages: `make translations` writes them.
            .target(name: "CTranslations", exclude: ["documents"]),
            .target(name: "KernelFiles"),
            // Threads that wait in system calls, and what they share.
            .target(name: "Threads", dependencies: ["CLinux"]),
            // Messages with descriptors between programs of this machine.
            .target(name: "LocalSocket", dependencies: ["CLinux", "Threads"]),
            // What async code waits on.
            .target(name: "AsyncTools", dependencies: ["KernelFiles", "Threads", nioPosix]),
            .target(name: "MessageBus", dependencies: ["CLinux", "CSystemd", "Threads"]),
        ]),
    // Pure: values in, values out.
    layer(
        "Core",
        [
            .target(name: "Archives", dependencies: ["CZlib"]),
            .target(name: "Arithmetic"),
            .target(name: "Trimming"),
            .target(name: "BlockExchange", dependencies: ["Cryptography", "CLZ4", nioCore]),
            .target(name: "Cryptography", dependencies: ["COpenSSL"]),
            .target(name: "GhostDrop", dependencies: ["Cryptography"]),
            .target(name: "Pairing", dependencies: ["Cryptography", "Phrases"]),
            .target(
                name: "Reconciliation", dependencies: ["Arithmetic", "BlockExchange", "Cryptography", "Selection"]),
            // What agent and mount say to each other, and what the mount decides.
            .target(name: "MountProtocol"),
            .target(name: "MountRules", dependencies: ["MountProtocol"]),
            .target(name: "Selection", dependencies: ["Phrases", "Trimming"]),
            .target(name: "Phrases"),
            .target(name: "Spelling"),
            .target(name: "TOML", dependencies: ["Phrases"]),
            .target(name: "Thumbnails", dependencies: ["CZlib", "Cryptography"]),
            .target(name: "ControlAPI", dependencies: ["Arithmetic", "Phrases", "Trimming"]),
            // What is wrong with a device, and what would help.
            .target(name: "Diagnosis", dependencies: ["ControlAPI", "Phrases", "Trimming"], exclude: ["vocabulary"]),
        ]),
    // The disk: index, files, folders.
    layer(
        "Storage",
        [
            .target(
                name: "IndexStore",
                dependencies: [
                    "BlockExchange", "CLinux", "Cryptography", "Phrases", grdb,
                    .product(name: "GRDBSQLite", package: "GRDB.swift"),
                ]),
            .target(
                name: "FileAccess", dependencies: ["Arithmetic", "CLinux", "Cryptography", "KernelFiles", "Phrases"]),
            .target(
                name: "FolderScanner",
                dependencies: ["Arithmetic", "BlockExchange", "Cryptography", "FileAccess", "Phrases", "Selection"]),
            .target(
                name: "FolderWatcher",
                dependencies: ["AsyncTools", "CLinux", "FileAccess", "KernelFiles", "Phrases", "Threads", logging]),
        ]),
    // Transports, and TLS over them.
    layer(
        "Links",
        [
            .target(name: "Transport", dependencies: ["Phrases", nioCore]),
            // Which links are kept, and what is dialled: values, events in and actions out.
            .target(name: "LinkRules", dependencies: ["Arithmetic", "BlockExchange", "Phrases", "Transport"]),
            .target(
                name: "TransportTCP",
                dependencies: ["BlockExchange", "CLinux", "Cryptography", "Transport", logging, nioCore, nioPosix]),
            .target(
                name: "TransportVirtual", dependencies: ["Arithmetic", "GhostDrop", "Transport", nioCore, nioPosix]),
            .target(
                name: "TransportBluetooth",
                dependencies: [
                    "CBluetooth", "CLinux", "GhostDrop", "MessageBus", "Phrases", "Threads", "Transport", logging,
                    nioCore,
                    nioPosix,
                ]),
            .target(
                name: "LinkSecurity",
                dependencies: [
                    "BlockExchange", "Cryptography", "Phrases", "Transport", nioCore,
                    .product(name: "NIOSSL", package: "swift-nio-ssl"), .product(name: "NIOTLS", package: "swift-nio"),
                ]),
            .target(
                name: "HTTPExchange", dependencies: ["BlockExchange", "LinkSecurity", "Transport", nioCore, nioHTTP1]),
            .target(
                name: "GlobalDiscovery",
                dependencies: ["BlockExchange", "HTTPExchange", "LinkSecurity", "Transport", nioCore]),
            .target(
                name: "TransportRelay",
                dependencies: ["BlockExchange", "Cryptography", "LinkSecurity", "Phrases", "Transport", nioCore]),
            .target(
                name: "PortMapping",
                dependencies: ["Cryptography", "KernelFiles", "Transport", "Trimming", nioCore, nioPosix]),
            .target(name: "Proxies", dependencies: ["Cryptography", "Phrases", "Transport", nioCore]),
        ]),
    // The parts of the agent: its configuration, fetching, folders, sessions with devices, dropped files, thumbnails.
    layer(
        "Sync",
        [
            .target(
                name: "AgentConfiguration",
                dependencies: [
                    "BlockExchange", "Cryptography", "FileAccess", "LinkRules", "Phrases", "Selection", "Spelling",
                    "TOML", "Trimming",
                ]),
            // What every part is given: time, events, the running configuration, what may go over which link.
            .target(
                name: "AgentContext",
                dependencies: [
                    "AgentConfiguration", "AsyncTools", "BlockExchange", "ControlAPI", "LinkRules", "Phrases",
                    "Transport",
                ]),
            // Pure: what the parts decide.
            .target(
                name: "SyncDecisions",
                dependencies: [
                    "Arithmetic", "BlockExchange", "ControlAPI", "Cryptography", "GhostDrop", "Phrases", "Transport",
                ]),
            .target(
                name: "Fetching",
                dependencies: [
                    "AgentContext", "Arithmetic", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography",
                    "FileAccess", "SyncDecisions", "Transport", nioCore,
                ]),
            .target(
                name: "FolderSync",
                dependencies: [
                    "AgentConfiguration", "AgentContext", "Arithmetic", "AsyncTools", "BlockExchange", "ControlAPI",
                    "Cryptography", "Fetching", "FileAccess", "FolderScanner", "FolderWatcher", "IndexStore",
                    "LinkSecurity", "Phrases", "Reconciliation", "Selection", "SyncDecisions", "Transport", logging,
                    nioCore,
                ]),
            .target(
                name: "PeerLinks",
                dependencies: [
                    "AgentConfiguration", "AgentContext", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography",
                    "CLinux", "Fetching", "FolderSync", "IndexStore", "LinkRules", "LinkSecurity", "Phrases",
                    "Reconciliation",
                    "SyncDecisions", "Transport", logging, nioCore, nioPosix,
                ]),
            .target(
                name: "FileDrop",
                dependencies: [
                    "AgentConfiguration", "AgentContext", "Arithmetic", "AsyncTools", "BlockExchange", "ControlAPI",
                    "Cryptography", "Fetching", "FileAccess", "GhostDrop", "PeerLinks", "SyncDecisions", "Transport",
                    logging, nioCore,
                ]),
            .target(
                name: "ThumbnailService",
                dependencies: [
                    "AgentConfiguration", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography", "Fetching",
                    "FileAccess", "FolderSync", "IndexStore", "Thumbnails", logging, nioCore, nioPosix,
                ]),
        ]),
    // The agent, which joins its parts and answers requests, and its server.
    layer(
        "Agent",
        [
            // The socket that mounts ask.
            .target(
                name: "MountServer",
                dependencies: ["CLinux", "LocalSocket", "MountProtocol", "Threads", logging, serviceLifecycle]),
            .target(
                name: "MachineState",
                dependencies: [
                    "AgentConfiguration", "CLinux", "ControlAPI", "Diagnosis", "KernelFiles", "MessageBus",
                    "Thumbnails",
                    logging,
                ]),
            .target(
                name: "SyncAgent",
                dependencies: [
                    "AgentConfiguration", "AgentContext", "Arithmetic", "Archives", "AsyncTools", "BlockExchange",
                    "ControlAPI", "Diagnosis",
                    "Cryptography", "Fetching", "FileAccess", "FileDrop", "FolderSync", "IndexStore", "LinkRules",
                    "LinkSecurity", "LocalSocket", "MountProtocol", "MountRules", "MountServer", "Pairing",
                    "PeerLinks", "Reconciliation", "Selection", "Spelling", "SyncDecisions",
                    "ThumbnailService",
                    "Thumbnails", "Transport", logging, nioCore, nioPosix, serviceLifecycle,
                ]),
            // What reaches devices beyond the local network, joined.
            .target(
                name: "Reachability",
                dependencies: [
                    "AgentConfiguration", "BlockExchange", "ControlAPI", "GlobalDiscovery", "HTTPExchange",
                    "LinkSecurity", "PeerLinks", "PortMapping", "Proxies", "Transport", "TransportRelay",
                    "TransportTCP", logging, nioCore,
                ]),
            .target(
                name: "AgentServer",
                dependencies: [
                    "AsyncTools", "CTranslations", "ControlAPI", "Cryptography", "LinkSecurity", "WebPage", logging,
                    nioCore, nioHTTP1, nioPosix, serviceLifecycle,
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
                    "AgentConfiguration", "AgentContext", "AgentServer", "Archives", "Arithmetic", "AsyncTools",
                    "BlockExchange", "ControlAPI", "ControlClient", "CLinux", "CQREncode", "CTranslations",
                    "Cryptography",
                    "Diagnosis", "FileAccess", "KernelFiles", "Phrases",
                    "FolderWatcher", "MachineState", "MountRules", "MountServer", "PeerLinks", "Proxies",
                    "LinkSecurity", "Reachability", "Spelling", "SyncAgent", "SyncDecisions", "Threads", "Transport",
                    "TransportBluetooth",
                    "TransportTCP", "TransportVirtual", "Trimming", argumentParser, logging, nioCore, nioHTTP1,
                    nioPosix,
                    serviceLifecycle,
                ], plugins: ["BuildCommit"]),
            // A folder as a file system, in a process of its own: docs/decisions/mount.md.
            .executableTarget(
                name: "synctrain-mount",
                dependencies: [
                    "CFuse", "CLinux", "KernelFiles", "LocalSocket", "MountProtocol", "MountRules", "Threads",
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
        .plugin(name: "BuildCommit", capability: .buildTool(), path: "packaging/BuildCommit"),

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
                "AgentConfiguration", "AgentContext", "AsyncTools", "BlockExchange", "Cryptography", "Fetching",
                "FileAccess", "FolderSync", "IndexStore", "LinkRules", "LinkSecurity", "PeerLinks", "SyncDecisions",
                "SyncTestKit", "Transport", logging, nioCore,
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

        // Programs of Tests/NetworkLab: one part of what reaches devices each, against real servers.
        .executableTarget(
            name: "DiscoveryProbe", dependencies: ["BlockExchange", "GlobalDiscovery", "LinkSecurity", "TransportTCP"],
            path: "Tests/NetworkLab/DiscoveryProbe"),
        .executableTarget(
            name: "PortMapProbe", dependencies: ["PortMapping", "Transport", nioCore, nioHTTP1, nioPosix],
            path: "Tests/NetworkLab/PortMapProbe"),
        .executableTarget(
            name: "RelayProbe",
            dependencies: [
                "BlockExchange", "Cryptography", "LinkSecurity", "Transport", "TransportRelay", "TransportTCP", nioCore,
            ], path: "Tests/NetworkLab/RelayProbe"),

        // Many agents that share a folder, in memory: `make scale`.
        .target(
            name: "ScaleModel",
            dependencies: ["BlockExchange", "Cryptography", "Reconciliation", "SyncTestKit", nioCore],
            path: "Tests/ScaleSimulation/Model"),
        .executableTarget(
            name: "ScaleSimulation", dependencies: ["ScaleModel"], path: "Tests/ScaleSimulation/Program"),

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
        .tests(of: "Phrases"),
        .tests(of: "Spelling"),
        .tests(of: "Trimming"),
        .tests(of: "TOML"),
        .tests(of: "Thumbnails", ["Cryptography"]),
        .tests(of: "IndexStore", ["BlockExchange", "Cryptography", grdb]),
        .tests(of: "FileAccess"),
        .tests(of: "KernelFiles"),
        .tests(of: "FolderScanner", ["BlockExchange", "Cryptography", "FileAccess", "Selection"]),
        .tests(of: "FolderWatcher", ["AsyncTools", "FileAccess", "synctrain-watch", logging]),
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
        .tests(of: "MessageBus"),
        .tests(of: "MachineState", ["MessageBus"]),
        .tests(of: "TransportBluetooth", ["GhostDrop", "MessageBus", "Threads", "Transport", nioCore, nioPosix]),
        .tests(of: "GlobalDiscovery", ["BlockExchange", "Cryptography", "HTTPExchange", nioCore]),
        .tests(
            of: "HTTPExchange",
            [
                "BlockExchange", "Cryptography", "LinkSecurity", "Transport", "TransportTCP", nioCore, nioPosix,
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        .tests(of: "Reachability", ["AgentConfiguration", "PeerLinks", "Transport"]),
        .tests(of: "PortMapping", ["Transport", nioCore, nioPosix]),
        .tests(
            of: "Proxies",
            ["Transport", "TransportTCP", nioCore, .product(name: "NIOEmbedded", package: "swift-nio"), nioPosix]),
        .tests(
            of: "TransportRelay",
            [
                "BlockExchange", "Cryptography", "LinkSecurity", "Transport", "TransportConformance", "TransportTCP",
                nioCore, .product(name: "NIOEmbedded", package: "swift-nio"), nioPosix,
            ], resources: [.copy("Vectors")]),
        .tests(of: "LinkRules", ["BlockExchange", "Cryptography", "Transport"]),
        .tests(of: "AgentConfiguration", ["BlockExchange", "Cryptography", "FileAccess"]),
        .tests(
            of: "AgentServer",
            [
                "AgentConfiguration", "ControlAPI", "ControlClient", "Cryptography", "Diagnosis", "LinkSecurity",
                "Phrases", "synctrain",
                logging,
                nioCore,
                nioPosix, serviceLifecycle,
            ]),
        .tests(of: "AsyncTools", ["KernelFiles", "Threads", nioPosix]),
        .tests(of: "SyncDecisions", ["BlockExchange", "ControlAPI", "Cryptography", "Phrases", "Transport"]),
        .tests(of: "AgentContext", ["AgentConfiguration", "BlockExchange", "ControlAPI", "Transport"]),
        .tests(
            of: "Fetching",
            [
                "AgentConfiguration", "AgentContext", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography",
                "SyncDecisions", "Transport", nioCore, nioPosix,
            ]),
        .tests(
            of: "FolderSync",
            [
                "AgentConfiguration", "AgentContext", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography",
                "Fetching", "FileAccess", "FolderScanner", "IndexStore", "Reconciliation", "Selection",
                "SessionTestKit",
                "SyncDecisions", "Transport", logging, nioCore, nioPosix,
            ]),
        .tests(
            of: "PeerLinks",
            [
                "AgentConfiguration", "AgentContext", "AsyncTools", "BlockExchange", "Cryptography", "Fetching",
                "FileAccess", "FolderSync", "IndexStore", "LinkRules", "LinkSecurity", "Phrases", "SessionTestKit",
                "SyncDecisions", "Transport", logging, nioCore,
                .product(name: "NIOEmbedded", package: "swift-nio"), nioPosix,
            ]),
        .tests(
            of: "FileDrop",
            [
                "AgentConfiguration", "AgentContext", "BlockExchange", "ControlAPI", "Cryptography", "FileAccess",
                "GhostDrop", "PeerLinks", "SyncDecisions", "Transport", "TransportVirtual", logging, nioCore, nioPosix,
            ]),
        .tests(
            of: "ThumbnailService",
            [
                "AgentContext", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography", "Fetching", "FileAccess",
                "SyncDecisions", "Thumbnails", "Transport", logging, nioCore, nioPosix,
            ]),
        .tests(
            of: "SyncAgent",
            [
                "AgentConfiguration", "AgentContext", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography",
                "Fetching", "FileAccess", "FolderSync", "IndexStore", "LinkSecurity", "MountProtocol", "Pairing",
                "PeerLinks", "Selection", "SessionTestKit", "SyncDecisions", "Transport", "TransportTCP", logging,
                nioCore, nioPosix,
            ]),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "AgentConfiguration", "AgentContext", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography",
                "Fetching", "FileAccess", "FolderSync", "IndexStore", "LinkRules", "LinkSecurity", "PeerLinks",
                "Reconciliation", "Selection", "SessionTestKit", "SyncDecisions", "SyncTestKit", "Transport", logging,
                nioCore,
            ],
            path: "Tests/Simulation", exclude: ["run"]),
        .tests(of: "ScaleModel"),
        .tests(of: "Diagnosis", ["ControlAPI"]),
        .tests(of: "MountProtocol"),
        .tests(of: "MountRules", ["MountProtocol"]),
        .tests(of: "MountServer", ["LocalSocket", "MountProtocol", "Threads", logging]),
    ])

// Warnings are errors; Swift 6 language mode comes from the tools version.
for target in package.targets where target.type != .system && target.type != .plugin {
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
