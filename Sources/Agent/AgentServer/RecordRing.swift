import AsyncTools
import ControlAPI
import Synchronization

/// The last lines of the agent's log, for who looks on.
package final class RecordRing: Sendable {
    private struct State {
        var records: [LogRecord] = []
        /// Of `records` and the messages in it.
        var first = 0
        var byteCount = 0
        var lastID = 0
        var listeners = Listeners<LogRecord>()
    }

    /// Bytes of a message, or of all metadata of one; longer ones are cut.
    static let messageLimit = 4096
    private static let metadataLimit = 64
    private static let waitingLimit = 1000

    private let state = Mutex(State())
    private let countLimit: Int
    private let byteLimit: Int

    package init(countLimit: Int = 5000, byteLimit: Int = 4 << 20) {
        self.countLimit = countLimit
        self.byteLimit = byteLimit
    }

    package func add(
        level: LogRecord.Level, label: String, message: String, metadata: [String: String], time: String
    ) {
        var room = Self.messageLimit
        var kept: [String: String] = [:]
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }).prefix(Self.metadataLimit) where room > 0 {
            kept[Self.cut(key, to: room)] = Self.cut(value, to: room)
            room -= key.utf8.count + value.utf8.count
        }
        let (text, values) = (Self.cut(message, to: Self.messageLimit), kept)
        state.withLock { state in
            state.lastID += 1
            let record = LogRecord(
                id: state.lastID, time: time, level: level, label: label, message: text, metadata: values)
            state.records.append(record)
            state.byteCount += Self.byteCount(record)
            while state.first < state.records.count - 1,
                state.records.count - state.first > countLimit || state.byteCount > byteLimit
            {
                state.byteCount -= Self.byteCount(state.records[state.first])
                state.first += 1
            }
            if state.first > countLimit / 2, state.first > 16 {
                state.records.removeFirst(state.first)
                state.first = 0
            }
            state.listeners.send(record)
        }
    }

    /// The newest `limit` records of `level` or graver, oldest first.
    package func newest(_ limit: Int, from level: LogRecord.Level) -> [LogRecord] {
        state.withLock { Self.newest(limit, from: level, $0) }
    }

    /// The same, and those that come, of all levels, until the reading task ends; who does not keep up loses the oldest.
    func follow(_ limit: Int, from level: LogRecord.Level) -> ([LogRecord], AsyncStream<LogRecord>) {
        state.withLock { state in
            let stream = state.listeners.add(bufferingPolicy: .bufferingNewest(Self.waitingLimit))
            return (Self.newest(limit, from: level, state), stream)
        }
    }

    private static func newest(_ limit: Int, from level: LogRecord.Level, _ state: State) -> [LogRecord] {
        Array(state.records[state.first...].lazy.filter { $0.level >= level }.suffix(limit))
    }

    private static func byteCount(_ record: LogRecord) -> Int {
        record.metadata.reduce(record.message.utf8.count + record.label.utf8.count + 128) {
            $0 + $1.key.utf8.count + $1.value.utf8.count
        }
    }

    private static func cut(_ text: String, to byteCount: Int) -> String {
        guard text.utf8.count > byteCount else { return text }
        return String(decoding: text.utf8.prefix(max(0, byteCount)), as: UTF8.self) + "…"
    }
}
