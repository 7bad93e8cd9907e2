import ArgumentParser
import ControlAPI
import Phrases

struct DemoCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "demo", abstract: translated("Demonstrate synctrain on this machine."),
            discussion: """
                --ble: two agents in a temporary directory, connected by a virtual radio with the speed of Bluetooth LE. \
                They pair with six digits and share a folder; one selects part of it and fetches another file, leaves \
                the radio's range and comes back; a large file waits for a network. Your own files are not touched, and \
                everything is removed at the end.
                """)
    }

    @Flag(help: "Use a virtual Bluetooth LE radio.")
    var ble = false

    @Option(
        name: .customLong("set"), parsing: .singleValue,
        help: ArgumentHelp("Radio setting, for example loss=0.05 or phy=2M; repeatable.", valueName: "name=value"))
    var settings: [String] = []

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard ble else { throw ValidationError("Choose a demo: --ble.") }
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
