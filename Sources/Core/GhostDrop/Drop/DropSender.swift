import Cryptography

/// The sending end of a GhostDrop v1 transfer (the BLE central), without clock, radio or disk.
///
/// How to drive it: after each call, and when `nextDeadline` has come, do what `nextEvent` tells, read the part of the
/// file that `nextPiece` names and `provide` it, and send what `nextFrame` gives, each until it gives nil; pass what
/// arrives to `receive`. Of the file it holds only what is not acknowledged. Times do not go back.
///
/// v1's receivers say `resume` with 0 both when they have nothing and when they have the first piece; 0 is taken for
/// nothing here, and the first piece is always sent. Any other number is believed only where pieces arrive in order
/// (L2CAP), for v1 counts the last piece that it saw, also beyond a gap; and of a synctrain, which counts up to the gap.
///
/// A receiver may drop what comes before its user has accepted the file, and then count over the gap. So the first piece
/// goes alone and is repeated, on L2CAP too, until something is heard of it.
public struct DropSender: DropMachine, Sendable {
    /// The file as it is announced.
    public struct File: Sendable, Hashable {
        public var name: String
        /// In bytes.
        public var size: Int
        public var mimeType: String
        /// 32 bytes.
        public var sha256: [UInt8]

        public init(name: String, size: Int, mimeType: String, sha256: [UInt8]) {
            self.name = name
            self.size = size
            self.mimeType = mimeType
            self.sha256 = sha256
        }
    }

    /// What is random, or this device's.
    public struct Identity: Sendable {
        public var deviceID: UniqueID
        public var sessionID: UniqueID
        public var transferID: UniqueID
        public var privateKey: P256PrivateKey
        /// 16 bytes.
        public var nonce: [UInt8]

        public init(
            deviceID: UniqueID, sessionID: UniqueID, transferID: UniqueID, privateKey: P256PrivateKey, nonce: [UInt8]
        ) {
            self.deviceID = deviceID
            self.sessionID = sessionID
            self.transferID = transferID
            self.privateKey = privateKey
            self.nonce = nonce
        }
    }

    /// A part of the file.
    public struct Piece: Sendable, Hashable {
        public var sequence: UInt64
        public var range: Range<Int>
    }

    private enum Phase: Equatable {
        case greeting
        case comparing(own: Bool, peer: Bool)
        /// The peer may say what it has.
        case announced(until: Duration)
        case sending
        /// All is acknowledged and said; the receiver may still say that it has got another file than announced.
        case completed(until: Duration)
        case over
    }

    private static let greetingLimit = Duration.seconds(30)
    private static let userLimit = Duration.seconds(120)
    private static let resumeLimit = Duration.seconds(1)
    private static let stallLimit = Duration.seconds(60)
    /// A v1 receiver says nothing when all is well, and does not end the link.
    private static let objectionLimit = Duration.seconds(3)
    private static let firstTimeout = Duration.seconds(2)
    private static let greatestTimeout = Duration.seconds(16)

    public let metadata: DropMetadata
    private let identity: Identity
    private let isOrdered: Bool
    private let believesResume: Bool
    /// Whether the receiver has said anything of the pieces.
    private var isHeard = false
    public private(set) var wasEndedByPeer = false
    private var channel = DropChannel(role: .sender)
    private var phase = Phase.greeting
    private var window: SlidingWindow
    /// Sealed pieces that are not acknowledged.
    private var sealed: [UInt64: [UInt8]] = [:]
    private var toSend = Queue<UInt64>()
    private var queued: Set<UInt64> = []
    private var next: UInt64 = 0
    private var confirmedCount = 0
    private var timeout = firstTimeout

    /// - Parameters:
    ///   - peer: what the receiver's capabilities characteristic says.
    ///   - isOrdered: nothing gets lost or overtaken on the way (L2CAP).
    public init(
        file: File, identity: Identity, capabilities: Capabilities, peer: Capabilities, isOrdered: Bool,
        at now: Duration
    ) {
        self.identity = identity
        self.isOrdered = isOrdered
        believesResume = isOrdered || peer.protocolVersion >= Capabilities.synctrainVersion
        metadata = DropMetadata(
            transferID: identity.transferID, filename: file.name, size: file.size, mimeType: file.mimeType,
            sha256: file.sha256, chunkSize: min(capabilities.maxChunk, peer.maxChunk))
        window = SlidingWindow(limit: min(capabilities.maxWindow, peer.maxWindow, 1024))
        // This is a session of version 1, whatever else this device speaks.
        var spoken = capabilities
        spoken.protocolVersion = 1
        channel.send(
            .hello(
                DropFrame.Hello(
                    sessionID: identity.sessionID, deviceID: identity.deviceID,
                    publicKey: identity.privateKey.publicKey, nonce: identity.nonce, capabilities: spoken)))
        channel.wait(until: now + Self.greetingLimit, for: "the other side's greeting")
    }

