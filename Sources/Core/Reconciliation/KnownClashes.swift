import BlockExchange
import Names

/// The clashes that a folder has met and not settled yet.
package struct KnownClashes: Sendable {
    private struct Clash: Sendable {
        var versions: [VersionVector]
        var since: MonotonicTime
    }

    private static let limit = 2000
    /// Those that were not settled in this time have ended otherwise, or are not for this device to settle.
    private static let lifetime: MonotonicTime = .seconds(86_400)

    private var clashes: [NameKey: Clash] = [:]

    package init() {}

    /// Whether the clash over `name` has lasted for so many seconds, with these versions of the two files; one that has not been met
    /// before begins now. Then it is forgotten.
    package mutating func isDue(
        _ name: String, _ versions: [VersionVector], after seconds: Int64, at now: MonotonicTime
    ) -> Bool {
        guard let known = clashes[name], known.versions == versions else {
            if clashes.count >= Self.limit { clashes = clashes.filter { now - $0.value.since < Self.lifetime } }
            if clashes.count < Self.limit || clashes[name] != nil {
                clashes[name] = Clash(versions: versions, since: now)
            }
            return false
        }
        guard now - known.since >= .seconds(seconds) else { return false }
        clashes[name] = nil
        return true
    }
}
