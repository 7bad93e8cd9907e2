import BlockExchange
import ControlAPI
import LinkSecurity
import NIOCore
import Pairing
import Synchronization
import Transport

/// The failed attempts of this run of the agent: there is one count for all requests of the user.
final class PairingFailures: Sendable {
    private let limit = Mutex(AttemptLimit())
    private let now: @Sendable () -> MonotonicTime

    init(now: @escaping @Sendable () -> MonotonicTime) { self.now = now }

    func failed() { limit.withLock { $0.failed(at: now()) } }

    func succeeded() { limit.withLock { $0.succeeded() } }

    /// How long no attempt may begin; nil if one may.
    var wait: Duration? { limit.withLock { $0.wait(at: now()) } }
}

/// The pairing that the user has asked for, if there is one. While there is none, no link speaks of pairing.
final class PairingRegistry: Sendable {
    private struct Current {
        var session: PairingSession
        /// Accepts pairing beside BEP.
        var listening: LinkAuthenticator
    }

    let failures: PairingFailures
    private let identity: LinkIdentity
    /// Accepts BEP alone.
    private let usual: LinkAuthenticator
    private let handshakeLimit: Duration
    private let current = Mutex<Current?>(nil)

    init(identity: LinkIdentity, usual: LinkAuthenticator, handshakeLimit: Duration, time: AgentTime) {
        self.identity = identity
        self.usual = usual
        self.handshakeLimit = handshakeLimit
        failures = PairingFailures(now: time.monotonic)
    }

    var session: PairingSession? { current.withLock { $0?.session } }

    /// Throws `busy` and `pairingBlocked`.
    func begin(_ session: PairingSession) throws(ControlError) {
        if let wait = failures.wait { throw .pairingBlocked(for: wait) }
        let listening = try authenticator([
            LinkAuthenticator.blockExchangeProtocol, LinkAuthenticator.pairingProtocol,
        ])
        let isFirst = current.withLock { current in
            guard current == nil else { return false }
            current = Current(session: session, listening: listening)
            return true
        }
        guard isFirst else {
            throw ControlError(
                .busy, "This device is being paired already, by another `synctrain pair`. End that one first.",
                isRetryable: true)
        }
    }

    func end(_ session: PairingSession) {
        current.withLock { current in
            if current?.session === session { current = nil }
        }
    }

    /// For links that are accepted: pairing is spoken of only during one.
    var install: LinkInstaller<SecureLink> {
        { channel, information in
            let listening = self.current.withLock { $0?.listening }
            return (listening ?? self.usual).install(channel, information)
        }
    }

    /// For links that are dialled to pair.
    func dialling() throws(ControlError) -> LinkAuthenticator { try authenticator([LinkAuthenticator.pairingProtocol]) }

    /// Serves a link on which pairing was agreed on; closes it if the pairing is over.
    func serve(_ link: SecureLink) async {
        if let session { await session.serve(link) } else { await link.close() }
    }

    private func authenticator(_ protocols: [String]) throws(ControlError) -> LinkAuthenticator {
        do {
            return try LinkAuthenticator(
                identity: identity, applicationProtocols: protocols, handshakeLimit: handshakeLimit)
        } catch {
            throw ControlError(.failed, "\(error)")
        }
    }
}
