/// What the sender of a file does while the receiver asks for nothing. Pure.
///
/// The receiver takes one file after the other, and each may wait for its user: until it has asked for something of this one, that
/// it still has the offer is all that can be known.
package struct OfferPatience: Sendable {
    package enum Step: Equatable, Sendable {
        case wait
        /// The receiver says whether it still has the offer.
        case offerAgain
        case giveUp
    }

    /// How long to wait between offers of a file of which nothing was asked for.
    package static let offerInterval = Duration.seconds(60)
    /// How long to wait for a receiver that has asked, which may be its user thinking.
    package static let limit = Duration.seconds(180)

    /// Whether anything was asked for.
    package private(set) var isAskedFor = false
    private var last: Duration

    package init(at now: Duration) { last = now }

    /// The file is offered.
    package mutating func offered(at now: Duration) { last = now }

    package mutating func asked(at now: Duration) {
        isAskedFor = true
        last = now
    }

    package func step(at now: Duration) -> Step {
        if isAskedFor { return now - last > Self.limit ? .giveUp : .wait }
        return now - last >= Self.offerInterval ? .offerAgain : .wait
    }
}
