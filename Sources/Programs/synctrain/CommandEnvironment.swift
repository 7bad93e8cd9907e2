import AsyncTools
import ControlAPI
import Diagnosis
import FileAccess
import Phrases

/// What the commands need besides a running agent: where things are, and the work that is done without one.
///
/// The functions throw `ControlError`.
struct CommandEnvironment: Sendable {
    /// Where one agent has its things, all paths absolute.
    struct Places: Equatable, Sendable {
        /// As given by `--home` or `SYNCTRAIN_HOME`; nil for the XDG places.
        var home: String?
        var configurationFile: String
        var socket: String
        /// Where `agent start` lets the agent's words go.
        var logFile: String
        /// The environment's variables that the places were found by.
        var variables: [String: String] = [:]
        /// The directory of the user's systemd units, `$XDG_CONFIG_HOME/systemd/user`.
        var unitDirectory: String

        /// How this program is called in commands that are proposed.
        var program: String { Self.program(home: home) }

        static func program(home: String?) -> String {
            "synctrain" + (home.map { " --home \(ShellWord.quoted($0))" } ?? "")
        }
    }

    struct Initialisation: Equatable, Sendable {
        enum Curve: String, Sendable { case p256, p384 }

        var name: String?
        /// `tcp://host:port` each; empty for the default.
        var listen: [String] = []
        /// Neither local discovery nor, unless servers are named, anything of `isLocalOnly`.
        var hasNoDiscovery = false
        /// Without `discoveryServers` no discovery servers, without `relays` no relays, and without both no port mapping.
        var isLocalOnly = false
        var hasNoRelays = false
        /// Instead of the public ones, if there are any.
        var discoveryServers: [String] = []
        var relays: [String] = []
        var curve = Curve.p384
        /// Directory of a Syncthing configuration to take identity, devices and folders from.
        var importing: String?
    }

    /// What `init` has made.
    struct Initialised: Equatable, Sendable {
        var device: String
        /// Whether public discovery servers or relays will be used.
        var usesPublicServers = false
        /// What of an import was left out, a sentence each.
        var notes: [Phrase] = []
    }

    struct RunOptions: Equatable, Sendable {
        enum LogFormat: String, Sendable { case text, json }
        enum LogLevel: String, Sendable { case trace, debug, info, notice, warning, error, critical }

        /// Nil: as the configuration says, by default `text` on a terminal, else `json`.
        var logFormat: LogFormat?
        /// Nil: as the configuration says.
        var logLevel: LogLevel?
    }

    /// What the configuration knows while no agent runs.
    struct Configured: Equatable, Sendable {
        var devices: [DeviceSettings]
        var folders: [FolderSettings]
        var network = NetworkSettings()
        var ignored = IgnoredList()
    }

