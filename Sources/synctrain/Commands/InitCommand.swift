import ArgumentParser
import ControlAPI

struct InitCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Make this device's identity and configuration; print its id.")

    @Option(help: ArgumentHelp("What other devices see; the host's name if not given.", valueName: "name"))
    var name: String?

    @Option(help: ArgumentHelp("Where to listen, tcp://HOST:PORT; may be given again.", valueName: "url"))
    var listen: [String] = []

    @Flag(help: "Neither announce this device on the local network nor look for others there.")
    var noDiscovery = false

    @Option(help: ArgumentHelp("The key's curve: p384 (as Syncthing's) or p256.", valueName: "curve"))
    var curve = CommandEnvironment.Initialisation.Curve.p384

    @Option(
        help: ArgumentHelp(
            "Take over identity, devices and folders of the Syncthing configuration in this directory.",
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
