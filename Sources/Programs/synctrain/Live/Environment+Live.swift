import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import ControlClient
import Cryptography
import Glibc
import MachineState
import Phrases
import SyncAgent

extension CommandEnvironment {
    /// The real thing: files of this machine, and the agent made of the parts of this program.
    static var live: CommandEnvironment {
        CommandEnvironment(
            places: { home, variables in
                try controlErrors {
                    let places = try AgentPlaces.resolve(
                        home: home, environment: variables, accountHome: AgentPlaces.accountHome())
                    let configurations = variables["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
                    return Places(
                        home: places.home, configurationFile: places.configurationFile, socket: places.controlSocket,
                        logFile: places.log, variables: variables,
                        unitDirectory: (configurations ?? (places.userHome ?? "") + "/.config") + "/systemd/user")
                }
            },
            connect: { ControlClient(socketPath: $0.socket, program: $0.program) },
            initialise: { places, options in try controlErrors { try initialise(places, options) } },
            isSetUp: { places in try controlErrors { try DeviceIdentityFiles.isThere(in: try agentPlaces(places)) } },
            deviceID: { places in try controlErrors { try localDevice(try agentPlaces(places)).description } },
            runAgent: { places, options, ready in
                try await AgentProgram.run(
                    try agentPlaces(places), options, virtualAir: places.variables["SYNCTRAIN_VIRTUAL_AIR"],
                    ready: ready)
            },
            agentProcess: { places in
                try controlErrors { try AgentLock.holder(in: try agentPlaces(places)).map { $0.process ?? 0 } }
            },
            configured: { places in
                try controlErrors {
                    let configuration = try ConfigurationFile(try agentPlaces(places)).load()
                    return Configured(
                        devices: configuration.devices.map {
                            DeviceSettings(id: $0.id.description, name: $0.name, addresses: $0.addresses)
                        },
                        folders: configuration.folders.map { FolderSettings($0) },
                        network: configuration.networkSettings, ignored: configuration.ignoredList)
                }
            },
            edit: { places, edit in
                do {
                    try await apply(edit, try agentPlaces(places))
                } catch {
                    throw ControlError(describing: error)
                }
            },
            restoration: { places, device in
                try controlErrors {
                    try ConfigurationFile(try agentPlaces(places)).load().restoration(of: device)
                }
            },
            settings: { places in
                try controlErrors { try ConfigurationFile(try agentPlaces(places)).load().settingsDocument }
            },
            changeSettings: { places, change in
                try controlErrors {
                    let places = try agentPlaces(places)
                    let file = ConfigurationFile(places)
                    let old = try file.load()
                    let edits = try old.edits(applying: change, userHome: places.userHome)
                    try old.checkPage(edits, of: change, hasPassword: PasswordFile.isThere(in: places))
                    try old.checkPath(edits, of: change, places: places)
                    try old.checkArchive(edits, of: change)
                    let new = try file.apply(edits)
                    return try old.answer(to: change, in: new, since: nil)
                }
            },
            resetIndex: { places, folder in
                do {
                    try await IndexReset.run(try agentPlaces(places), folder: folder.map { FolderID($0) })
                } catch {
                    throw ControlError(describing: error)
                }
            }, examine: { MachineReading(try agentPlaces($0), variables: $0.variables).facts() },
            startHindrances: { places in
                guard let agent = try? agentPlaces(places) else { return [] }
                return await StartProbe.hindrances(agent, variables: places.variables)
            },
            silentMounts: { Mounting.silent().map { (folder: $0.folder, directory: $0.directory) } },
            hostName: { ConfigurationFile.systemHostName() })
    }

    private static func controlErrors<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch { throw ControlError(describing: error) }
    }

    private static func agentPlaces(_ places: Places) throws -> AgentPlaces {
        do {
            return try AgentPlaces.resolve(
                home: places.home, environment: places.variables, accountHome: AgentPlaces.accountHome())
        } catch {
            throw ControlError(describing: error)
        }
    }

