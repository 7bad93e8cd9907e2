/// What both sides of a v1 transfer take from a link.
public protocol DropMachine {
    /// Whether it was the peer that ended the transfer, or the link: then this side has nothing more to say.
    var wasEndedByPeer: Bool { get }
    /// Takes a frame that arrived, at a time of the caller's monotonic clock.
    mutating func receive(_ frame: DropFrame, at now: Duration)
    /// Ends the transfer for a reason of this side's own, which the other is told.
    mutating func fail(_ error: GhostDropError)
    /// The link has gone: nothing more comes.
    mutating func linkEnded()
}
