import NIOCore

/// Begins a session on a plain connection: the key, the relay's response, and from then on the pipe.
package struct SessionMachine: Sendable {
    package enum Verdict: Equatable, Sendable {
        /// More bytes are needed.
        case waiting
        /// The session stands. `rest` is the beginning of what the other device sent.
        case open(rest: ByteBuffer)
        case failed(RelayError)
    }

    private let key: [UInt8]
    private var reader = RelayFrameReader()
    private var isDone = false

    package init(key: [UInt8]) { self.key = key }

    /// What to send first, in the same tick as the connection comes up: a relay waits one second for it.
    package var request: RelayMessage { .joinSessionRequest(key: key) }

    /// Takes what was read. To be called until the verdict is another than `waiting`; then the connection belongs to
    /// others.
    package mutating func read(_ bytes: ByteBuffer) -> Verdict {
        guard !isDone else { return .failed(RelayError(.failed, "the session was decided before")) }
        reader.append(bytes)
        do throws(RelayError) {
            guard let message = try reader.next() else { return .waiting }
            isDone = true
            return verdict(on: message)
        } catch {
            isDone = true
            return .failed(error)
        }
    }

    private func verdict(on message: RelayMessage) -> Verdict {
        guard case .response(let response) = message else { return .failed(.unexpected(message)) }
        switch response.code {
        case RelayResponse.success: return .open(rest: reader.rest)
        case RelayResponse.notFound:
            return .failed(RelayError(.sessionExpired, "the relay's invitation has expired or was used before"))
        case RelayResponse.alreadyConnected:
            // strelaysrv (seen with 1.19 and 2.1) drops an end of a session that comes while it is busy with the other end.
            return .failed(RelayError(.sessionMissed, "the relay did not connect the two devices; try again"))
        default: return .failed(RelayError(.refused, "the relay refused the session with \(response.shown)"))
        }
    }
}
