import BlockExchange
import Phrases
import Spelling

/// All settings of an agent, as the configuration file has them or by default.
package struct Configuration: Equatable, Sendable {
    package struct Bluetooth: Equatable, Sendable {
        /// Used wherever the machine has it.
        package var isEnabled: Bool
        /// The adapter, as `hci0`; nil: the first that is switched on.
        package var adapter: String?
        /// Seconds of each scan for absent devices while nobody waits for one.
        package var scanWindow: Int
        /// Seconds from the beginning of one such scan to that of the next; 0: none, they are searched for only while somebody
        /// waits.
        package var scanInterval: Int

        package init(isEnabled: Bool = true, adapter: String? = nil, scanWindow: Int = 5, scanInterval: Int = 60) {
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

    package struct Cache: Equatable, Sendable {
        /// Bytes of blocks that the cache on disk keeps; 0 for none.
        package var byteLimit: Int64

        package init(byteLimit: Int64 = 1 << 30) { self.byteLimit = byteLimit }
    }

    package struct Fetch: Equatable, Sendable {
        /// Bytes asked for and not yet here, over all devices.
        package var windowByteCount: Int64
        /// Bytes asked of one device and not yet here.
        package var deviceWindowByteCount: Int64

        package init(windowByteCount: Int64 = 64 << 20, deviceWindowByteCount: Int64 = 32 << 20) {
            self.windowByteCount = windowByteCount
            self.deviceWindowByteCount = deviceWindowByteCount
        }
    }

    /// What a desktop shows besides notifications.
    package struct Desktop: Equatable, Sendable {
        /// Whether there is an icon where a desktop shows such.
        package var hasTray: Bool

        package init(hasTray: Bool = true) { self.hasTray = hasTray }
    }

    /// What the desktop tells of.
    package struct Notifications: Equatable, Sendable {
        package var isEnabled: Bool

        package init(isEnabled: Bool = true) { self.isEnabled = isEnabled }
    }

    package struct Log: Equatable, Sendable {
        /// The names are those of swift-log.
        package enum Level: String, Sendable, CaseIterable {
            case trace, debug, info, notice, warning, error, critical
        }

        package enum Format: String, Sendable, CaseIterable {
            /// `human` on a terminal, else `json`.
            case auto
            case human
            case json
        }

        package var level: Level
        package var format: Format

        package init(level: Level = .info, format: Format = .auto) {
            self.level = level
            self.format = format
        }
    }

    /// Every address of this machine, IPv4 and IPv6 by one socket: two that name both would be in each other's way.
    package static let defaultListen = ["tcp://:\(AddressSyntax.defaultPort)"]

    /// What other devices see this one called.
    package var name: String
    /// `tcp://:port` or `tcp://address:port` each; empty for an agent that only dials.
    package var listen: [String]
    package var discovery: Discovery
    package var relays = Relays()
    package var network = Network()
    package var ignored = Ignored()
    package var bluetooth: Bluetooth
    package var cache: Cache
    package var fetch: Fetch
    package var log: Log
    package var http = HTTPSettings()
    package var notifications = Notifications()
    package var desktop = Desktop()
    package var thumbnails = ThumbnailSettings()
    package var mounting = MountingSettings()
    /// The directory in which folders that admins offer get directories of their own; nil for `Sync` in the user's home.
    package var offeredFolders: String?
    package var limits: TransferLimits
    package var policies: TransferPolicies
    package var devices: [DeviceConfiguration]
    package var folders: [FolderConfiguration]

    package init(
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
    package func device(_ reference: String) throws(ConfigurationError) -> DeviceConfiguration {
        if let id = try? DeviceID(parsing: reference), let device = devices.first(where: { $0.id == id }) {
            return device
        }
        let named = devices.filter { !$0.name.isEmpty && $0.name == reference }
        guard let device = named.first else {
            let near = NearestWord.find(reference, in: devices.map(\.name))
            throw ConfigurationError(
                .noSuchDevice,
                near.map { Phrase("`\(reference)`: no such device; did you mean `\($0)`?") }
                    ?? Phrase("`\(reference)`: no such device; `synctrain device list` shows the known devices"))
        }
        guard named.count == 1 else {
            throw ConfigurationError(.duplicate, "\(named.count) devices are called `\(reference)`; use a device id")
        }
        return device
    }

    package func folder(_ id: FolderID) throws(ConfigurationError) -> FolderConfiguration {
        guard let folder = folders.first(where: { $0.id == id }) else {
            let near = NearestWord.find(id.rawValue, in: folders.map(\.id.rawValue))
            throw ConfigurationError(
                .noSuchFolder,
                near.map { Phrase("`\(id)`: no such folder; did you mean `\($0)`?") }
                    ?? Phrase("`\(id)`: no such folder; `synctrain folder list` shows the shared folders"))
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
