/// A line of the agent's own log.
public struct LogRecord: ControlLine, Equatable, Sendable {
    public enum Level: String, Codable, CaseIterable, Comparable, Sendable {
        case trace, debug, info, notice, warning, error, critical

        public static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    public var type = "record"
    /// Counts up; from 1 when the agent was started.
    public var id: Int
    /// RFC 3339.
    public var time: String
    public var level: Level
    public var label: String
    public var message: String
    public var metadata: [String: String]

    public init(
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
public struct RecordQuery: Equatable, Sendable {
    /// The newest so many.
    public var limit: Int
    /// Only what is as grave.
    public var level: LogRecord.Level
    /// Goes on with what comes.
    public var isFollowing: Bool

    public static let usual = 1000
    public static let largestLimit = 10_000

    public init(limit: Int = RecordQuery.usual, level: LogRecord.Level = .info, isFollowing: Bool = false) {
        self.limit = limit
        self.level = level
        self.isFollowing = isFollowing
    }
}
