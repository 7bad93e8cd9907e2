/// One connection to a relay in protocol mode, as a machine: events in, actions out.
///
/// Times are durations since any one moment, the same for all calls, and never go back.
package protocol RelayConversation: Sendable {
    /// Once, when TLS is up.
    mutating func begin(at now: Duration) -> [RelayAction]
    /// After an action `end`, events have no actions any more.
    mutating func handle(_ event: RelayEvent, at now: Duration) -> [RelayAction]
    /// When `timePassed` is to be handled at the latest; nil once it has ended.
    var deadline: Duration? { get }
}

package enum RelayEvent: Equatable, Sendable {
    case received(RelayMessage)
    /// Bytes that are no message, or an error of TLS or of the socket.
    case failed(RelayError)
    case closed
    case timePassed
    /// Somebody doubts that the connection still works, as after a change of network.
    case doubted
}

package enum RelayAction: Equatable, Sendable {
    case send(RelayMessage)
    case report(RelayReport)
    /// Closes the connection; the last action. No error: it has served its purpose.
    case end(RelayError?)
}

/// What others are told about a conversation.
package enum RelayReport: Equatable, Sendable {
    case joined
    /// How long a ping and its answer took together.
    case roundTrip(Duration)
    case invited(SessionInvitation)
    /// An invitation beyond what one relay may ask for; see `InvitationBudget`.
    case refusedInvitation
}
