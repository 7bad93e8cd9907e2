import ArgumentParser
import ControlAPI
import Foundation
import Phrases

struct LogsCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "logs", abstract: translated("Show the background agent's log, or follow its events."),
            discussion: translated(
                """
                Without -f: the log of an agent started with `synctrain agent start`. An agent under systemd logs to the \
                journal: journalctl --user -u synctrain. With -f on a terminal: the newest lines of the running agent's \
                log, and new ones. With -f elsewhere or with --json: one line of JSON for each event.
                """))
    }

    @Flag(name: [.short, .long], help: ArgumentHelp(translated("Print new events until interrupted.")))
    var follow = false

    @OptionGroup var global: GlobalOptions

    /// Lines of before that `-f` shows.
    private static let linesBefore = 20

    func execute(in context: CommandContext) async throws {
        let isForPeople = context.terminal.isOutputTTY && !global.json
        if follow { return isForPeople ? try await followLines(in: context) : try await followEvents(in: context) }
        let path = try context.places().logFile
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw ControlError(
                .noSuchPath, "\(path): no log. Under systemd, run journalctl --user -u synctrain.", path: path)
        }
        defer { try? file.close() }
        while let chunk = try file.read(upToCount: 1 << 20), !chunk.isEmpty {
            try context.output.write(bytes: [UInt8](chunk))
        }
    }

    private func followEvents(in context: CommandContext) async throws {
        let output = context.output
        try await context.agent().call(Endpoints.events) { event in
            try output.print(bytes: try ControlJSON.encode(event))
            try output.flush()
        }
    }

    private func followLines(in context: CommandContext) async throws {
        let (output, style) = (context.output, context.style)
        let query = RecordQuery(limit: Self.linesBefore, isFollowing: true)
        try await context.agent().call(Endpoints.records, query) { record in
            try output.print(Self.line(record, style))
            try output.flush()
        }
    }

    /// A line of the log with its time as people here read it.
    static func line(_ record: LogRecord, _ style: Style) -> String {
        let extras = record.metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return "\(Timestamp.precise(record.time))  \(Table.pad(record.level.rawValue, to: 8))  "
            + style.name(record.message + extras)
    }
}
