/// How often pairing may fail before it has to rest: each failed attempt was a guess of whoever may stand between.
///
/// Three failures are free. From then on each costs a pause, one minute at first and twice as long each time, at most an
/// hour. A success, or an hour without a failure, forgets them. Times are of a clock that never goes back.
public struct AttemptLimit: Sendable, Equatable {
    public static let freeFailures = 3
    public static let firstPause: Duration = .seconds(60)
    public static let longestPause: Duration = .seconds(3600)

    private var failures = 0
    private var lastFailure: Duration = .zero

    public init() {}

    public mutating func failed(at now: Duration) {
        if now - lastFailure >= pause + Self.longestPause { failures = 0 }
        failures = min(failures + 1, Self.freeFailures + 16)
        lastFailure = now
    }

    public mutating func succeeded() { self = AttemptLimit() }

    /// How long no attempt may begin; nil if one may.
    public func wait(at now: Duration) -> Duration? {
        let rest = lastFailure + pause - now
        return rest > .zero ? rest : nil
    }

    /// After the last failure.
    private var pause: Duration {
        guard failures >= Self.freeFailures else { return .zero }
        return min(Self.longestPause, Self.firstPause * (1 << min(failures - Self.freeFailures, 16)))
    }
}