    private static func localDevice(_ places: AgentPlaces) throws -> DeviceID {
        DeviceID(certificateDER: try identity(places).certificateDER)
    }

    private static func identity(_ places: AgentPlaces) throws -> DeviceCertificate {
        let files = try DeviceIdentityFiles.load(from: places)
        return try DeviceCertificate(certificatePEM: files.certificatePEM, privateKeyPEM: files.privateKeyPEM)
    }

    private static func initialise(_ places: Places, _ options: Initialisation) throws -> Initialised {
        let places = try agentPlaces(places)
        let file = ConfigurationFile(places)
        // Before the configuration: of a device that is set up it is there as well, and the lesser reason.
        let hasIdentity = try DeviceIdentityFiles.isWhole(in: places)
        if hasIdentity, access(places.configurationFile, F_OK) == 0 { throw ConfigurationError.hasIdentity(places) }
        let isConfigured = try hasConfiguration(file)
        guard !isConfigured || options.leavesConfigurationAlone else {
            throw ConfigurationError(
                .alreadyExists,
                Phrase(
                    "a configuration already exists, and init does not change it; run init without options to create only the "
                        + "identity, or move the file elsewhere first"), file: places.configurationFile)
        }
        for address in options.listen {
            guard let problem = AddressSyntax.problem(listenAddress: AddressSyntax.completed(address)) else { continue }
            throw ControlError(.invalidRequest, problem, path: address)
        }
        try places.createDirectories()
        var name = options.name
        var listen: [String]? = options.listen.isEmpty ? nil : options.listen.map(AddressSyntax.completed)
        var (discovery, relays) = (Configuration.Discovery(), Configuration.Relays())
        var mapsPorts = true
        var notes: [Phrase] = []
        var edits: [AgentConfiguration.ConfigurationEdit] = []
        // One without a configuration: a full disk or a crash came between the two, or the configuration was lost.
        let found = hasIdentity ? try identity(places) : nil
        let certificate: DeviceCertificate
        if let directory = options.importing {
            let imported = try SyncthingImport.read(home: directory, userHome: places.userHome)
            certificate = try DeviceCertificate(
                certificatePEM: imported.certificatePEM, privateKeyPEM: imported.privateKeyPEM)
            if let found, found.certificateDER != certificate.certificateDER {
                throw ConfigurationError.hasIdentity(places)
            }
            name = name ?? imported.name
            listen = listen ?? imported.listen
            (discovery, relays, mapsPorts) = (imported.discovery, imported.relays, imported.mapsPorts)
            edits = imported.edits
            notes = imported.notes
        } else if let found {
            certificate = found
        } else {
            certificate = try DeviceCertificate.generate(
                curve: options.curve == .p256 ? .p256 : .p384, notBefore: WallTime.now.seconds)
        }
        options.set(&discovery, &relays, &mapsPorts)
        // Before anything is made: an identity without its configuration would be in the way of the next try.
        if !isConfigured {
            try file.checkNew(
                name: name, listen: listen, discovery: discovery, relays: relays, mapsPorts: mapsPorts, edits: edits)
        }
        if found == nil {
            try DeviceIdentityFiles.create(
                in: places, certificatePEM: certificate.certificatePEM, privateKeyPEM: certificate.privateKeyPEM)
        }
        // A configuration that is there is the user's own: an identity was all that was missing.
        let configuration =
            isConfigured
            ? try file.load()
            : try file.create(
                name: name, listen: listen, discovery: discovery, relays: relays, mapsPorts: mapsPorts, edits: edits)
        // What Syncthing archived goes on being old versions.
        if options.importing != nil, !isConfigured {
            for path in configuration.folders.compactMap(\.versions.path) { try ArchiveMarker.mark(path) }
        }
        return Initialised(
            device: DeviceID(certificateDER: certificate.certificateDER).description,
            usesPublicServers: configuration.usesPublicServers, notes: notes)
    }

