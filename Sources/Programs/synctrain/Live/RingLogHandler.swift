import AgentContext
import AgentServer
import ControlAPI
import Logging

/// Keeps log lines for whoever looks on over the control API.
struct RingLogHandler: LogHandler {
    let label: String
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let ring: RecordRing

    init(label: String, level: Logger.Level, ring: RecordRing) {
        self.label = label
        logLevel = level
        self.ring = ring
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = metadata.merging(event.metadata ?? [:]) { _, new in new }
        ring.add(
            level: LogRecord.Level(rawValue: event.level.rawValue) ?? .info, label: label,
            message: "\(event.message)", metadata: fields.mapValues { "\($0)" }, time: WallTime.now.rfc3339)
    }
}
