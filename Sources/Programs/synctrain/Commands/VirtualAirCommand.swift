import ArgumentParser
import ControlAPI
import TransportVirtual

/// A virtual radio as a process: for demonstrations and tests on machines without Bluetooth.
struct VirtualAirCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "virtual-air", abstract: "Simulate a Bluetooth LE radio for agents on this machine.",
            discussion: """
                Agents started with SYNCTRAIN_VIRTUAL_AIR=SOCKET use it: they listen on virtual://NAME and dial each \
                other there. Prints `ready` and runs until interrupted.

                Settings: \(RadioConditions.settings.map { "\($0.name) (\($0.meaning))" }.joined(separator: "; ")).
                """,
            shouldDisplay: false)
    }

    @Argument(help: "Path of the socket to create.")
    var socket: String

    @Option(
        name: .customLong("set"), parsing: .singleValue,
        help: ArgumentHelp("Radio setting, for example loss=0.05; repeatable.", valueName: "name=value"))
    var settings: [String] = []

    @Option(help: ArgumentHelp("Clock speed multiplier.", valueName: "factor"))
    var speed = 1.0

    @Option(help: ArgumentHelp("Random seed.", valueName: "number"))
    var seed: UInt64 = 1

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard speed.isFinite, (0.01...10_000).contains(speed) else {
            throw ValidationError("--speed must be between 0.01 and 10000.")
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
            guard parts.count == 2 else { throw ValidationError("“\(setting)” is not a setting. Use NAME=VALUE.") }
            do {
                try conditions.set(String(parts[0]), String(parts[1]))
            } catch {
                throw ValidationError("\(error)")
            }
        }
        return conditions
    }
}