    /// Throws what is wrong with a configuration that cannot be read.
    private static func hasConfiguration(_ file: ConfigurationFile) throws(ConfigurationError) -> Bool {
        do throws(ConfigurationError) {
            _ = try file.load()
            return true
        } catch {
            guard error.code == .missing else { throw error }
            return false
        }
    }

    private static func apply(_ edit: ConfigurationEdit, _ places: AgentPlaces) async throws {
        let file = ConfigurationFile(places)
        let configuration = try file.load()
        switch edit {
        case .addDevice(let settings):
            try file.apply(try configuration.edits(adding: settings, localDevice: try localDevice(places)))
        case .renameDevice(let reference, let name):
            try file.apply(.renameDevice(try configuration.device(reference).id, name: name))
        case .removeDevice(let reference):
            let device = try configuration.device(reference).id
            try file.apply(.removeDevice(device))
            try await IndexReset.forget(devices: [device], in: places)
        case .addFolder(var settings):
            settings.path = try places.expanded(settings.path)
            let edits = try configuration.edits(adding: settings)
            for case .addFolder(let folder) in edits {
                try FolderPreparation.prepare(folder, others: configuration.folders, places: places)
            }
            try file.apply(edits)
            try await IndexReset.forget(folders: [FolderID(settings.id)], in: places)
        case .setFolderPaused(let id, let isPaused):
            try file.apply(.setFolderPaused(try configuration.folder(FolderID(id)).id, isPaused))
        case .setFolderBluetooth(let change): try file.apply(try configuration.edits(applying: change))
        case .setDeviceBluetooth(let change): try file.apply(try configuration.edits(applying: change))
        case .setDevice(let change): try file.apply(try configuration.edits(applying: change))
        case .setFolderRelays(let change): try file.apply(try configuration.edits(applying: change))
        case .setIgnored(let change):
            try file.apply(try configuration.edits(applying: change, localDevice: try? localDevice(places)))
        case .setNetwork(let change): try file.apply(try configuration.edits(applying: change))
        case .setPaused(let change):
            try file.apply(try configuration.edits(applying: change, now: WallTime.now.seconds))
        case .setFolderShared(let change): try file.apply(try configuration.edits(applying: change))
        case .setFolderRole(let change): try file.apply(try configuration.edits(applying: change))
        case .removeFolder(let id):
            let folder = try configuration.folder(FolderID(id)).id
            try file.apply(.removeFolder(folder))
            try await IndexReset.forget(folders: [folder], isUnwanted: true, in: places)
        }
    }
}

extension ConfigurationError {
    fileprivate static func hasIdentity(_ places: AgentPlaces) -> ConfigurationError {
        ConfigurationError(
            .alreadyExists,
            Phrase("this device already has an identity; to create another, choose another --home"),
            file: places.privateKey)
    }
}

extension CommandEnvironment.Initialisation {
    /// Whether nothing was asked for that the configuration would have to say.
    fileprivate var leavesConfigurationAlone: Bool {
        self == Self(curve: curve)
    }

    /// Changes what is to be used as the options say. Servers that are named are used.
    fileprivate func set(
        _ discovery: inout Configuration.Discovery, _ relays: inout Configuration.Relays, _ mapsPorts: inout Bool
    ) {
        if hasNoDiscovery { discovery.local = false }
        if hasNoDiscovery || isLocalOnly { (discovery.global, relays.isEnabled, mapsPorts) = (false, false, false) }
        if hasNoRelays { relays.isEnabled = false }
        if !discoveryServers.isEmpty { (discovery.global, discovery.servers) = (true, discoveryServers) }
        if !self.relays.isEmpty { (relays.isEnabled, relays.servers) = (true, self.relays) }
        if !discoveryServers.isEmpty || !self.relays.isEmpty { mapsPorts = true }
    }
}

extension FolderSettings {
    init(_ folder: FolderConfiguration) {
        self.init(
            id: folder.id.rawValue, label: folder.label, path: folder.path, mode: folder.mode.rawValue,
            type: folder.kind.rawValue, devices: folder.devices.map(\.description), isPaused: folder.isPaused)
    }
}
