import Cryptography
import Phrases

/// One attempt to pair two devices over a link on which each has proved its key: commit, reveal, compare, confirm.
///
/// A value that does no input or output and knows no clock: each function takes what happened and gives what is to be
/// done, in order. Nothing that a peer sends makes it trap. After `.end` it takes everything and gives nothing.
///
/// A device is only ever stored (`.store`) when this device's user has confirmed the code, the other device has said
/// that its user did, and it has introduced itself, which it does only after it has seen this device's confirmation.
public struct PairingMachine: Sendable {
    public enum Role: Sendable, CaseIterable {
        /// The side that dialled.
        case initiator
        case responder
    }

    public enum Event: Equatable, Sendable {
        case send([UInt8])
        /// To be shown to the user, who answers with `confirm` or `refuse`.
        case compare(PairingCode)
        /// The other device's user has said yes.
        case peerConfirmed
        /// To be stored durably; then `stored` or `storingFailed`.
        case store(PairingIntroduction)
        /// Last of all: the link can be closed.
        case end(PairingOutcome)
    }

    /// A stage of the attempt, with a time limit of its own: whoever runs the machine calls `expire` when it is over.
    public enum Phase: Sendable, CaseIterable {
        /// Until there is a code: no user is asked anything, so this is short.
        case opening
        case comparing
        /// Both users have said yes.
        case closing
        case ended

        public var limit: Duration {
            switch self {
            case .opening: .seconds(20)
            case .comparing: .seconds(120)
            case .closing: .seconds(20)
            case .ended: .zero
            }
        }
    }

    private enum State {
        /// The initiator before `start`.
        case idle
        /// The responder at first. Left by a commitment.
        case awaitingCommitment
        /// The initiator after its commitment. Left by the responder's nonce.
        case awaitingNonce
        /// The responder after its nonce. Left by the nonce that fits the commitment.
        case awaitingReveal(SHA256Digest)
        /// Left when both have confirmed.
        case comparing(PairingCode, isConfirmedHere: Bool, isConfirmedThere: Bool)
        /// Both have confirmed. Left by the other's introduction.
        case awaitingIntroduction
        /// Left by `stored` or `storingFailed`.
        case storing(PairingIntroduction, peer: PeerState)
        /// This device has stored the other. Left by the other's word that it did, too, or by its silence.
        case awaitingDone(PairingIntroduction)
        case ended
    }

    /// What the other end did while this one was storing it.
    private enum PeerState { case present, done, gone }

    private let role: Role
    private let initiator: SHA256Digest
    private let responder: SHA256Digest
    private let nonce: PairingNonce
    private let introduction: PairingIntroduction
    private let knowsPeer: Bool
    private let codeCount: UInt32
    private var reader = PairingMessageReader()
    private var state: State

    /// Whether this attempt gave the other end a chance to guess: it got to know this side's nonce. One that fails after
    /// that counts against the number of failures that are allowed.
    public private(set) var hasTakenRisk = false

    /// - Parameters:
    ///   - local: the digest that is this device's id; `remote` the other's, proved by TLS.
    ///   - nonce: drawn for this attempt alone.
    ///   - introduction: what the other device is told once both users have confirmed.
    ///   - knowsPeer: whether this device has the other in its configuration.
    public init(
        role: Role, local: SHA256Digest, remote: SHA256Digest, nonce: PairingNonce,
        introduction: PairingIntroduction, knowsPeer: Bool
    ) {
        self.init(
            role: role, local: local, remote: remote, nonce: nonce, introduction: introduction, knowsPeer: knowsPeer,
            codeCount: PairingCode.count)
    }

    /// For tests of attacks, which take too long against all codes.
    init(
        role: Role, local: SHA256Digest, remote: SHA256Digest, nonce: PairingNonce,
        introduction: PairingIntroduction, knowsPeer: Bool, codeCount: UInt32
    ) {
        self.role = role
        initiator = role == .initiator ? local : remote
        responder = role == .initiator ? remote : local
        self.nonce = nonce
        self.introduction = introduction
        self.knowsPeer = knowsPeer
        self.codeCount = codeCount
        state = role == .initiator ? .idle : .awaitingCommitment
    }

