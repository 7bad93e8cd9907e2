// swift-tools-version: 6.2
import PackageDescription

// What several targets use of other packages.
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")

/// The targets that other programs may use; everything else serves the programs of this package.
let libraries = ["BlockExchange", "GhostDrop", "Pairing", "Selection"]

/// Each layer uses itself and those before it.
let layers = [
    // The machine: C libraries, C of our own, the system bus.
    layer(
        "System",
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CBluetooth", pkgConfig: "bluez", providers: [.apt(["libbluetooth-dev"])]),
        .systemLibrary(name: "CFuse", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
        .part("CLinux"),
        // The texts in other languages: `make translations` writes them.
        .part("CTranslations", exclude: ["documents"]),
        .part("KernelFiles"),
        // Threads that wait in system calls, and what they share.
        .part("Threads", ["CLinux"]),
        // Messages with descriptors between programs of this machine.
        .part("LocalSocket", ["CLinux", "Threads"]),
        // What async code waits on.
        .part("AsyncTools", ["KernelFiles", "Threads", nioPosix]),
        .part("MessageBus", ["CLinux", "CSystemd", "Threads"])),
    // Pure: values in, values out.
    layer(
        "Core",
        .part("Archives", ["CZlib", "Phrases"]),
        .part("Arithmetic"),
        .part("Trimming"),
        .part("Names"),
        .part("BlockExchange", ["Cryptography", "CLZ4", nioCore]),
        .part("Cryptography", ["COpenSSL"]),
        .part("GhostDrop", ["Cryptography"]),
        .part("Pairing", ["Cryptography", "Phrases"]),
        .part("Reconciliation", ["Arithmetic", "BlockExchange", "Cryptography", "Names", "Selection"]),
        // What agent and mount say to each other, and what the mount decides.
        .part("MountProtocol"),
        .part("MountRules", ["MountProtocol", "Names"]),
        .part("Selection", ["Phrases", "Trimming"]),
        .part("Phrases"),
        .part("Spelling"),
        .part("TOML", ["Phrases"]),
        .part("Thumbnails", ["CZlib", "Cryptography"]),
        .part("ControlAPI", ["Arithmetic", "Phrases", "Trimming"]),
        // What is wrong with a device, and what would help.
        .part("Diagnosis", ["ControlAPI", "Phrases", "Trimming"], exclude: ["vocabulary"])),
    // The disk: index, files, folders.
    layer(
        "Storage",
        .part(
            "IndexStore",
            [
                "BlockExchange", "CLinux", "Cryptography", "Names", "Phrases", grdb,
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        .part("FileAccess", ["Arithmetic", "CLinux", "Cryptography", "KernelFiles", "Phrases"]),
        .part(
            "FolderScanner", ["Arithmetic", "BlockExchange", "Cryptography", "FileAccess", "Phrases", "Selection"]),
        .part(
            "FolderWatcher", ["AsyncTools", "CLinux", "FileAccess", "KernelFiles", "Phrases", "Threads", logging])),
    // Transports, and TLS over them.
    layer(
        "Links",
        .part("Transport", ["Phrases", nioCore]),
        // Which links are kept, and what is dialled: values, events in and actions out.
        .part("LinkRules", ["Arithmetic", "BlockExchange", "Phrases", "Transport"]),
        .part(
            "TransportTCP", ["BlockExchange", "CLinux", "Cryptography", "Transport", logging, nioCore, nioPosix]),
        .part("TransportVirtual", ["Arithmetic", "GhostDrop", "Transport", nioCore, nioPosix]),
        .part(
            "TransportBluetooth",
            [
                "CBluetooth", "CLinux", "GhostDrop", "MessageBus", "Phrases", "Threads", "Transport", logging, nioCore,
                nioPosix,
            ]),
        .part(
            "LinkSecurity",
            [
                "BlockExchange", "Cryptography", "Phrases", "Transport", nioCore, nioSSL,
                .product(name: "NIOTLS", package: "swift-nio"),
            ]),
        .part("HTTPExchange", ["BlockExchange", "LinkSecurity", "Transport", nioCore, nioHTTP1]),
        .part("GlobalDiscovery", ["BlockExchange", "HTTPExchange", "LinkSecurity", "Transport", nioCore]),
        .part(
            "TransportRelay", ["BlockExchange", "Cryptography", "LinkSecurity", "Phrases", "Transport", nioCore]),
        .part("PortMapping", ["Cryptography", "KernelFiles", "Transport", "Trimming", nioCore, nioPosix]),
        .part("Proxies", ["Cryptography", "Phrases", "Transport", nioCore])),
    // The parts of the agent: its configuration, fetching, folders, sessions with devices, dropped files, thumbnails.
    layer(
        "Sync",
        .part(
            "AgentConfiguration",
            [
                "BlockExchange", "Cryptography", "FileAccess", "LinkRules", "Names", "Phrases", "Selection", "Spelling",
                "TOML", "Trimming",
            ]),
        // What every part is given: time, events, the running configuration, what may go over which link.
        .part(
            "AgentContext",
            ["AgentConfiguration", "AsyncTools", "BlockExchange", "ControlAPI", "LinkRules", "Phrases", "Transport"]),
        // Pure: what the parts decide.
        .part(
            "SyncDecisions",
            [
                "Arithmetic", "BlockExchange", "ControlAPI", "Cryptography", "GhostDrop", "Names", "Phrases",
                "Transport",
            ]),
        .part(
            "Fetching",
            [
                "AgentContext", "Arithmetic", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography", "FileAccess",
                "SyncDecisions", "Transport", nioCore,
            ]),
        .part(
            "FolderSync",
            [
                "AgentConfiguration", "AgentContext", "Arithmetic", "AsyncTools", "BlockExchange", "ControlAPI",
                "Cryptography", "Fetching", "FileAccess", "FolderScanner", "FolderWatcher", "IndexStore",
                "LinkSecurity", "Names", "Phrases", "Reconciliation", "Selection", "SyncDecisions", "Transport",
                logging, nioCore,
            ]),
        .part(
            "PeerLinks",
            [
                "AgentConfiguration", "AgentContext", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography",
                "CLinux", "Fetching", "FolderSync", "IndexStore", "LinkRules", "LinkSecurity", "Phrases",
                "Reconciliation", "SyncDecisions", "Transport", logging, nioCore, nioPosix,
            ]),
        .part(
            "FileDrop",
            [
                "AgentConfiguration", "AgentContext", "Arithmetic", "AsyncTools", "BlockExchange", "ControlAPI",
                "Cryptography", "Fetching", "FileAccess", "GhostDrop", "Names", "PeerLinks", "SyncDecisions",
                "Transport", logging, nioCore,
            ]),
        .part(
            "ThumbnailService",
            [
                "AgentConfiguration", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography", "Fetching",
                "FileAccess", "FolderSync", "IndexStore", "Thumbnails", logging, nioCore, nioPosix,
            ])),
    // The agent, which joins its parts and answers requests, and its server.
    layer(
        "Agent",
        // The socket that mounts ask.
        .part("MountServer", ["CLinux", "LocalSocket", "MountProtocol", "Threads", logging, serviceLifecycle]),
        .part(
            "MachineState",
            [
                "AgentConfiguration", "CLinux", "ControlAPI", "Diagnosis", "KernelFiles", "MessageBus", "Thumbnails",
                logging,
            ]),
        .part(
            "SyncAgent",
            [
                "AgentConfiguration", "AgentContext", "Arithmetic", "Archives", "AsyncTools", "BlockExchange",
                "ControlAPI", "Diagnosis", "Cryptography", "Fetching", "FileAccess", "FileDrop", "FolderSync",
                "IndexStore", "LinkRules", "LinkSecurity", "LocalSocket", "MountProtocol", "MountRules", "MountServer",
                "Names", "Pairing", "PeerLinks", "Reconciliation", "Selection", "Spelling", "SyncDecisions",
                "ThumbnailService", "Thumbnails", "Transport", logging, nioCore, nioPosix, serviceLifecycle,
            ]),
        // What reaches devices beyond the local network, joined.
        .part(
            "Reachability",
            [
                "AgentConfiguration", "BlockExchange", "ControlAPI", "GlobalDiscovery", "HTTPExchange", "LinkSecurity",
                "PeerLinks", "PortMapping", "Proxies", "Transport", "TransportRelay", "TransportTCP", logging, nioCore,
            ]),
        .part(
            "AgentServer",
            [
                "AsyncTools", "CTranslations", "ControlAPI", "Cryptography", "LinkSecurity", "WebPage", logging,
                nioCore, nioHTTP1, nioPosix, serviceLifecycle,
            ]),
        // The files of the page: `Sources/Agent/WebPage/embed` writes which.
        .part("WebPage", exclude: ["embed", "openapi.json", "page"])),
    // What people run.
    layer(
        "Programs",
        .part("ControlClient", ["ControlAPI", nioCore, nioHTTP1, nioPosix]),
        .executableTarget(
            name:
                "synctrain",
            dependencies: [
                "AgentConfiguration", "AgentContext", "AgentServer", "Archives", "Arithmetic", "AsyncTools",
                "BlockExchange", "ControlAPI", "ControlClient", "CLinux", "CQREncode", "CTranslations", "Cryptography",
                "Diagnosis", "FileAccess", "KernelFiles", "Names", "Phrases", "FolderWatcher", "MachineState",
                "MountRules", "MountServer", "PeerLinks", "Proxies", "LinkSecurity", "Reachability", "Spelling",
                "SyncAgent", "SyncDecisions", "Threads", "Transport", "TransportBluetooth", "TransportTCP",
                "TransportVirtual", "Trimming", argumentParser, logging, nioCore, nioHTTP1, nioPosix, serviceLifecycle,
            ], plugins: ["BuildCommit"]),
        // A folder as a file system, in a process of its own: docs/decisions/mount.md.
        .executableTarget(
            name: "synctrain-mount",
            dependencies: [
                "CFuse", "CLinux", "KernelFiles", "LocalSocket", "MountProtocol", "MountRules", "Names", "Threads",
            ]),
        // The only user of libinotifytools, in a process of its own: docs/decisions/watching.md.
        .executableTarget(name: "synctrain-watch", linkerSettings: [.linkedLibrary("inotifytools")])),
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
                "SyncTestKit", "Transport", logging, nioCore, nioEmbedded, nioPosix,
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
        .tests(
            of: "BlockExchange", [.product(name: "NIOTestUtils", package: "swift-nio")],
            resources: [.copy("Vectors")]),
        .tests(of: "GhostDrop", resources: [.copy("Vectors")]),
        .tests(of: "Selection", resources: [.copy("Vectors")]),
        .tests(of: "FolderWatcher", ["synctrain-watch"]),
        .tests(
            of: "TransportTCP",
            ["LinkSecurity", "TransportConformance", nioEmbedded]),
        .tests(of: "TransportVirtual", ["BlockExchange", "Cryptography", "LinkSecurity", "TransportConformance"]),
        .tests(of: "GlobalDiscovery", ["Cryptography"]),
        .tests(
            of: "HTTPExchange",
            ["Cryptography", "TransportTCP", nioPosix, nioSSL]),
        .tests(of: "Proxies", ["TransportTCP", nioEmbedded, nioPosix]),
        .tests(
            of: "TransportRelay",
            ["TransportConformance", "TransportTCP", nioEmbedded, nioPosix],
            resources: [.copy("Vectors")]),
        .tests(of: "LinkRules", ["Cryptography"]),
        .tests(of: "AgentServer", ["AgentConfiguration", "ControlClient", "Diagnosis", "Phrases", "synctrain"]),
        .tests(of: "Fetching", ["AgentConfiguration", nioPosix]),
        .tests(of: "FolderSync", ["SessionTestKit", nioPosix]),
        .tests(of: "PeerLinks", ["FileAccess", "SessionTestKit", nioEmbedded]),
        .tests(of: "FileDrop", ["TransportVirtual", nioPosix]),
        .tests(of: "ThumbnailService", ["AgentContext", "SyncDecisions", "Transport"]),
        .tests(of: "SyncAgent", ["SessionTestKit", "TransportTCP"]),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "AgentConfiguration", "AgentContext", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography",
                "Fetching", "FileAccess", "FolderSync", "IndexStore", "LinkRules", "LinkSecurity", "Names", "PeerLinks",
                "Reconciliation", "Selection", "SessionTestKit", "SyncDecisions", "SyncTestKit", "Transport", logging,
                nioCore,
            ],
            path: "Tests/Simulation", exclude: ["run"]),
    ]
        // Tests that need no more than what they test.
        + [
            "AgentConfiguration", "AgentContext", "Arithmetic", "AsyncTools", "Cryptography", "Diagnosis", "FileAccess",
            "FolderScanner", "IndexStore", "KernelFiles", "MachineState", "MessageBus", "MountProtocol", "MountRules",
            "MountServer", "Names", "Pairing", "Phrases", "PortMapping", "Reachability", "Reconciliation", "ScaleModel",
            "Spelling", "SyncDecisions", "TOML", "Thumbnails", "TransportBluetooth", "Trimming",
        ].map { .tests(of: $0) })

