import ArgumentParser
import ControlAPI
import TransportVirtual

/// A virtual radio as a process: for demonstrations and tests on machines without Bluetooth.
struct VirtualAirCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "virtual-air", abstract: "Play a Bluetooth LE radio for agents on this machine.",
        discussion: """
            Agents that were started with SYNCTRAIN_VIRTUAL_AIR=SOCKET take part: they listen on virtual://NAME and \
            dial one another there. Prints `ready`, and plays until it is interrupted.

            Settings: \(RadioConditions.settings.map { "\($0.name) (\($0.meaning))" }.joined(separator: "; ")).
            """,
        shouldDisplay: false)

    @Argument(help: "Where to make the socket.")
    var socket: String

    @Option(
        name: .customLong("set"), parsing: .singleValue,
        help: ArgumentHelp("A figure of the radio, as loss=0.05; may be repeated.", valueName: "name=value"))
    var settings: [String] = []

    @Option(help: ArgumentHelp("How many times as fast as in the world time passes there.", valueName: "factor"))
    var speed = 1.0

    @Option(help: ArgumentHelp("Of what happens by chance.", valueName: "number"))
    var seed: UInt64 = 1

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard speed.isFinite, (0.01...10_000).contains(speed) else {
            throw ValidationError("The speed is a number from 0.01 to 10000.")
        }
    }

    func execute(in context: CommandContext) async throws {
        let air = try await VirtualAir.open(
            at: context.absolute(socket), conditions: try Self.conditions(settings), speed: speed, seed: seed)
        try context.output.print("ready")
        try context.output.flush()
        // Ends when the task is cancelled.
        let (never, continuation) = AsyncStream.makeStream(of: Void.self)
        for await _ in never {}
        continuation.finish()
        await air.close()
        throw CancellationError()
    }

    /// The radio with these `name=value` settings.
    static func conditions(_ settings: [String]) throws -> RadioConditions {
        var conditions = RadioConditions()
        for setting in settings {
            let parts = setting.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { throw ValidationError("“\(setting)” is no setting; write NAME=VALUE.") }
            do {
                try conditions.set(String(parts[0]), String(parts[1]))
            } catch {
                throw ValidationError("\(error)")
            }
        }
        return conditions
    }
}
