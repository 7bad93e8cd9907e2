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
                Without -f: the log of an agent started with `synctrain agent start`, on a terminal in local time, elsewhere \
                as it is written, and with --json as a line of JSON for each line. An agent under systemd logs to the journal: journalctl --user -u synctrain. \
                With -f on a terminal: the newest lines of the running agent's log, and new ones. With -f elsewhere or with \
                --json: one line of JSON for each event.
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
        if AgentProcess.isSystemUnit(in: context) {
            try context.remark(translated("The agent runs under systemd. Its log: \(SystemdUnit.systemLog)"))
        } else if await UserService.isRunning(context.process.variables) {
            try context.remark(translated("The agent runs under systemd. Its log: \(SystemdUnit.log)"))
        }
        // Opened before it is printed: the agent may put one aside meanwhile.
        let files = [LogFile.putAside(path), path].compactMap { FileHandle(forReadingAtPath: $0) }
        defer { for file in files { try? file.close() } }
        guard !files.isEmpty else {
            try context.checkSetUp(.invalidConfiguration)
            throw ControlError(
                .noSuchPath,
                "\(path): no log. Under systemd, run \(SystemdUnit.log); for the system unit, \(SystemdUnit.systemLog).",
                path: path)
        }
        var text = LogFileText(style: context.style, isJSON: global.json)
        for file in files {
            while let chunk = try file.read(upToCount: 1 << 20), !chunk.isEmpty {
                if isForPeople || global.json {
                    for line in text.take(chunk) { try context.output.print(line) }
                } else {
                    try context.output.write(bytes: [UInt8](chunk))
                }
            }
        }
        if let last = text.rest { try context.output.print(last) }
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
    private static func line(_ record: LogRecord, _ style: Style) -> String {
        LogFileText.line(record.time, record.level.rawValue, record.message, record.metadata, style)
    }
}

/// The log that an agent wrote to a file, as lines for people or as NDJSON. Pure.
struct LogFileText {
    /// What is longer is shown in pieces.
    private static let lineLimit = 1 << 20
    private static let lineFeed = UInt8(ascii: "\n")

    let style: Style
    let isJSON: Bool
    /// Of a line whose end has not come.
    private var begun: [UInt8] = []

    init(style: Style, isJSON: Bool = false) {
        self.style = style
        self.isJSON = isJSON
    }

    /// The lines that end in these bytes.
    mutating func take(_ bytes: some Sequence<UInt8>) -> [String] {
        var lines: [String] = []
        for byte in bytes {
            if byte != Self.lineFeed { begun.append(byte) }
            guard byte == Self.lineFeed || begun.count >= Self.lineLimit else { continue }
            lines.append(isJSON ? Self.object(begun) : shown(begun))
            begun.removeAll(keepingCapacity: true)
        }
        return isJSON ? lines.filter { !$0.isEmpty } : lines
    }

    /// The last line if it has no end.
    var rest: String? { begun.isEmpty ? nil : isJSON ? Self.object(begun) : shown(begun) }

    /// A line of JSON as it is, any other as an object with its text as `message`. Empty for an empty line.
    private static func object(_ bytes: [UInt8]) -> String {
        guard !bytes.isEmpty else { return "" }
        let line = LogFileLine(bytes)
        if let line, line.isJSON { return String(decoding: bytes, as: UTF8.self) }
        let fields =
            line.map { ["time": $0.time, "level": $0.level, "message": $0.message] }
            ?? ["message": String(decoding: bytes, as: UTF8.self)]
        return (try? ControlJSON.encode(fields)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// A line as `LineLogHandler` writes it, with its time as people here read it; any other as it is.
    private func shown(_ bytes: [UInt8]) -> String {
        guard let line = LogFileLine(bytes) else { return style.name(String(decoding: bytes, as: UTF8.self)) }
        return Self.line(line.time, line.level, line.message, line.fields, style)
    }

    static func line(
        _ time: String, _ level: String, _ message: String, _ fields: [String: String], _ style: Style
    ) -> String {
        let extras = fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return "\(Timestamp.precise(time))  \(Table.pad(level, to: 8))  " + style.name(message + extras)
    }
}

/// A line as `LineLogHandler` writes it, in either format. Pure.
struct LogFileLine {
    var time: String
    var level: String
    var message: String
    /// Of a JSON line the other fields; a text line has them in its message.
    var fields: [String: String] = [:]
    var isJSON = false

    /// Nil for any other line, such as that of a crash.
    init?(_ bytes: [UInt8]) {
        if bytes.first == UInt8(ascii: "{"),
            var fields = try? JSONDecoder().decode([String: String].self, from: Data(bytes)),
            let time = fields.removeValue(forKey: "time"), let level = fields.removeValue(forKey: "level"),
            let message = fields.removeValue(forKey: "message")
        {
            (self.time, self.level, self.message, self.fields, isJSON) = (time, level, message, fields, true)
            return
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard words.count == 2, Timestamp.seconds(String(words[0])) != nil,
            let level = words[1].split(separator: " ").first
        else { return nil }
        (time, self.level) = (String(words[0]), String(level))
        message = String(words[1].dropFirst(level.count).drop { $0 == " " })
    }
}
