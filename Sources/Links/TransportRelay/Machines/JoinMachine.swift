import Phrases

/// Joins a relay, stays joined, and reports the invitations that come.
///
/// The relay pings every 60 s and forgets whoever is silent for 120 s; this side gives up after the same time, and pings
/// on its own after 90 s without a word, so that a path that has died is noticed by an answer that does not come.
package struct JoinMachine: RelayConversation {
    package struct Limits: Equatable, Sendable {
        /// For the answer to the request to join.
        package var response = Duration.seconds(10)
        /// Without a message for so long, the relay is pinged.
        package var quiet = Duration.seconds(90)
        /// Without a message for so long, the relay counts as gone.
        package var silence = Duration.seconds(120)
        /// For any message of a relay that is doubted.
        package var doubt = Duration.seconds(3)

        package init() {}
    }

    private enum State {
        case new
        /// Left by the response, the limit or the end.
        case joining(limit: Duration)
        case joined(Joined)
        case ended
    }

    private struct Joined {
        var lastMessage: Duration
        /// When the ping was sent that has no answer yet.
        var ping: Duration?
        /// By when a doubted relay has to send anything.
        var doubt: Duration?
    }

    private let token: String
    private let limits: Limits
    private var budget = InvitationBudget()
    private var state = State.new

    package init(token: String = "", limits: Limits = Limits()) {
        self.token = token
        self.limits = limits
    }

    package var deadline: Duration? {
        switch state {
        case .new, .ended: nil
        case .joining(let limit): limit
        case .joined(let joined):
            min(
                joined.doubt ?? .seconds(Int32.max),
                joined.lastMessage + (joined.ping == nil ? min(limits.quiet, limits.silence) : limits.silence))
        }
    }

    package mutating func begin(at now: Duration) -> [RelayAction] {
        guard case .new = state else { return [] }
        state = .joining(limit: now + limits.response)
        return [.send(.joinRelayRequest(token: token))]
    }

    package mutating func handle(_ event: RelayEvent, at now: Duration) -> [RelayAction] {
        switch state {
        case .new, .ended: return []
        case .joining, .joined: break
        }
        switch event {
        case .failed(let error): return end(error)
        case .closed: return end(RelayError(.closed, "the relay closed the connection; it will be tried again"))
        case .timePassed: return timePassed(at: now)
        case .doubted: return doubted(at: now)
        case .received(let message): return received(message, at: now)
        }
    }

    private mutating func received(_ message: RelayMessage, at now: Duration) -> [RelayAction] {
        if case .joined(var joined) = state {
            joined.lastMessage = now
            joined.doubt = nil
            state = .joined(joined)
        }
        switch message {
        case .ping: return [.send(.pong)]
        case .pong: return ponged(at: now)
        case .relayFull: return end(.full)
        case .response(let response): return responded(response, at: now)
        case .sessionInvitation(let invitation):
            guard case .joined = state else { return end(.unexpected(message)) }
            return [.report(budget.take(at: now) ? .invited(invitation) : .refusedInvitation)]
        case .joinRelayRequest, .joinSessionRequest, .connectRequest: return end(.unexpected(message))
        }
    }

    private mutating func responded(_ response: RelayResponse, at now: Duration) -> [RelayAction] {
        guard case .joining = state else {
            return end(RelayError(.refused, "the relay ended the connection with \(response.shown)"))
        }
        switch response.code {
        case RelayResponse.success:
            state = .joined(Joined(lastMessage: now, ping: now))
            // Says how far the relay is; later ones are only sent into silence.
            return [.report(.joined), .send(.ping)]
        case RelayResponse.alreadyConnected:
            return end(
                RelayError(
                    .alreadyConnected,
                    "the relay still counts this device as connected; that ends within 2 minutes. If it does not, "
                        + "another device uses a copy of this device's key"))
        case RelayResponse.wrongToken:
            return end(
                RelayError(
                    .wrongToken,
                    token.isEmpty
                        ? "the relay asks for a token; add token=… to its address"
                        : "the relay refused the token; correct token=… in its address"))
        default:
            return end(RelayError(.refused, "the relay refused this device with \(response.shown)"))
        }
    }

    private mutating func ponged(at now: Duration) -> [RelayAction] {
        guard case .joined(var joined) = state, let sent = joined.ping else { return [] }
        joined.ping = nil
        state = .joined(joined)
        return [.report(.roundTrip(max(.zero, now - sent)))]
    }

    private mutating func timePassed(at now: Duration) -> [RelayAction] {
        switch state {
        case .new, .ended: return []
        case .joining(let limit):
            guard now >= limit else { return [] }
            return end(RelayError(.timedOut, "the relay did not answer the request to join within \(limits.response)"))
        case .joined(var joined):
            if now - joined.lastMessage >= limits.silence || joined.doubt.map({ now >= $0 }) == true {
                let silence = now - joined.lastMessage
                return end(
                    RelayError(.silent, "the relay has sent nothing for \(silence.components.seconds) s and is left"))
            }
            guard joined.ping == nil, now - joined.lastMessage >= limits.quiet else { return [] }
            joined.ping = now
            state = .joined(joined)
            return [.send(.ping)]
        }
    }

    private mutating func doubted(at now: Duration) -> [RelayAction] {
        guard case .joined(var joined) = state, joined.doubt == nil else { return [] }
        joined.doubt = now + limits.doubt
        // An answer that is still due counts for the relay as well; then the time of this ping is not measured.
        joined.ping = joined.ping ?? now
        state = .joined(joined)
        return [.send(.ping)]
    }

    private mutating func end(_ error: RelayError) -> [RelayAction] {
        state = .ended
        return [.end(error)]
    }
}

extension RelayError {
    static let full = RelayError(.full, "the relay is full; another relay, or this one later, may have room")

    static func unexpected(_ message: RelayMessage) -> RelayError {
        RelayError(.unexpectedMessage, "the relay sent a message of type \(message.kind) that may not come here")
    }
}
