import BlockExchange

/// How much may be asked of a link at a time.
package protocol RequestWindow: Sendable {
    /// The bytes to ask for now of `count` that are wanted; nil while enough is under way.
    mutating func take(atMost count: Int, at now: MonotonicTime) -> Int?
    /// `count` bytes that were taken have come.
    mutating func arrived(_ count: Int, at now: MonotonicTime)
    /// `count` bytes that were taken do not come.
    mutating func giveBack(_ count: Int)
}
