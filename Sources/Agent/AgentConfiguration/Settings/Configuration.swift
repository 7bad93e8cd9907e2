import BlockExchange

/// All settings of an agent, as the configuration file has them or by default.
public struct Configuration: Equatable, Sendable {
    public struct Discovery: Equatable, Sendable {
        /// Announces this device on the local network and listens for others (UDP 21027).
        public var local: Bool

        public init(local: Bool = true) { self.local = local }
    }

    public struct Bluetooth: Equatable, Sendable {
        /// Used wherever the machine has it.
        public var isEnabled: Bool
        /// The adapter, as `hci0`; nil: the first that is switched on.
        public var adapter: String?
        /// Seconds of each scan for absent devices while nobody waits for one.
        public var scanWindow: Int
        /// Seconds from the beginning of one such scan to that of the next; 0: none, they are searched for only while somebody
        /// waits.
        public var scanInterval: Int

        public init(isEnabled: Bool = true, adapter: String? = nil, scanWindow: Int = 5, scanInterval: Int = 60) {
            self.isEnabled = isEnabled
            self.adapter = adapter
            self.scanWindow = scanWindow
            self.scanInterval = scanInterval
        }

        /// What is wrong with it, and with which setting.
        func problem() -> (key: String, problem: SettingProblem)? {
            guard (1...60).contains(scanWindow) else {
                return ("scan-window", SettingProblem(.invalidValue, "`scan-window` must be from 1 to 60 seconds"))
            }
            guard scanInterval == 0 || (scanWindow...3600).contains(scanInterval) else {
                return (
                    "scan-interval",
                    SettingProblem(
                        .invalidValue,
                        "`scan-interval` must be from `scan-window` (\(scanWindow)) to 3600 seconds, or 0 for no scan"
                    )
                )
            }
            return nil
        }
    }

    public struct Cache: Equatable, Sendable {
        /// Bytes of blocks that the cache on disk keeps; 0 for none.
        public var byteLimit: Int64

        public init(byteLimit: Int64 = 1 << 30) { self.byteLimit = byteLimit }
    }

    public struct Fetch: Equatable, Sendable {
        /// Bytes asked for and not yet here, over all devices.
        public var windowByteCount: Int64
        /// Bytes asked of one device and not yet here.
        public var deviceWindowByteCount: Int64

        public init(windowByteCount: Int64 = 64 << 20, deviceWindowByteCount: Int64 = 32 << 20) {
            self.windowByteCount = windowByteCount
            self.deviceWindowByteCount = deviceWindowByteCount
        }
    }

    public struct Log: Equatable, Sendable {
        /// The names are those of swift-log.
        public enum Level: String, Sendable, CaseIterable {
            case trace, debug, info, notice, warning, error, critical
        }

        public enum Format: String, Sendable, CaseIterable {
            /// `human` on a terminal, else `json`.
            case auto
            case human
            case json
        }

        public var level: Level
        public var format: Format

        public init(level: Level = .info, format: Format = .auto) {
            self.level = level
            self.format = format
        }
    }

    /// Every address of this machine, IPv4 and IPv6 by one socket: two that name both would be in each other's way.
    public static let defaultListen = ["tcp://:\(AddressSyntax.defaultPort)"]

    /// What other devices see this one called.
    public var name: String
    /// `tcp://:port` or `tcp://address:port` each; empty for an agent that only dials.
    public var listen: [String]
    public var discovery: Discovery
    public var bluetooth: Bluetooth
    public var cache: Cache
    public var fetch: Fetch
    public var log: Log
    public var http = HTTPSettings()
    public var thumbnails = ThumbnailSettings()
    /// The directory in which folders that admins offer get directories of their own; nil for `Sync` in the user's home.
    public var offeredFolders: String?
    public var limits: TransferLimits
    public var policies: TransferPolicies
    public var devices: [DeviceConfiguration]
    public var folders: [FolderConfiguration]

    public init(
        name: String, listen: [String] = Configuration.defaultListen, discovery: Discovery = Discovery(),
        bluetooth: Bluetooth = Bluetooth(), cache: Cache = Cache(), fetch: Fetch = Fetch(), log: Log = Log(),
        devices: [DeviceConfiguration] = [],
        folders: [FolderConfiguration] = [], limits: TransferLimits = TransferLimits(),
        policies: TransferPolicies = TransferPolicies()
    ) {
        self.name = name
        self.listen = listen
        self.discovery = discovery
        self.bluetooth = bluetooth
        self.cache = cache
        self.fetch = fetch
        self.log = log
        self.limits = limits
        self.policies = policies
        self.devices = devices
        self.folders = folders
    }

    /// The device that `reference` means: its id, in any form that ids are written in, or its name.
    ///
    /// Throws `noSuchDevice` if there is none and `duplicate` if two devices bear the name.
    public func device(_ reference: String) throws(ConfigurationError) -> DeviceConfiguration {
        if let id = try? DeviceID(parsing: reference), let device = devices.first(where: { $0.id == id }) {
            return device
        }
        let named = devices.filter { !$0.name.isEmpty && $0.name == reference }
        guard let device = named.first else {
            throw ConfigurationError(
                .noSuchDevice, "`\(reference)`: no such device; `synctrain device list` shows the known devices")
        }
        guard named.count == 1 else {
            throw ConfigurationError(.duplicate, "\(named.count) devices are called `\(reference)`; use a device id")
        }
        return device
    }

    public func folder(_ id: FolderID) throws(ConfigurationError) -> FolderConfiguration {
        guard let folder = folders.first(where: { $0.id == id }) else {
            throw ConfigurationError(
                .noSuchFolder, "`\(id)`: no such folder; `synctrain folder list` shows the shared folders")
        }
        return folder
    }

    static func isOneLine(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    static func problem(name: String) -> SettingProblem? {
        guard name.utf8.count <= 255, isOneLine(name) else {
            return SettingProblem(.invalidValue, "a name has at most 255 bytes and no control characters; shorten it")
        }
        return nil
    }
}
