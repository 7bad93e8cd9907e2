/// A line of the agent's own log.
package struct LogRecord: ControlLine, Equatable, Sendable {
    package enum Level: String, Codable, CaseIterable, Comparable, Sendable {
        case trace, debug, info, notice, warning, error, critical

        package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    package var type = "record"
    /// Counts up; from 1 when the agent was started.
    package var id: Int
    /// RFC 3339.
    package var time: String
    package var level: Level
    package var label: String
    package var message: String
    package var metadata: [String: String]

    package init(
        id: Int, time: String, level: Level, label: String, message: String, metadata: [String: String]
    ) {
        self.id = id
        self.time = time
        self.level = level
        self.label = label
        self.message = message
        self.metadata = metadata
    }
}

/// Asks for the agent's log.
package struct RecordQuery: Equatable, Sendable, CheckedRequest {
    /// The newest so many.
    package var limit: Int
    /// Only what is as grave.
    package var level: LogRecord.Level
    /// Goes on with what comes.
    package var isFollowing: Bool

    package static let usual = 1000
    package static let largestLimit = 10_000

    package init(limit: Int = RecordQuery.usual, level: LogRecord.Level = .info, isFollowing: Bool = false) {
        self.limit = limit
        self.level = level
        self.isFollowing = isFollowing
    }

    func check() throws(ControlError) {
        guard (1...Self.largestLimit).contains(limit) else {
            throw ControlError(.invalidRequest, "limit must be between 1 and \(Self.largestLimit), not \(limit).")
        }
    }
}
