// swift-tools-version: 6.2
import PackageDescription

/// Settings of every target of ours: Swift 6 language mode comes from the tools version, warnings are errors.
let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let nio = "swift-nio"

let package = Package(
    name: "synctrain",
    // Only read on Apple systems, where nothing here is built; ArgumentParser's async commands want it stated.
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "synctrain", targets: ["synctrain"]),
        .executable(name: "synctrain-watch", targets: ["synctrain-watch"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // MARK: C libraries
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CBluetooth", pkgConfig: "bluez", providers: [.apt(["libbluetooth-dev"])]),
        .target(name: "CLinux"),
        // The files of the page: `Sources/WebPage/embed` writes which.
        .target(name: "WebPage", exclude: ["embed", "openapi.json", "page"]),

        // MARK: pure
        // Sums, differences and conversions of numbers from outside.
        .target(name: "Arithmetic", swiftSettings: strict),
        .target(name: "Cryptography", dependencies: ["COpenSSL"], swiftSettings: strict),
        .target(
            name: "BlockExchange",
            dependencies: ["Cryptography", "CLZ4", .product(name: "NIOCore", package: nio)],
            swiftSettings: strict),
        .target(name: "Selection", swiftSettings: strict),
        // The insides of zips and ISO images, by ranges of bytes.
        .target(name: "Archives", dependencies: ["CZlib"], swiftSettings: strict),
        .target(name: "GhostDrop", dependencies: ["Cryptography"], swiftSettings: strict),
        .target(name: "Pairing", dependencies: ["Cryptography"], swiftSettings: strict),
        .target(name: "Thumbnails", dependencies: ["Cryptography"], swiftSettings: strict),

        .target(
            name: "Reconciliation", dependencies: ["Arithmetic", "BlockExchange", "Cryptography", "Selection"],
            swiftSettings: strict),

        // MARK: storage
        .target(
            name: "IndexStore",
            dependencies: [
                "BlockExchange", "Cryptography", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .target(name: "FileAccess", dependencies: ["CLinux", "Cryptography"], swiftSettings: strict),

        // MARK: folders
        .target(
            name: "FolderScanner",
            dependencies: ["Arithmetic", "BlockExchange", "Cryptography", "FileAccess", "Selection"],
            swiftSettings: strict),
        // The only user of libinotifytools, in a process of its own: docs/decisions/watching.md.
        .executableTarget(
            name: "synctrain-watch", linkerSettings: [.linkedLibrary("inotifytools")]),
        .target(
            name: "FolderWatcher",
            dependencies: ["CLinux", "FileAccess", .product(name: "Logging", package: "swift-log")],
            swiftSettings: strict),

        // MARK: transports
        .target(
            name: "Transport",
            dependencies: [.product(name: "NIOCore", package: nio)],
            swiftSettings: strict),
        .target(
            name: "TransportTCP",
            dependencies: [
                "Transport", "BlockExchange", "Cryptography", "CLinux",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),

        .target(
            name: "TransportVirtual",
            dependencies: [
                "Arithmetic", "Transport", "GhostDrop",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
            ],
            swiftSettings: strict),
        // The system bus, for bluetoothd, NetworkManager and UPower.
        .target(name: "MessageBus", dependencies: ["CLinux", "CSystemd"], swiftSettings: strict),
        .target(
            name: "TransportBluetooth",
            dependencies: [
                "Transport", "GhostDrop", "CBluetooth", "CLinux", "MessageBus",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),

        // TLS 1.3 over any link: who is at the other end.
        .target(
            name: "LinkSecurity",
            dependencies: [
                "Transport", "BlockExchange", "Cryptography",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: nio),
            ],
            swiftSettings: strict),

        // What NetworkManager and UPower say of the machine.
        .target(
            name: "MachineState",
            dependencies: ["AgentConfiguration", "MessageBus", .product(name: "Logging", package: "swift-log")],
            swiftSettings: strict),

        // MARK: agent
        .target(name: "ControlAPI", dependencies: ["Arithmetic"], swiftSettings: strict),
        .target(
            name: "ControlClient",
            dependencies: [
                "ControlAPI",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOPosix", package: nio),
            ],
            swiftSettings: strict),
        .target(
            name: "AgentConfiguration",
            dependencies: [
                "BlockExchange", "Cryptography", "FileAccess", "Selection",
                .product(name: "TOMLKit", package: "TOMLKit"),
            ],
            swiftSettings: strict),
        .target(
            name: "SyncAgent",
            dependencies: [
                "AgentConfiguration", "Archives", "Arithmetic", "BlockExchange", "ControlAPI", "Cryptography",
                "FileAccess", "FolderScanner", "FolderWatcher", "GhostDrop", "IndexStore", "LinkSecurity", "Pairing",
                "Reconciliation", "Selection", "Thumbnails", "Transport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "AgentServer",
            dependencies: [
                "ControlAPI", "Cryptography", "WebPage",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "synctrain",
            dependencies: [
                "AgentConfiguration", "AgentServer", "Arithmetic", "BlockExchange", "ControlAPI", "ControlClient",
                "CQREncode", "Cryptography", "FileAccess", "FolderWatcher", "MachineState", "SyncAgent", "Transport",
                "TransportBluetooth", "TransportTCP", "TransportVirtual",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),

        // MARK: benchmarks
        .executableTarget(
            name: "IndexStoreBenchmark",
            dependencies: ["IndexStore", "BlockExchange", "Cryptography"],
            path: "Benchmarks/IndexStoreBenchmark",
            swiftSettings: strict),
        .executableTarget(
            name: "CodecBenchmark",
            dependencies: ["BlockExchange", "Cryptography", .product(name: "NIOCore", package: nio)],
            path: "Benchmarks/CodecBenchmark",
            swiftSettings: strict),

        .executableTarget(
            name: "RadioBenchmark",
            dependencies: ["Cryptography", "GhostDrop", "TransportVirtual", .product(name: "NIOCore", package: nio)],
            path: "Benchmarks/RadioBenchmark",
            swiftSettings: strict),

        .executableTarget(
            name: "ScanBenchmark",
            dependencies: ["BlockExchange", "Cryptography", "FileAccess", "FolderScanner", "Selection"],
            path: "Benchmarks/ScanBenchmark",
            swiftSettings: strict),

        // MARK: tests
        .target(
            name: "SyncTestKit",
            dependencies: ["BlockExchange", "CLinux", "Cryptography", "FileAccess"],
            path: "Tests/SyncTestKit",
            swiftSettings: strict),
        // What every transport has to do; also for programs that try one where tests cannot run.
        .target(
            name: "TransportConformance",
            dependencies: ["Transport", .product(name: "NIOCore", package: nio)],
            path: "Tests/TransportConformance",
            swiftSettings: strict),
        .testTarget(name: "ArithmeticTests", dependencies: ["Arithmetic"], swiftSettings: strict),
        .testTarget(
            name: "CryptographyTests",
            dependencies: [
                "Cryptography", "SyncTestKit",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "BlockExchangeTests",
            dependencies: [
                "BlockExchange", "Cryptography", "SyncTestKit", .product(name: "NIOCore", package: nio),
                .product(name: "NIOTestUtils", package: nio),
            ],
            resources: [.copy("Vectors")],
            swiftSettings: strict),
        .testTarget(
            name: "SelectionTests",
            dependencies: [
                "Selection", "SyncTestKit",
            ],
            resources: [.copy("Vectors")],
            swiftSettings: strict),
        .testTarget(
            name: "ArchivesTests", dependencies: ["Archives", "Cryptography", "SyncTestKit"],
            exclude: ["make-vectors.py"], resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "IndexStoreTests",
            dependencies: [
                "IndexStore", "BlockExchange", "Cryptography", "SyncTestKit",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FileAccessTests",
            dependencies: [
                "FileAccess", "SyncTestKit",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "GhostDropTests",
            dependencies: ["GhostDrop", "Cryptography", "SyncTestKit"],
            resources: [.copy("Vectors")],
            swiftSettings: strict),
        .testTarget(
            name: "PairingTests",
            dependencies: ["Pairing", "Cryptography", "SyncTestKit"],
            swiftSettings: strict),
        .testTarget(
            name: "ThumbnailsTests",
            dependencies: ["Thumbnails", "Cryptography", "SyncTestKit"],
            swiftSettings: strict),
        .testTarget(
            name: "TransportVirtualTests",
            dependencies: [
                "TransportVirtual", "Transport", "TransportConformance", "GhostDrop", "LinkSecurity", "BlockExchange",
                "Cryptography", "SyncTestKit",
                .product(name: "NIOCore", package: nio), .product(name: "NIOPosix", package: nio),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TransportBluetoothTests",
            dependencies: [
                "TransportBluetooth", "Transport", "GhostDrop", "MessageBus", "SyncTestKit",
                .product(name: "NIOCore", package: nio), .product(name: "NIOPosix", package: nio),
            ],
            swiftSettings: strict),
        // Runs in the machine that Tests/BluetoothLab/run boots.
        .executableTarget(
            name: "BluetoothProbe",
            dependencies: [
                "TransportBluetooth", "Transport", "CBluetooth", "MessageBus",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: nio), .product(name: "NIOPosix", package: nio),
            ],
            path: "Tests/BluetoothLab/Probe",
            swiftSettings: strict),
        .testTarget(
            name: "ReconciliationTests",
            dependencies: ["Reconciliation", "BlockExchange", "Cryptography", "Selection", "SyncTestKit"],
            swiftSettings: strict),
        .testTarget(
            name: "FolderScannerTests",
            dependencies: [
                "FolderScanner", "BlockExchange", "Cryptography", "FileAccess", "Selection", "SyncTestKit",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FolderWatcherTests",
            dependencies: [
                "FolderWatcher", "FileAccess", "SyncTestKit", "synctrain-watch",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TransportTCPTests",
            dependencies: [
                "TransportTCP", "Transport", "TransportConformance", "LinkSecurity", "BlockExchange", "Cryptography",
                "SyncTestKit", .product(name: "NIOCore", package: nio), .product(name: "NIOPosix", package: nio),
                .product(name: "NIOEmbedded", package: nio), .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AgentConfigurationTests",
            dependencies: [
                "AgentConfiguration", "BlockExchange", "Cryptography", "FileAccess", "SyncTestKit",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AgentServerTests",
            dependencies: [
                "AgentServer", "ControlAPI", "ControlClient", "SyncTestKit", "synctrain",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio), .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SyncAgentTests",
            dependencies: [
                "SyncAgent", "AgentConfiguration", "BlockExchange", "ControlAPI", "Cryptography", "FileAccess",
                "GhostDrop", "IndexStore", "LinkSecurity", "Pairing", "Reconciliation", "Selection", "Thumbnails",
                "Transport", "TransportTCP", "TransportVirtual", "SyncTestKit",
                .product(name: "NIOCore", package: nio), .product(name: "NIOEmbedded", package: nio),
                .product(name: "NIOPosix", package: nio), .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "SyncAgent", "AgentConfiguration", "BlockExchange", "ControlAPI", "Cryptography", "FileAccess",
                "IndexStore", "Reconciliation", "Selection", "Transport", "SyncTestKit",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: nio), .product(name: "NIOPosix", package: nio),
            ],
            path: "Tests/Simulation",
            exclude: ["run"],
            swiftSettings: strict),
        .testTarget(
            name: "ArchitectureTests",
            dependencies: [],
            swiftSettings: strict),
    ],
    cxxLanguageStandard: .cxx17
)
