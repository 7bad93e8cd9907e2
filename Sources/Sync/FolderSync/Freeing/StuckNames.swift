import BlockExchange
import Names

/// Names that could not be freed though the index and other devices said that they may go: a program writes to one, or its directory
/// is read-only. What frees unattended leaves them alone for a while; it would try them again with each pull otherwise. Pure.
struct StuckNames: Sendable {
    static let rest: MonotonicTime = .seconds(600)
    static let limit = 10_000

    private var tried: [NameKey: MonotonicTime] = [:]
    /// There were more than are remembered: until then nothing is tried.
    private var allRestUntil: MonotonicTime?

    mutating func note(_ names: [String], at now: MonotonicTime) {
        tried = tried.filter { now - $0.value < Self.rest }
        for name in names {
            guard tried.count < Self.limit || tried[name] != nil else { return allRestUntil = now + Self.rest }
            tried[name] = now
        }
    }

    func contains(_ name: String, at now: MonotonicTime) -> Bool {
        if let allRestUntil, now < allRestUntil { return true }
        return tried[name].map { now - $0 < Self.rest } ?? false
    }
}
