import ArgumentParser
import ControlAPI
import Phrases

struct LogCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "log", abstract: translated("Show which device changed which files, and when."),
            discussion: translated(
                """
                The time is when this device received or made the change. A device's first index is not logged; more \
                than 200 changes at once are logged as a count. The newest 10,000 changes of each folder are kept.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id or path; all folders if omitted.")), completion: .file())
    var path: String?

    @Option(
        help: ArgumentHelp(translated("Age limit, for example 1h or 2d."), valueName: "time"), transform: LogCommand.age
    )
    var since: Int64?

    @Option(help: ArgumentHelp(translated("Number of changes to show."), valueName: "number"))
    var limit = 100

    @Flag(name: [.short, .long], help: ArgumentHelp(translated("Print new changes until interrupted.")))
    var follow = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard (1...ChangeQuery.largestLimit).contains(limit) else {
            throw ValidationError(translated("--limit must be between 1 and \(ChangeQuery.largestLimit)."))
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

    private static var whatWidth: Int {
        max(8, Word.width(of: ["added", "changed", "deleted", "renamed", "conflict", "freed", "restored", "many"]))
    }

    static func line(_ change: ChangeEntry, _ style: Style) -> String {
        let device = style.name(change.name.flatMap { $0.isEmpty ? nil : $0 } ?? change.device ?? "-")
        let what =
            change.what == "many"
            ? "\(style.name(change.folder)): \(Quantity.names(change.count))"
            : style.name("\(change.folder):\(change.path)")
        let before = change.from.map { translated(" (was \(style.name($0)))") } ?? ""
        return "\(Timestamp.precise(change.time))  \(Table.pad(device, to: 12))  "
            + "\(Table.pad(Word.shown(change.what), to: whatWidth))  \(what)\(before)"
    }

    static func age(_ text: String) throws -> Int64 {
        guard let seconds = TimeSpan.seconds(text), seconds <= 1e9 else {
            throw ValidationError(translated("\"\(text)\" is not a duration. Use 30m, 1h or 2d."))
        }
        return Int64(seconds)
    }
}
