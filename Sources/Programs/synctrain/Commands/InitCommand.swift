import ArgumentParser
import ControlAPI

struct InitCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Create this device's identity and configuration; print its id.")

    @Option(help: ArgumentHelp("Name shown to other devices; the host name if omitted.", valueName: "name"))
    var name: String?

    @Option(help: ArgumentHelp("Address to listen on, tcp://HOST:PORT; repeatable.", valueName: "url"))
    var listen: [String] = []

    @Flag(help: "Disable local discovery.")
    var noDiscovery = false

    @Option(help: ArgumentHelp("Elliptic curve of the key: p384 (as in Syncthing) or p256.", valueName: "curve"))
    var curve = CommandEnvironment.Initialisation.Curve.p384

    @Option(
        help: ArgumentHelp(
            "Syncthing configuration directory to import identity, devices and folders from.",
            valueName: "dir"), completion: .directory)
    var importSyncthing: String?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let places = try context.places()
        let made = try context.environment.initialise(
            places,
            CommandEnvironment.Initialisation(
                name: name, listen: listen, hasDiscovery: !noDiscovery, curve: curve,
                importing: importSyncthing.map(context.absolute)))
        for note in made.notes { try context.remark("note: \(note)") }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(DeviceAnswer(device: made.device)))
        } else {
            try context.output.print(made.device)
            try context.remark("Configuration: \(places.configurationFile)\nNext: synctrain agent start")
        }
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
