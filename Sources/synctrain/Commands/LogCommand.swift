import ArgumentParser
import ControlAPI

struct LogCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Show what changed in the folders, when, and by which device.",
        discussion: """
            The time is when this device heard of it or did it. Of a device's first index nothing is noted, and of more than \
            200 names at once only how many. The newest 10,000 changes of each folder are kept.
            """)

    @Argument(help: "A folder's id or a path; all folders if not given.", completion: .file())
    var path: String?

    @Option(help: ArgumentHelp("Only what is not older: 1h, 2d.", valueName: "time"), transform: LogCommand.age)
    var since: Int64?

    @Option(help: ArgumentHelp("The newest so many.", valueName: "number"))
    var limit = 100

    @Flag(name: [.short, .long], help: "Go on with what happens from now on, until interrupted.")
    var follow = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard (1...ChangeQuery.largestLimit).contains(limit) else {
            throw ValidationError("--limit is a number from 1 to \(ChangeQuery.largestLimit).")
        }
    }

    func execute(in context: CommandContext) async throws {
        let query = ChangeQuery(path: path.map { context.path($0) }, since: since, limit: limit, isFollowing: follow)
        try await context.agent().call(Endpoints.changes, query) { change in
            if global.json {
                try context.output.print(bytes: try ControlJSON.encode(change))
            } else {
                try context.output.print(Self.line(change, context.style))
            }
            if follow { try context.output.flush() }
        }
    }

    static func line(_ change: ChangeEntry, _ style: Style) -> String {
        let device = style.name(change.name.flatMap { $0.isEmpty ? nil : $0 } ?? change.device ?? "-")
        let what =
            change.what == "many"
            ? "\(style.name(change.folder)): \(Quantity.count(change.count, "name"))"
            : style.name("\(change.folder):\(change.path)")
        let before = change.from.map { " (was \(style.name($0)))" } ?? ""
        return "\(Timestamp.precise(change.time))  \(Table.pad(device, to: 12))  "
            + "\(Table.pad(change.what, to: 8))  \(what)\(before)"
    }

    static func age(_ text: String) throws -> Int64 {
        guard let seconds = TimeSpan.seconds(text), seconds <= 1e9 else {
            throw ValidationError("\(text) is no time; write 30m, 1h or 2d.")
        }
        return Int64(seconds)
    }
}
