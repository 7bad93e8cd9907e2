import BlockExchange
import Cryptography

/// The first bytes of a link over a radio, where anybody may connect: the dialler proves that it knows both devices' ids
/// before the side that was dialled says anything but 16 random bytes. Sans-IO.
///
/// A side that is not convinced does nothing: it reads on and says nothing, until whoever runs it closes the link at the
/// same moment for all causes.
struct PreambleMachine: Sendable {
    enum Role: Sendable {
        /// Dials a device that it knows.
        case dialler(own: DeviceID, peer: DeviceID)
        /// Dials to pair: neither knows the other yet.
        case pairingDialler
        /// Was dialled. The devices that it knows; whether it may pair.
        case responder(own: DeviceID, known: [DeviceID], isPairing: Bool)
    }

    enum Event: Equatable, Sendable {
        case send([UInt8])
        /// What follows is hidden under these keys.
        case opened(peer: DeviceID, PreambleKeys)
        /// What follows is not hidden.
        case openedForPairing
    }

    /// The first byte, which tells the beginnings apart from those of GhostDrop (0x47) and of TLS (0x16).
    static let known: UInt8 = 0x01
    static let pairing: UInt8 = 0x02

    private enum State: Sendable {
        case beginning
        /// The dialler has sent its nonce.
        case awaitingNonce
        /// The side that was dialled has sent its own.
        case awaitingProof(diallerNonce: [UInt8])
        case open
        case refusing
    }

    private let role: Role
    private let nonce: [UInt8]
    private var state = State.beginning
    /// Never more than the step at hand needs, unless it is open.
    private var received: [UInt8] = []

    /// - Parameter nonce: 16 random bytes, for this link alone.
    init(_ role: Role, nonce: [UInt8]) {
        self.role = role
        self.nonce = nonce
    }

    /// Nothing convincing has come, nor will be waited for.
    var isRefusing: Bool { if case .refusing = state { true } else { false } }
    var isOpen: Bool { if case .open = state { true } else { false } }

    /// The first bytes, if this side speaks first.
    mutating func start() -> [Event] {
        switch role {
        case .dialler:
            state = .awaitingNonce
            return [.send([Self.known] + nonce)]
        case .pairingDialler:
            state = .open
            return [.send([Self.pairing]), .openedForPairing]
        case .responder: return []
        }
    }

    /// Takes bytes in. Those that follow the preamble are left in `rest()`.
    mutating func receive(_ bytes: some Collection<UInt8>) -> [Event] {
        if isRefusing { return [] }
        received += bytes
        do {
            return try advance()
        } catch {
            state = .refusing
            received = []
            return []
        }
    }

    /// What came behind the preamble, once.
    mutating func rest() -> [UInt8] {
        guard isOpen else { return [] }
        defer { received = [] }
        return received
    }

    private mutating func advance() throws(CryptographyError) -> [Event] {
        switch (state, role) {
        case (.beginning, .responder(_, _, let isPairing)):
            guard let first = received.first else { return [] }
            switch first {
            case Self.pairing where isPairing:
                received.removeFirst()
                state = .open
                return [.openedForPairing]
            case Self.known:
                guard let theirs = take(1 + PreambleKeys.nonceByteCount) else { return [] }
                state = .awaitingProof(diallerNonce: Array(theirs.dropFirst()))
                return try [.send(nonce)] + advance()
            default:
                state = .refusing
                received = []
                return []
            }
        case (.awaitingNonce, .dialler(let own, let peer)):
            guard let theirs = take(PreambleKeys.nonceByteCount) else { return [] }
            let keys = try PreambleKeys(dialler: own, responder: peer, diallerNonce: nonce, responderNonce: theirs)
            state = .open
            return [.send(keys.proof), .opened(peer: peer, keys)]
        case (.awaitingProof(let theirs), .responder(let own, let known, _)):
            guard let proof = take(PreambleKeys.proofByteCount) else { return [] }
            var found: Event?
            // All of them, whichever it is: how long it takes says nothing.
            for peer in known {
                let keys = try PreambleKeys(
                    dialler: peer, responder: own, diallerNonce: theirs, responderNonce: nonce)
                if keys.isProved(by: proof) { found = .opened(peer: peer, keys) }
            }
            guard let found else {
                state = .refusing
                received = []
                return []
            }
            state = .open
            return [found]
        case (.beginning, _), (.awaitingNonce, _), (.awaitingProof, _), (.open, _), (.refusing, _): return []
        }
    }

    private mutating func take(_ count: Int) -> [UInt8]? {
        guard received.count >= count else { return nil }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }
}
