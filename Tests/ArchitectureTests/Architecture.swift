/// Which target may import what, and why not more (docs/design.md, "Targets").
///
/// Imports point one way: pure targets, then storage and transports, then the agent, then the command line. A target or
/// a module that is not in these tables is refused until someone writes down where it belongs.
struct Architecture {
    /// For each target the targets of ours that it may import.
    var targets: [String: Set<String>]
    /// For each module of others, who may import it; nil: everyone. And why.
    var modules: [String: (importers: Set<String>?, reason: String)]
    /// Targets that are handed time, randomness and data and touch nothing else.
    var pure: Set<String>
    /// What a pure target may not import.
    var impure: Set<String>

    static let synctrain = Architecture(
        targets: [
            "AsyncTools": ["KernelFiles", "Threads"],
            "KernelFiles": [],
            "CLinux": [],
            "WebPage": [],
            "CLZ4": [],
            "CZlib": [],
            "CTranslations": [],
            "Archives": ["CZlib", "Phrases"],
            "COpenSSL": [],
            "CQREncode": [],
            "CSystemd": [],
            "CBluetooth": [],
            "CFuse": [],
            "Threads": ["CLinux"],
            "LocalSocket": ["CLinux", "Threads"],
            "MountProtocol": [],
            "MountRules": ["MountProtocol", "Names"],
            "MountServer": ["CLinux", "LocalSocket", "MountProtocol", "Threads"],
            // Apart from the agent: it answers though the agent hangs. It knows no network, no index and no configuration.
            "synctrain-mount": [
                "CFuse", "CLinux", "KernelFiles", "LocalSocket", "MountProtocol", "MountRules", "Names", "Threads",
            ],
            "Arithmetic": [],
            "Trimming": [],
            "Names": [],
            "Cryptography": ["COpenSSL"],
            "BlockExchange": ["Cryptography", "CLZ4"],
            "Selection": ["Phrases", "Trimming"],
            "Phrases": [],
            "Spelling": [],
            "ControlAPI": ["Arithmetic", "Phrases", "Trimming"],
            "Diagnosis": ["ControlAPI", "Phrases", "Trimming"],
            "Transport": ["Phrases"],
            "GhostDrop": ["Cryptography"],
            "Pairing": ["Cryptography", "Phrases"],
            "Thumbnails": ["CZlib", "Cryptography"],
            "TOML": ["Phrases"],
            "TransportVirtual": ["Arithmetic", "Transport", "GhostDrop"],
            "MessageBus": ["CLinux", "CSystemd", "Threads"],
            "TransportBluetooth": [
                "Transport", "GhostDrop", "CBluetooth", "CLinux", "MessageBus", "Phrases", "Threads",
            ],
            "MachineState": [
                "AgentConfiguration", "CLinux", "ControlAPI", "Diagnosis", "KernelFiles", "MessageBus", "Thumbnails",
            ],
            "Reconciliation": ["Arithmetic", "BlockExchange", "Cryptography", "Names", "Selection"],
            "IndexStore": ["BlockExchange", "CLinux", "Cryptography", "Names", "Phrases"],
            "FileAccess": ["Arithmetic", "CLinux", "Cryptography", "KernelFiles", "Phrases"],
            "FolderScanner": ["Arithmetic", "BlockExchange", "Cryptography", "FileAccess", "Phrases", "Selection"],
            // C: speaks with FolderWatcher through pipes only.
            "synctrain-watch": [],
            "FolderWatcher": ["AsyncTools", "CLinux", "FileAccess", "KernelFiles", "Phrases", "Threads"],
            "TransportTCP": ["Transport", "BlockExchange", "Cryptography", "CLinux"],
            "LinkSecurity": ["Transport", "BlockExchange", "Cryptography", "Phrases"],
            "LinkRules": ["Arithmetic", "BlockExchange", "Phrases", "Transport"],
            "HTTPExchange": ["BlockExchange", "LinkSecurity", "Transport"],
            "GlobalDiscovery": ["BlockExchange", "HTTPExchange", "LinkSecurity", "Transport"],
            "TransportRelay": ["BlockExchange", "Cryptography", "LinkSecurity", "Phrases", "Transport"],
            "PortMapping": ["Cryptography", "KernelFiles", "Transport", "Trimming"],
            "Proxies": ["Cryptography", "Phrases", "Transport"],
            "AgentConfiguration": [
                "BlockExchange", "Cryptography", "FileAccess", "LinkRules", "Names", "Phrases", "Selection", "Spelling",
                "TOML", "Trimming",
            ],
            "AgentContext": [
                "AgentConfiguration", "AsyncTools", "BlockExchange", "ControlAPI", "LinkRules", "Phrases", "Transport",
            ],
            "SyncDecisions": [
                "Arithmetic", "BlockExchange", "ControlAPI", "Cryptography", "GhostDrop", "Names", "Phrases",
                "Transport",
            ],
            // No index: what is fetched, and where it goes, is told by the caller.
            "Fetching": [
                "AgentContext", "Arithmetic", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography",
                "FileAccess", "SyncDecisions", "Transport",
            ],
            "FolderSync": [
                "AgentConfiguration", "AgentContext", "Arithmetic", "AsyncTools", "BlockExchange", "ControlAPI",
                "Cryptography", "Fetching", "FileAccess", "FolderScanner", "FolderWatcher", "IndexStore",
                "LinkSecurity", "Names", "Phrases", "Reconciliation", "Selection", "SyncDecisions", "Transport",
            ],
            // No concrete transport: the sessions are given those that there are.
            "PeerLinks": [
                "AgentConfiguration", "AgentContext", "AsyncTools", "BlockExchange", "CLinux", "ControlAPI",
                "Cryptography", "Fetching", "FolderSync", "IndexStore", "LinkRules", "LinkSecurity", "Phrases",
                "Reconciliation", "SyncDecisions", "Transport",
            ],
            "FileDrop": [
                "AgentConfiguration", "AgentContext", "Arithmetic", "AsyncTools", "BlockExchange", "ControlAPI",
                "Cryptography", "Fetching", "FileAccess", "GhostDrop", "Names", "PeerLinks", "SyncDecisions",
                "Transport",
            ],
            "ThumbnailService": [
                "AgentConfiguration", "AsyncTools", "BlockExchange", "ControlAPI", "Cryptography", "Fetching",
                "FileAccess", "FolderSync", "IndexStore", "Thumbnails",
            ],
            "SyncAgent": [
                "AgentConfiguration", "AgentContext", "Arithmetic", "Archives", "AsyncTools", "BlockExchange",
                "ControlAPI", "Cryptography", "Diagnosis", "Fetching", "FileAccess", "FileDrop", "FolderSync",
                "IndexStore", "LinkRules", "LinkSecurity", "LocalSocket", "MountProtocol", "MountRules", "MountServer",
                "Names", "Pairing", "PeerLinks", "Phrases", "Reconciliation", "Selection", "Spelling", "SyncDecisions",
                "ThumbnailService", "Thumbnails", "Transport",
            ],
            // Joins discovery servers, relays, routers and proxies.
            "Reachability": [
                "AgentConfiguration", "BlockExchange", "ControlAPI", "GlobalDiscovery", "HTTPExchange", "LinkSecurity",
                "PeerLinks", "PortMapping", "Proxies", "Transport", "TransportRelay", "TransportTCP",
            ],
            // The server is given a table of handlers and does not know whose they are; the client knows the endpoints alone.
            "AgentServer": ["AsyncTools", "CTranslations", "ControlAPI", "Cryptography", "LinkSecurity", "WebPage"],
            "ControlClient": ["ControlAPI"],
            // The one place that joins transports, server and agent.
            "synctrain": [
                "AgentConfiguration", "AgentContext", "AgentServer", "Archives", "Arithmetic", "AsyncTools",
                "BlockExchange", "ControlAPI", "ControlClient", "CLinux", "CQREncode", "CTranslations", "Cryptography",
                "Diagnosis", "FileAccess", "KernelFiles", "Names", "Phrases", "FolderWatcher", "LinkSecurity",
                "MachineState", "MountRules", "MountServer", "PeerLinks", "Proxies", "Reachability", "Spelling",
                "SyncAgent", "SyncDecisions", "Threads", "Transport", "TransportBluetooth", "TransportTCP",
                "TransportVirtual", "Trimming",
            ],
            "IndexStoreBenchmark": ["BlockExchange", "Cryptography", "IndexStore"],
            "CodecBenchmark": ["BlockExchange", "Cryptography"],
            "RadioBenchmark": ["Cryptography", "GhostDrop", "TransportVirtual"],
            "ScanBenchmark": ["BlockExchange", "Cryptography", "FileAccess", "FolderScanner", "Selection"],
        ],
        modules: [
            "Synchronization": (nil, "locks and atomics of the standard library"),
            "NIOCore": (
                [
                    "BlockExchange", "Transport", "TransportTCP", "TransportVirtual", "TransportBluetooth",
                    "LinkSecurity", "HTTPExchange", "GlobalDiscovery", "TransportRelay", "PortMapping", "Proxies",
                    "Reachability", "Fetching", "FolderSync", "PeerLinks", "FileDrop", "ThumbnailService", "SyncAgent",
                    "AgentServer", "ControlClient", "synctrain", "CodecBenchmark", "RadioBenchmark",
                ],
                "byte buffers and channels; storage works on bytes and paths"
            ),
            "NIOPosix": (
                [
                    "AsyncTools", "TransportTCP", "TransportVirtual", "TransportBluetooth", "PortMapping", "PeerLinks",
                    "ThumbnailService", "SyncAgent", "AgentServer", "ControlClient", "synctrain",
                ],
                "sockets and threads: what is pure has none"
            ),
            "NIOHTTP1": (
                ["AgentServer", "ControlClient", "HTTPExchange", "synctrain"],
                "the control server and its client speak it, and discovery servers"
            ),
            "NIOSSL": (["LinkSecurity"], "one place decides who is at the other end of a link"),
            "NIOTLS": (["LinkSecurity"], "one place decides who is at the other end of a link"),
            "GRDB": (["IndexStore"], "SQL is written in one place"),
            "GRDBSQLite": (["IndexStore"], "SQL is written in one place"),
            "FoundationXML": (["AgentConfiguration"], "the only XML is Syncthing's configuration"),
            "ArgumentParser": (["synctrain"], "words for people belong to the command line"),
            "Logging": (
                [
                    "TransportTCP", "TransportBluetooth", "FolderWatcher", "MachineState", "Reachability", "FolderSync",
                    "PeerLinks", "MountServer",
                    "FileDrop", "ThumbnailService", "SyncAgent", "AgentServer", "synctrain",
                ],
                "what is pure returns what happened, and others log it"
            ),
            "ServiceLifecycle": (
                ["SyncAgent", "AgentServer", "MountServer", "synctrain"], "only long-running parts have a life"
            ),
            "Foundation": (
                [
                    "AgentConfiguration", "Fetching", "FolderSync", "ThumbnailService", "synctrain",
                    "IndexStoreBenchmark", "CodecBenchmark", "ScanBenchmark",
                ],
                "files, clocks and large binaries come with it; FoundationEssentials has JSON and dates"
            ),
            "FoundationEssentials": (
                [
                    "ControlAPI", "SyncAgent", "AgentServer", "ControlClient", "GlobalDiscovery", "Phrases",
                    "TransportRelay", "synctrain",
                ],
                "JSON"
            ),
            "Dispatch": (["synctrain"], "signals; everything else is structured concurrency"),
            "Glibc": (
                [
                    "AgentConfiguration", "AgentContext", "AgentServer", "AsyncTools", "ControlClient", "FileAccess",
                    "FileDrop", "FolderScanner", "FolderWatcher", "IndexStore", "KernelFiles", "LocalSocket",
                    "MachineState",
                    "MessageBus", "MountServer", "PortMapping", "synctrain-mount",
                    "ThumbnailService", "Threads",
                    "TransportBluetooth", "TransportTCP", "TransportVirtual", "synctrain", "IndexStoreBenchmark",
                    "CodecBenchmark", "ScanBenchmark",
                ],
                "system calls: what is pure makes none"
            ),
        ],
        pure: [
            "Arithmetic", "Cryptography", "BlockExchange", "Selection", "Reconciliation", "ControlAPI", "Transport",
            "GhostDrop", "LinkRules", "MountProtocol", "MountRules", "Pairing", "Archives", "Spelling", "TOML",
            "Names", "Phrases", "Thumbnails", "Trimming",
            "SyncDecisions", "Diagnosis",
        ],
        impure: ["Foundation", "NIOPosix", "Glibc", "Dispatch", "Logging", "ServiceLifecycle"])

    /// Why `target` may not import `module`; nil if it may.
    func objection(to module: String, in target: String) -> String? {
        guard let own = targets[target] else {
            return "\(target) is not in the table of targets; say what it may import"
        }
        if module == target { return "\(target) imports itself" }
        if module == "Swift" || own.contains(module) { return nil }
        if module == "Testing" || module == "XCTest" || module == "SyncTestKit" {
            return "\(target) is part of the product and imports \(module), which is for tests"
        }
        if targets[module] != nil { return "\(target) may not import \(module); it may import \(own.sorted())" }
        guard let (importers, reason) = modules[module] else {
            return "\(module), imported by \(target), is not in the table of modules; say who may import it and why"
        }
        guard let importers, !importers.contains(target) else { return nil }
        return "\(target) may not import \(module): \(reason)"
    }
}