    /// The places for a value of `--home` and the environment's variables.
    var places: @Sendable (_ home: String?, _ variables: [String: String]) throws -> Places
    /// A client of the agent on the socket; connects when asked something.
    var connect: @Sendable (Places) -> any AgentControl
    /// Makes identity and configuration. `alreadyExists` if there is an identity.
    var initialise: @Sendable (Places, Initialisation) throws -> Initialised
    /// Whether anything of a device is there; false before `init`. `noPermission` where that cannot be seen.
    var isSetUp: @Sendable (Places) throws -> Bool = { _ in true }
    /// The id of the device whose certificate is there. `noSuchPath` with the advice to run `init` if there is none.
    var deviceID: @Sendable (Places) throws -> String
    /// Runs the agent until SIGTERM or SIGINT, which it handles itself; logs to standard error. `ready` is called once
    /// when links are listened for and the control socket answers.
    var runAgent: @Sendable (Places, RunOptions, _ ready: @escaping @Sendable () async -> Void) async throws -> Void
    /// The process that holds the agent's place, whether its socket can be reached or not: nil if there is none, 0 if it is not known
    /// which.
    var agentProcess: @Sendable (Places) throws -> Int32? = { _ in nil }
    /// Whether a process is stopped by a signal, as by Ctrl-Z; false where that cannot be seen.
    var isStopped: @Sendable (Int32) -> Bool = { RunningProgram.isStopped($0) }
    /// Reads the configuration.
    var configured: @Sendable (Places) throws -> Configured
    /// Changes the configuration while no agent runs; a folder's directory and marker are made as the agent would.
    var edit: @Sendable (Places, ConfigurationEdit) async throws -> Void
    /// What brings a device back that is removed from the configuration, by its id or name.
    var restoration: @Sendable (Places, _ device: String) throws -> DeviceSettings? = { _, _ in nil }
    /// All settings as the configuration has them.
    var settings: @Sendable (Places) throws -> SettingsDocument = { _ in
        SettingsDocument(settings: [], agent: [], folders: [], devices: [])
    }
    /// Changes settings while no agent runs.
    var changeSettings: @Sendable (Places, SettingsChange) throws -> SettingsAnswer = { _, _ in
        SettingsAnswer(settings: [])
    }
    /// Forgets the index of a folder (nil: of all) while no agent runs; `busy` if one does.
    var resetIndex: @Sendable (Places, _ folder: String?) async throws -> Void
    /// Looks at the machine and at this device's files.
    var examine: @Sendable (Places) throws -> MachineFacts = { _ in
        MachineFacts(program: "synctrain", configuration: .valid(folders: 0, devices: 0))
    }
    /// The reasons for which an agent cannot start, while none runs.
    var startHindrances: @Sendable (Places) async -> [Phrase] = { _ in [] }
    /// The mounts of this machine whose process has ended or is stopped.
    var silentMounts: @Sendable () -> [(folder: String, directory: String)] = { [] }
    /// What opens links, as the shell reads it; nil if there is nothing.
    var opener: @Sendable (_ variables: [String: String]) -> String? = { OpeningProgram.command($0) }
    /// What this machine is called.
    var hostName: @Sendable () -> String = { "this-device" }
    /// Bytes that are free for this user on the disk of a path; nil where that cannot be said.
    var freeBytes: @Sendable (_ path: String) -> Int64? = { path in
        FreeSpace(at: path).map { Int64(clamping: $0.available) }
    }
    /// How long one wait of `setup` may take where nobody can end it; nil for as long as it takes.
    var scriptPatience: Duration? = .seconds(30)
    /// Runs it with a link or the path of a file until it ends.
    var open: @Sendable (_ command: String, _ link: String, _ variables: [String: String]) async throws -> Void = {
        try await OpeningProgram.run($0, $1, variables: $2)
    }
}

/// A change of the configuration.
enum ConfigurationEdit: Equatable, Sendable {
    case addDevice(DeviceSettings)
    case renameDevice(String, to: String)
    case removeDevice(String)
    case addFolder(FolderSettings)
    case setFolderPaused(String, Bool)
    case setFolderBluetooth(FolderBluetoothChange)
    case setDeviceBluetooth(DeviceBluetoothChange)
    case setDevice(DeviceChange)
    case setFolderRelays(FolderRelaysChange)
    case setIgnored(IgnoreChange)
    case setNetwork(NetworkChange)
    case setPaused(PauseChange)
    case setFolderShared(FolderSharingChange)
    case setFolderRole(FolderRoleChange)
    case removeFolder(String)

    func perform(on agent: any AgentControl) async throws {
        switch self {
        case .addDevice(let settings): try await agent.call(Endpoints.addDevice, settings)
        case .renameDevice(let device, let name):
            try await agent.call(Endpoints.renameDevice, DeviceRename(device: device, name: name))
        case .removeDevice(let device): _ = try await agent.call(Endpoints.removeDevice, device)
        case .addFolder(let settings): try await agent.call(Endpoints.addFolder, settings)
        case .setFolderPaused(let folder, let isPaused):
            try await agent.call(Endpoints.setFolderPaused, FolderPause(folder: folder, isPaused: isPaused))
        case .setFolderBluetooth(let change): try await agent.call(Endpoints.setFolderBluetooth, change)
        case .setDeviceBluetooth(let change): try await agent.call(Endpoints.setDeviceBluetooth, change)
        case .setDevice(let change): try await agent.call(Endpoints.setDevice, change)
        case .setFolderRelays(let change): try await agent.call(Endpoints.setFolderRelays, change)
        case .setIgnored(let change): try await agent.call(Endpoints.setIgnored, change)
        case .setNetwork(let change): _ = try await agent.call(Endpoints.setNetwork, change)
        case .setPaused(let change): try await agent.call(Endpoints.setPaused, change)
        case .setFolderShared(let change): try await agent.call(Endpoints.setFolderShared, change)
        case .setFolderRole(let change): try await agent.call(Endpoints.setFolderRole, change)
        case .removeFolder(let folder): try await agent.call(Endpoints.removeFolder, folder)
        }
    }
}
