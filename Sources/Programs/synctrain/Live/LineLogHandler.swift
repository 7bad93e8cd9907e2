import AgentContext
import AgentServer
import ControlAPI
import Foundation
import Logging

/// Hands each log line, with all its fields, to a function.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let write: @Sendable (LogEvent, Logger.Metadata) -> Void

    init(level: Logger.Level, write: @escaping @Sendable (LogEvent, Logger.Metadata) -> Void) {
        logLevel = level
        self.write = write
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { write(event, metadata.merging(event.metadata ?? [:]) { _, new in new }) }
}

extension LineLogHandler {
    /// Writes to standard error: for people on a terminal, or one JSON object a line.
    ///
    /// - Parameter file: what standard error is; nil if it is not the agent's log file.
    static func standardError(level: Logger.Level, isJSON: Bool, file: LogFile?) -> LineLogHandler {
        LineLogHandler(level: level) { event, fields in
            let line = isJSON ? json(event, fields) : text(event, fields)
            // One write for one line: lines of several threads do not mix.
            let count = Array(line.utf8).withUnsafeBytes {
                Foundation.write(STDERR_FILENO, $0.baseAddress, $0.count)
            }
            if count > 0 { file?.wrote(count) }
        }
    }

    /// Keeps lines for those who read the log over the control API.
    static func ring(_ ring: RecordRing, label: String, level: Logger.Level) -> LineLogHandler {
        LineLogHandler(level: level) { event, fields in
            ring.add(
                level: LogRecord.Level(rawValue: event.level.rawValue) ?? .info, label: label,
                message: "\(event.message)", metadata: fields.mapValues { "\($0)" }, time: WallTime.now.rfc3339)
        }
    }

    private static func text(_ event: LogEvent, _ fields: Logger.Metadata) -> String {
        let time = WallTime.now.rfc3339
        let extras = fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let message = withoutControls("\(event.message)\(extras)")
        return
            "\(time.prefix(19))Z \(event.level.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0)) \(message)\n"
    }

    private static func json(_ event: LogEvent, _ fields: Logger.Metadata) -> String {
        var object: [String: String] = ["time": WallTime.now.rfc3339, "level": event.level.rawValue]
        for (key, value) in fields { object[key] = "\(value)" }
        object["message"] = "\(event.message)"
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(object)).map { String(decoding: $0, as: UTF8.self) + "\n" } ?? ""
    }

    /// Names and reasons come from peers; none of them moves a terminal's cursor.
    private static func withoutControls(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) ? "\u{FFFD}" : $0 }))
    }
}