// Warnings are errors; Swift 6 language mode comes from the tools version.
for target in package.targets where target.type != .system && target.type != .plugin {
    target.swiftSettings = [.treatAllWarnings(as: .error)]
}

/// The targets of one layer, each in a directory of its own.
func layer(_ name: String, _ targets: Target...) -> [Target] {
    for target in targets { target.path = "Sources/\(name)/\(target.name)" }
    return targets
}

extension Target {
    /// A target of a layer that is no program.
    static func part(_ name: String, _ dependencies: [Dependency] = [], exclude: [String] = []) -> Target {
        .target(name: name, dependencies: dependencies, exclude: exclude)
    }

    static func benchmark(_ name: String, _ dependencies: [Dependency]) -> Target {
        .executableTarget(name: name, dependencies: dependencies, path: "Benchmarks/\(name)")
    }

    /// The tests of one target, in a target of the same name. They may use what it uses, and `dependencies` beyond that.
    @MainActor static func tests(
        of target: String, _ dependencies: [Dependency] = [], exclude: [String] = [], resources: [Resource] = []
    ) -> Target {
        let used = layers.joined().first { $0.name == target }?.dependencies ?? []
        return .testTarget(
            name: "\(target)Tests", dependencies: [.target(name: target), "SyncTestKit"] + used + dependencies,
            exclude: exclude, resources: resources)
    }
}