    // MARK: what goes out

    /// The next thing to do or to show; nil: nothing for now.
    public mutating func nextEvent() -> DropEvent? { channel.nextEvent() }

    /// What to send now; nil: nothing before `nextDeadline` or the next call of another function.
    public mutating func nextFrame(at now: Duration) -> DropFrame? {
        advance(to: now)
        if let frame = channel.nextFrame() { return frame }
        guard phase == .sending else { return nil }
        while let sequence = toSend.removeFirst(1).first {
            queued.remove(sequence)
            guard let payload = sealed[sequence] else { continue }
            window.sent(sequence, at: now)
            return .data(sequence: sequence, payload: payload)
        }
        return nil
    }

    /// When to call `nextFrame` though nothing happened.
    public var nextDeadline: Duration? {
        var deadlines = [channel.deadline?.time].compactMap { $0 }
        if case .announced(let time) = phase { deadlines.append(time) }
        if case .completed(let time) = phase { deadlines.append(time) }
        if phase == .sending, repeats, let time = window.nextDeadline(timeout: timeout) { deadlines.append(time) }
        return deadlines.min()
    }

    /// Whether pieces that nothing is heard of are sent again.
    private var repeats: Bool { !isOrdered || !isHeard }

    /// The part of the file to `provide` next; nil if none is wanted now.
    public mutating func nextPiece(at now: Duration) -> Piece? {
        advance(to: now)
        return wantedPiece
    }

    private var wantedPiece: Piece? {
        guard phase == .sending, sealed.count < (isHeard ? window.limit : 1), let range = metadata.range(ofChunk: next)
        else {
            return nil
        }
        return Piece(sequence: next, range: range)
    }

    /// Takes the bytes of `nextPiece`; ends the transfer if they are not as many as announced.
    public mutating func provide(_ bytes: [UInt8], at now: Duration) {
        guard let piece = wantedPiece else { return }
        guard bytes.count == piece.range.count else {
            return end(GhostDropError(.fileChanged, "the file changed while it was being sent; send it again"))
        }
        do throws(GhostDropError) {
            sealed[next] = try channel.seal(chunk: bytes, sequence: next)
            enqueue(next)
            next += 1
        } catch {
            end(error)
        }
    }

    private mutating func enqueue(_ sequence: UInt64) {
        guard sealed[sequence] != nil, queued.insert(sequence).inserted else { return }
        toSend.append(sequence)
    }

    /// Lets time pass, so that what takes too long ends.
    public mutating func advance(to now: Duration) {
        if let error = channel.timeout(at: now) { return end(error) }
        if case .announced(let time) = phase, time <= now { begin(at: now) }
        if case .completed(let time) = phase, time <= now { return finish() }
        guard phase == .sending, repeats else { return }
        let overdue = window.overdue(at: now, timeout: timeout).filter { !queued.contains($0) }
        guard !overdue.isEmpty else { return }
        // Twice as patient each time nothing came back: else a slow link is filled with copies.
        timeout = min(timeout * 2, Self.greatestTimeout)
        for sequence in overdue { enqueue(sequence) }
    }

    // MARK: what comes in

    /// The user says whether the codes are the same.
    public mutating func answerCode(_ areEqual: Bool, at now: Duration) {
        guard case .comparing(_, let peer) = phase else { return }
        channel.send(.verifyAck(accepted: areEqual))
        guard areEqual else {
            return end(GhostDropError(.declined, "the codes differ; nothing was sent"), tellsPeer: false)
        }
        phase = .comparing(own: true, peer: peer)
        channel.wait(until: now + Self.userLimit, for: "the answer of the other user")
        announceIfConfirmed(at: now)
    }

    /// Ends the transfer.
    public mutating func cancel() {
        end(GhostDropError(.declined, "the transfer was cancelled here"))
    }

    /// Ends the transfer for a reason of this side's own, which the receiver is told.
    public mutating func fail(_ error: GhostDropError) { end(error) }

    /// The link has gone: nothing more comes.
    public mutating func linkEnded() {
        // The receiver ends the link when it has the file.
        if case .completed = phase { finish() } else { endedByPeer(.linkLost) }
    }

    /// Takes a frame that arrived.
    public mutating func receive(_ frame: DropFrame, at now: Duration) {
        guard phase != .over else { return }
        do throws(GhostDropError) { try take(frame, at: now) } catch { end(error) }
    }