    public var phase: Phase {
        switch state {
        case .idle, .awaitingCommitment, .awaitingNonce, .awaitingReveal: .opening
        case .comparing: .comparing
        case .awaitingIntroduction, .storing, .awaitingDone: .closing
        case .ended: .ended
        }
    }

    /// The code that waits for this device's user; nil before and after.
    public var codeToConfirm: PairingCode? {
        guard case .comparing(let code, isConfirmedHere: false, _) = state else { return nil }
        return code
    }

    /// Whether the other end dialled and has said nothing yet: it may be a stranger that keeps the place, and gives way to
    /// another device.
    public var isSilent: Bool {
        if case .awaitingCommitment = state { true } else { false }
    }

    // MARK: what happens here

    /// Begins, as the initiator; nothing for the responder, who waits.
    public mutating func start() -> [Event] {
        guard case .idle = state else { return [] }
        state = .awaitingNonce
        let commitment = PairingTranscript.commitment(
            initiator: initiator, responder: responder, initiatorNonce: nonce)
        return [.send(PairingMessage.commit(commitment, knowsPeer: knowsPeer).encoded)]
    }

    /// This device's user says that the other device shows `code`. Another code than the one shown ends the attempt.
    public mutating func confirm(_ code: PairingCode) -> [Event] {
        guard case .comparing(let shown, isConfirmedHere: false, let isConfirmedThere) = state else { return [] }
        guard code == shown else {
            return fail(PairingFailure(.otherCode, "the two devices show different digits"), telling: .user)
        }
        state = .comparing(shown, isConfirmedHere: true, isConfirmedThere: isConfirmedThere)
        return [.send(PairingMessage.confirm.encoded)] + introduceIfConfirmed()
    }

    /// This device's user says no. Too late once both users have confirmed.
    public mutating func refuse() -> [Event] {
        giveUp(PairingFailure(.refusedHere, "the code was not confirmed on this device"), telling: .user)
    }

    /// This device's user goes away without an answer, or the agent stops. Too late once both users have confirmed.
    public mutating func interrupt() -> [Event] {
        giveUp(PairingFailure(.interruptedHere, "pairing was interrupted on this device"), telling: .interruption)
    }

    private mutating func giveUp(_ failure: PairingFailure, telling refusal: PairingRefusal) -> [Event] {
        switch phase {
        case .opening, .comparing: fail(failure, telling: refusal)
        case .closing, .ended: []
        }
    }

    /// Another device wants to pair: an attempt whose other end has said nothing ends, any other goes on.
    public mutating func giveWay() -> [Event] {
        guard isSilent else { return [] }
        return fail(PairingFailure(.linkEnded, "another device connected first"), telling: .busy)
    }

    /// The other device is stored durably.
    public mutating func stored() -> [Event] {
        guard case .storing(let introduction, let peer) = state else { return [] }
        switch peer {
        case .present:
            state = .awaitingDone(introduction)
            return [.send(PairingMessage.done.encoded)]
        case .done: return [.send(PairingMessage.done.encoded)] + end(.paired(introduction, isMutual: true))
        case .gone: return end(.paired(introduction, isMutual: false))
        }
    }

    /// The other device could not be stored.
    package mutating func storingFailed(_ reason: Phrase) -> [Event] {
        guard case .storing = state else { return [] }
        return fail(PairingFailure(.notStoredHere, reason), telling: .storage)
    }

    /// The time limit of the phase is over.
    public mutating func expire() -> [Event] {
        switch state {
        case .ended: return []
        case .storing, .awaitingDone: return loseThePeer(PairingFailure(.timeout, ""))
        case .idle, .awaitingCommitment, .awaitingNonce, .awaitingReveal, .comparing, .awaitingIntroduction:
            return fail(PairingFailure(.timeout, "pairing timed out; start again on both devices"), telling: .time)
        }
    }

    /// The link has ended, by whichever side.
    public mutating func linkEnded() -> [Event] {
        loseThePeer(
            PairingFailure(
                .linkEnded,
                "the connection to the other device was lost before both had confirmed; start again on both devices"))
    }

    // MARK: what comes from the other end

    /// Takes bytes as they come, in pieces of any size.
    public mutating func receive(_ bytes: some Sequence<UInt8>) -> [Event] {
        guard isListening else { return [] }
        reader.append(bytes)
        var events: [Event] = []
        while isListening {
            do throws(PairingFailure) {
                guard let message = try reader.next() else { break }
                events += receive(message)
            } catch {
                events += breakOff(error)
            }
        }
        return events
    }

