import AgentContext
import Foundation
import Logging

/// Writes a log line to standard error: for people on a terminal, or as one JSON object a line.
struct LineLogHandler: LogHandler {
    let label: String
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let isJSON: Bool

    init(label: String, level: Logger.Level, isJSON: Bool) {
        self.label = label
        logLevel = level
        self.isJSON = isJSON
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = metadata.merging(event.metadata ?? [:]) { _, new in new }
        let line = isJSON ? json(event, fields) : text(event, fields)
        // One write for one line: lines of several threads do not mix.
        Array(line.utf8).withUnsafeBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    private func text(_ event: LogEvent, _ fields: Logger.Metadata) -> String {
        let time = WallTime.now.rfc3339
        let extras = fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let message = Self.withoutControls("\(event.message)\(extras)")
        return
            "\(time.prefix(19))Z \(event.level.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0)) \(message)\n"
    }

    private func json(_ event: LogEvent, _ fields: Logger.Metadata) -> String {
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
