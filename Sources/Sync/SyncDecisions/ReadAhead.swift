import BlockExchange

/// How far ahead of an ordered reader blocks are asked for: from the one it wants to as many as the links need to keep it
/// busy. It doubles whenever the reader had to wait, so a slow reader keeps little in memory and one that leaves soon, as
/// players do when they seek, has asked for little in vain. Pure.
package struct ReadAhead: Equatable, Sendable {
    /// Blocks from the one that is wanted on, itself counted.
    package private(set) var window = 1
    /// At least 1.
    package let limit: Int

    package init(limit: Int) { self.limit = max(1, limit) }

    /// The reader wanted a block at one time and it came at another.
    package mutating func came(at arrival: MonotonicTime, wantedAt wanted: MonotonicTime) {
        if arrival > wanted { window = min(limit, window * 2) }
    }
}