    /// Whether anything that the other end may still say matters.
    private var isListening: Bool {
        switch state {
        case .storing(_, peer: .done), .storing(_, peer: .gone), .ended: false
        default: true
        }
    }

    private mutating func receive(_ message: PairingMessage) -> [Event] {
        if case .refuse(let refusal) = message { return loseThePeer(PairingFailure(refusal)) }
        switch (state, message) {
        case (.awaitingCommitment, .commit(let commitment, let isKnownThere)):
            let answer = Event.send(PairingMessage.nonce(nonce, knowsPeer: knowsPeer).encoded)
            guard !(knowsPeer && isKnownThere) else { return [answer] + end(.alreadyPaired) }
            state = .awaitingReveal(commitment)
            hasTakenRisk = true
            return [answer]
        case (.awaitingNonce, .nonce(let responderNonce, let isKnownThere)):
            guard !(knowsPeer && isKnownThere) else { return end(.alreadyPaired) }
            hasTakenRisk = true
            return [.send(PairingMessage.reveal(nonce).encoded)]
                + compare(initiatorNonce: nonce, responderNonce: responderNonce)
        case (.awaitingReveal(let commitment), .reveal(let initiatorNonce)):
            let expected = PairingTranscript.commitment(
                initiator: initiator, responder: responder, initiatorNonce: initiatorNonce)
            guard expected == commitment else {
                return breakOff(
                    PairingFailure(
                        .brokenCommitment,
                        "the other device broke its commitment; somebody may be intercepting "
                            + "the connection"))
            }
            return compare(initiatorNonce: initiatorNonce, responderNonce: nonce)
        case (.comparing(let code, let isConfirmedHere, isConfirmedThere: false), .confirm):
            state = .comparing(code, isConfirmedHere: isConfirmedHere, isConfirmedThere: true)
            return [.peerConfirmed] + introduceIfConfirmed()
        case (.awaitingIntroduction, .introduce(let introduction)):
            state = .storing(introduction, peer: .present)
            return [.store(introduction)]
        case (.storing(let introduction, peer: .present), .done):
            state = .storing(introduction, peer: .done)
            return []
        case (.awaitingDone(let introduction), .done):
            return end(.paired(introduction, isMutual: true))
        default:
            return breakOff(
                PairingFailure(.wrongOrder, "the other device sent an unexpected pairing message"))
        }
    }

    // MARK: -

    private mutating func compare(initiatorNonce: PairingNonce, responderNonce: PairingNonce) -> [Event] {
        let code = PairingTranscript.code(
            initiator: initiator, responder: responder, initiatorNonce: initiatorNonce,
            responderNonce: responderNonce, count: codeCount)
        state = .comparing(code, isConfirmedHere: false, isConfirmedThere: false)
        return [.compare(code)]
    }

    private mutating func introduceIfConfirmed() -> [Event] {
        guard case .comparing(_, isConfirmedHere: true, isConfirmedThere: true) = state else { return [] }
        state = .awaitingIntroduction
        return [.send(PairingMessage.introduce(introduction).encoded)]
    }

    /// The peer has sent something wrong: it is told so and nothing more of it is wanted.
    private mutating func breakOff(_ failure: PairingFailure) -> [Event] {
        switch state {
        case .storing, .awaitingDone: return loseThePeer(failure)
        default: return fail(failure, telling: .mistake)
        }
    }

    /// No more will come from the other end. What is stored, or is being stored, stays: both users have confirmed it.
    private mutating func loseThePeer(_ failure: PairingFailure) -> [Event] {
        switch state {
        case .ended: return []
        case .storing(_, peer: .done): return []
        case .storing(let introduction, _):
            state = .storing(introduction, peer: .gone)
            return []
        case .awaitingDone(let introduction): return end(.paired(introduction, isMutual: false))
        default: return end(.failed(failure))
        }
    }

    private mutating func fail(_ failure: PairingFailure, telling refusal: PairingRefusal) -> [Event] {
        [.send(refusal.message)] + end(.failed(failure))
    }

    private mutating func end(_ outcome: PairingOutcome) -> [Event] {
        state = .ended
        reader = PairingMessageReader()
        return [.end(outcome)]
    }
}
