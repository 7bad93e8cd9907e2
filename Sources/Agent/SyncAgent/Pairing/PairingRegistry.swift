import AgentContext
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
        var links: Links
        /// While there are invitations, too.
        var linksWhileInviting: Links
    }

    /// What accepts links.
    private struct Links {
        /// BEP, and what else is spoken at the moment.
        var listening: LinkAuthenticator
        /// The latter alone: over a radio nothing else is for strangers.
        var strangers: LinkAuthenticator

        init(
            _ protocols: [String], _ make: ([String]) throws(LinkSecurityError) -> LinkAuthenticator
        ) throws(LinkSecurityError) {
            listening = try make([LinkAuthenticator.blockExchangeProtocol] + protocols)
            strangers = try make(protocols)
        }
    }

    let failures: PairingFailures
    private let identity: LinkIdentity
    /// Accepts BEP alone.
    private let usual: LinkAuthenticator
    /// The same, for links that a preamble hides.
    private let hidden: LinkAuthenticator
    private let inviting: Links
    private let isInviting: @Sendable () -> Bool
    private let handshakeLimit: Duration
    private let preamble: LinkPreamble
    private let knownDevices: @Sendable () -> [DeviceID]
    private let current = Mutex<Current?>(nil)

    init(
        identity: LinkIdentity, usual: LinkAuthenticator, handshakeLimit: Duration,
        knownDevices: @escaping @Sendable () -> [DeviceID], isInviting: @escaping @Sendable () -> Bool, time: AgentTime
    ) throws(LinkSecurityError) {
        self.identity = identity
        self.usual = usual
        hidden = try LinkAuthenticator(identity: identity, isHidden: true, handshakeLimit: handshakeLimit)
        inviting = try Links([LinkAuthenticator.invitationProtocol]) { protocols throws(LinkSecurityError) in
            try LinkAuthenticator(
                identity: identity, applicationProtocols: protocols, handshakeLimit: handshakeLimit)
        }
        self.isInviting = isInviting
        self.handshakeLimit = handshakeLimit
        preamble = LinkPreamble(own: identity.device)
        self.knownDevices = knownDevices
        failures = PairingFailures(now: time.monotonic)
    }

    var session: PairingSession? { current.withLock { $0?.session } }

    /// Throws `busy` and `pairingBlocked`.
    func begin(_ session: PairingSession) throws(ControlError) {
        if let wait = failures.wait { throw .pairingBlocked(for: wait) }
        let links: Links
        let linksWhileInviting: Links
        do {
            links = try Links([LinkAuthenticator.pairingProtocol], make)
            linksWhileInviting = try Links(
                [LinkAuthenticator.pairingProtocol, LinkAuthenticator.invitationProtocol], make)
        } catch {
            throw ControlError(.failed, Phrase(of: error))
        }
        let isFirst = current.withLock { current in
            guard current == nil else { return false }
            current = Current(session: session, links: links, linksWhileInviting: linksWhileInviting)
            return true
        }
        guard isFirst else {
            throw ControlError(
                .busy, "Another `synctrain pair` is already running. Stop it first.",
                isRetryable: true)
        }
    }

    func end(_ session: PairingSession) {
        current.withLock { current in
            if current?.session === session { current = nil }
        }
    }

    /// For links that are accepted: pairing is spoken of only during one, invitations while there are some, and over a
    /// radio nothing else to strangers.
    var install: LinkInstaller<SecureLink> {
        let overheard = preamble.accepting(known: knownDevices, usual: hidden, pairing: { self.links?.strangers })
        return { channel, information in
            guard !information.kind.isOverheard else { return overheard(channel, information) }
            return (self.links?.listening ?? self.usual).install(channel, information)
        }
    }

    /// Nil while nothing but BEP is spoken.
    private var links: Links? {
        let isInviting = isInviting()
        return current.withLock { isInviting ? $0?.linksWhileInviting : $0?.links } ?? (isInviting ? inviting : nil)
    }

    /// For links that are dialled to redeem an invitation.
    func diallingToJoin() -> LinkInstaller<SecureLink> {
        installer(.pairing, overheard: inviting.strangers, else: inviting.strangers)
    }

    /// For links that are dialled to pair.
    func dialling() throws(ControlError) -> LinkInstaller<SecureLink> {
        let authenticator = try authenticator([LinkAuthenticator.pairingProtocol])
        return installer(.pairing, overheard: authenticator, else: authenticator)
    }

    /// For links that are dialled to a known device.
    func dialling(_ device: DeviceID) -> LinkInstaller<SecureLink> {
        installer(.device(device), overheard: hidden, else: usual)
    }

    private func installer(
        _ target: LinkPreamble.Target, overheard: LinkAuthenticator, else usual: LinkAuthenticator
    ) -> LinkInstaller<SecureLink> {
        let overheard = preamble.dialling(target, then: overheard)
        return { channel, information in
            information.kind.isOverheard ? overheard(channel, information) : usual.install(channel, information)
        }
    }

    /// Serves a link on which pairing was agreed on; closes it if the pairing is over.
    func serve(_ link: SecureLink) async {
        if let session { await session.serve(link) } else { await link.close() }
    }

    private func authenticator(_ protocols: [String]) throws(ControlError) -> LinkAuthenticator {
        do {
            return try make(protocols)
        } catch {
            throw ControlError(.failed, Phrase(of: error))
        }
    }

    private func make(_ protocols: [String]) throws(LinkSecurityError) -> LinkAuthenticator {
        try LinkAuthenticator(identity: identity, applicationProtocols: protocols, handshakeLimit: handshakeLimit)
    }
}