    private mutating func take(_ frame: DropFrame, at now: Duration) throws(GhostDropError) {
        switch (frame, phase) {
        case (.helloAck(let hello), .greeting): try greeted(hello, at: now)
        case (.verifyAck(let accepted), .comparing(let own, _)):
            guard accepted else {
                return endedByPeer(
                    GhostDropError(.declined, "the other user said that the codes differ, or no"))
            }
            phase = .comparing(own: own, peer: true)
            announceIfConfirmed(at: now)
        case (.resume(let id, let lastConfirmed), .announced), (.resume(let id, let lastConfirmed), .sending):
            guard id == metadata.transferID else { throw DropChannel.unexpected("the number of another transfer") }
            if believesResume, lastConfirmed > 0, lastConfirmed >= next, metadata.range(ofChunk: lastConfirmed) != nil {
                next = lastConfirmed + 1
                isHeard = true
                sealed = [:]
                _ = window.acknowledge(cumulative: lastConfirmed, missing: 0)
            } else if phase == .sending {
                // It came late, and tells nothing new.
                return
            }
            begin(at: now)
        case (.ack(let cumulative, let missing), .sending): acknowledged(cumulative, missing, at: now)
        case (.encrypted(let sequence, let combined), _):
            let inner = try channel.open(sequence, combined)
            guard case .cancel(let reason) = inner else { throw DropChannel.unexpected("a sealed frame") }
            endedByPeer(.toldByPeer(reason))
        case (.cancel(let reason), _):
            // In the clear it can be anybody's, but so can a jammed radio: it stops, and harms nothing else.
            endedByPeer(.toldByPeer(reason))
        case (.ping, _), (.ack, .announced), (.ack, .completed), (.resume, .completed): break
        default: throw DropChannel.unexpected("a frame")
        }
    }

    private mutating func finish() {
        phase = .over
        channel.finish()
    }

    private mutating func greeted(_ hello: DropFrame.HelloAck, at now: Duration) throws(GhostDropError) {
        guard hello.sessionID == identity.sessionID else {
            throw DropChannel.unexpected("the greeting of another session")
        }
        let keys = try DropKeys(
            sessionID: identity.sessionID, privateKey: identity.privateKey, nonce: identity.nonce,
            peerKey: hello.publicKey, peerNonce: hello.nonce)
        try channel.agree(on: keys)
        channel.send(.verify(transcriptHash: keys.transcriptHash, code: keys.code))
        channel.tell(.compare(code: keys.code))
        channel.wait(until: now + Self.userLimit, for: "the comparison of the codes")
        phase = .comparing(own: false, peer: false)
    }

    private mutating func announceIfConfirmed(at now: Duration) {
        guard phase == .comparing(own: true, peer: true) else { return }
        do throws(GhostDropError) { try channel.sendSealed(.metadata(metadata)) } catch { return end(error) }
        phase = .announced(until: now + Self.resumeLimit)
        channel.wait(until: now + Self.stallLimit, for: "the other side's acknowledgement")
    }

    private mutating func begin(at now: Duration) {
        phase = .sending
        confirm(upTo: next, at: now)
    }

    private mutating func acknowledged(_ cumulative: UInt64, _ missing: UInt64, at now: Duration) {
        // Of what was not sent it says nothing, except where the receiver has more than this side believes (`resume`).
        guard next > 0, cumulative < next || !isOrdered else { return }
        let cumulative = min(cumulative, next - 1)
        isHeard = true
        for sequence in window.acknowledge(cumulative: cumulative, missing: missing) { enqueue(sequence) }
        let before = sealed.count
        sealed = sealed.filter { $0.key > cumulative }
        guard sealed.count < before else { return }
        timeout = Self.firstTimeout
        confirm(upTo: cumulative + 1, at: now)
    }

    private mutating func confirm(upTo sequence: UInt64, at now: Duration) {
        let count = metadata.range(ofChunk: sequence)?.lowerBound ?? metadata.size
        if count > confirmedCount {
            confirmedCount = count
            channel.tell(.progress(byteCount: count))
        }
        // Until the first acknowledgement it is a person who is waited for.
        channel.wait(
            until: now + (isHeard ? Self.stallLimit : Self.userLimit), for: "the other side's acknowledgement")
        guard sealed.isEmpty, metadata.range(ofChunk: next) == nil else { return }
        do throws(GhostDropError) {
            try channel.sendSealed(.complete(transferID: metadata.transferID, sha256: metadata.sha256))
            // Of an empty file nothing is acknowledged: the receiver's user may not have answered yet.
            phase = .completed(until: now + (isHeard ? Self.objectionLimit : Self.userLimit))
            channel.stopWaiting()
        } catch {
            end(error)
        }
    }

    private mutating func endedByPeer(_ error: GhostDropError) {
        wasEndedByPeer = true
        end(error, tellsPeer: false)
    }

    private mutating func end(_ error: GhostDropError, tellsPeer: Bool = true) {
        phase = .over
        sealed = [:]
        channel.fail(error, tellsPeer: tellsPeer)
    }
}
