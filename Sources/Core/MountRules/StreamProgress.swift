/// How far a stream of blocks goes ahead of who reads it: no further than it is asked to, until a reader had to wait for it more than
/// once. Pure.
package struct StreamProgress: Equatable, Sendable {
    /// The block that is delivered next.
    package private(set) var next: Int
    /// Blocks before this are wanted.
    private var wantedEnd: Int
    /// How many more are delivered before anybody wants them.
    package private(set) var ahead = 0
    private let first: Int
    private let limit: Int
    private let most: Int
    /// Of what was read in order, this part may be delivered in vain.
    private static let share = 8

    /// - Parameters:
    ///   - first: the block that the stream begins with, which is wanted.
    ///   - limit: blocks that are delivered before they are wanted, at most, as long as little was read.
    ///   - most: the same of a reader that has read much in order.
    package init(first: Int, limit: Int, most: Int) {
        (self.first, self.limit, self.most) = (first, limit, max(limit, most))
        next = first
        wantedEnd = first &+ 1
    }

    /// Whether the next block is to be delivered now.
    package var isOpen: Bool { next < wantedEnd &+ ahead }

    /// A reader comes to a block that was delivered.
    package mutating func reached(_ block: Int) {
        if block < next { wantedEnd = max(wantedEnd, block &+ 1) }
    }

    /// A reader waits for a block.
    package mutating func awaited(_ block: Int) {
        wantedEnd = max(wantedEnd, block &+ 1)
        // Nothing is fetched in vain for a program that reads one block and closes the file.
        guard block > first else { return }
        let earned = min(most, (block &- first) / Self.share)
        ahead = min(max(limit, earned), max(1, ahead &* 2))
    }

    package mutating func delivered(_ block: Int) { next = block &+ 1 }
}
