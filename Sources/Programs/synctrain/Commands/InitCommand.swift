import ArgumentParser
import ControlAPI
import Phrases

struct InitCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "init", abstract: translated("Create this device's identity and configuration; print its id."),
            discussion: translated(
                """
                By default the agent uses local discovery, the public discovery servers and relays of the Syncthing project, \
                and port mapping; `synctrain network` shows and changes that later.

                Example: synctrain init --name laptop --discovery-server 'https://192.0.2.9:8443/?id=DEVICE-ID'
                """))
    }

    @OptionGroup var options: InitOptions

    @Option(
        help: ArgumentHelp(translated("Elliptic curve of the key: p384 (as in Syncthing) or p256."), valueName: "curve")
    )
    var curve = CommandEnvironment.Initialisation.Curve.p384

    @Option(
        help: ArgumentHelp(
            translated("Syncthing configuration directory to import identity, devices and folders from."),
            valueName: "dir"), completion: .directory)
    var importSyncthing: String?

    @OptionGroup var global: GlobalOptions

    /// What is said where public servers will be used.
    ///
    /// - Parameter program: how this program is called.
    static func publicServers(_ program: String) -> String {
        translated(
            """
            Syncthing's public servers will see this device's id and addresses and its peers' ids, no data.
            To switch that off: \(program) network --global-discovery off --relays off
            """)
    }

    func execute(in context: CommandContext) async throws {
        let places = try context.places()
        var initialisation = options.initialisation
        initialisation.curve = curve
        initialisation.importing = importSyncthing.map(context.absolute)
        let made = try context.environment.initialise(places, initialisation)
        for note in made.notes { try context.remark(translated("note: \(note.shown)")) }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(DeviceAnswer(device: made.device)))
        } else {
            try context.output.print(made.device)
            if made.usesPublicServers {
                try context.remark(Self.publicServers(context.program))
            }
            try context.remark(
                translated("Configuration: \(places.configurationFile)\nNext: \(context.program) agent start"))
        }
    }
}

/// How a new device is called and reached, for `init` and `setup`.
struct InitOptions: ParsableArguments {
    @Option(help: ArgumentHelp(translated("Name shown to other devices; the host name if omitted."), valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            translated("Address to listen on, for example :22000 or 192.168.1.5; repeatable."), valueName: "url"))
    var listen: [String] = []

    @Flag(help: ArgumentHelp(translated("Connect to configured addresses only: no discovery, relays or port mapping.")))
    var noDiscovery = false

    @Flag(help: ArgumentHelp(translated("Stay on the local network: no discovery servers, relays or port mapping.")))
    var noGlobal = false

    @Flag(help: ArgumentHelp(translated("Use no relays.")))
    var noRelays = false

    @Option(
        help: ArgumentHelp(
            translated("Discovery server to use instead of the public ones, https://HOST/?id=DEVICE-ID; repeatable."),
            valueName: "url"))
    var discoveryServer: [String] = []

    @Option(
        help: ArgumentHelp(
            translated("Relay to use instead, relay://HOST:PORT/?id=DEVICE-ID or dynamic+https://…; repeatable."),
            valueName: "url"))
    var relay: [String] = []

    func validate() throws {
        guard !noRelays || relay.isEmpty else {
            throw ValidationError(translated("Give --relay or --no-relays, not both."))
        }
    }

    var initialisation: CommandEnvironment.Initialisation {
        CommandEnvironment.Initialisation(
            name: name, listen: listen, hasNoDiscovery: noDiscovery, isLocalOnly: noGlobal, hasNoRelays: noRelays,
            discoveryServers: discoveryServer, relays: relay)
    }
}

extension CommandEnvironment.Initialisation.Curve: ExpressibleByArgument, CaseIterable {
    static let allCases: [Self] = [.p256, .p384]
}

/// What `id --json` and `init --json` print.
struct DeviceAnswer: Codable, Equatable {
    var schema = 1
    var device: String
}
