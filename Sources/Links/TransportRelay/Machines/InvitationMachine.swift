import BlockExchange

/// Asks a relay for a session with a device that is joined there.
package struct InvitationMachine: RelayConversation {
    private enum State {
        case new
        case waiting(limit: Duration)
        case ended
    }

    private let device: DeviceID
    private let limit: Duration
    private var state = State.new

    /// - Parameter limit: for the relay's answer.
    package init(device: DeviceID, limit: Duration = .seconds(10)) {
        self.device = device
        self.limit = limit
    }

    package var deadline: Duration? {
        if case .waiting(let limit) = state { limit } else { nil }
    }

    package mutating func begin(at now: Duration) -> [RelayAction] {
        guard case .new = state else { return [] }
        state = .waiting(limit: now + limit)
        return [.send(.connectRequest(device: device.digest.bytes))]
    }

    package mutating func handle(_ event: RelayEvent, at now: Duration) -> [RelayAction] {
        guard case .waiting(let limit) = state else { return [] }
        switch event {
        case .failed(let error): return end(error)
        case .closed: return end(RelayError(.closed, "the relay closed the connection without an answer"))
        case .doubted: return []
        case .timePassed:
            guard now >= limit else { return [] }
            return end(RelayError(.timedOut, "the relay did not answer within \(self.limit)"))
        case .received(let message): return received(message)
        }
    }

    private mutating func received(_ message: RelayMessage) -> [RelayAction] {
        switch message {
        case .ping: return [.send(.pong)]
        case .pong: return []
        case .relayFull: return end(.full)
        case .sessionInvitation(let invitation):
            guard invitation.from == device else {
                return end(RelayError(.wrongDevice, "the relay offered a session with a different device"))
            }
            return [.report(.invited(invitation))] + end(nil)
        case .response(let response):
            guard response.code == RelayResponse.notFound else {
                return end(RelayError(.refused, "the relay refused the session with \(response.shown)"))
            }
            return end(
                RelayError(
                    .deviceNotJoined, "the device is not connected to this relay now; it may be off or elsewhere"))
        case .joinRelayRequest, .joinSessionRequest, .connectRequest: return end(.unexpected(message))
        }
    }

    private mutating func end(_ error: RelayError?) -> [RelayAction] {
        state = .ended
        return [.end(error)]
    }
}
