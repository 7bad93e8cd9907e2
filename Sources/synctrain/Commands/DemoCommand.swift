import ArgumentParser
import ControlAPI

struct DemoCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Show what synctrain does, on this machine alone.",
        discussion: """
            --ble: two agents in a temporary place and a virtual radio between them, as fast as Bluetooth LE is. They \
            pair by six digits and share a folder, one selects a part of it and fetches another file, walks out of range \
            on the way and comes back, and a large file waits until there is a network. Nothing of yours is touched, and everything is removed in the end.
            """)

    @Flag(help: "Over a virtual Bluetooth LE radio.")
    var ble = false

    @Option(
        name: .customLong("set"), parsing: .singleValue,
        help: ArgumentHelp("A figure of the radio, as loss=0.05 or phy=2M; may be repeated.", valueName: "name=value"))
    var settings: [String] = []

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard ble else { throw ValidationError("Say which demo: --ble.") }
    }

    func execute(in context: CommandContext) async throws {
        try await RadioDemo.run(
            try VirtualAirCommand.conditions(settings),
            say: {
                try context.output.print($0); try context.output.flush()
            },
            connect: context.environment.connect,
            places: { home in try context.environment.places(home, context.process.variables) })
    }
}
