import Cryptography

/// The receiving end of a GhostDrop v1 transfer (the BLE peripheral), without clock, radio or disk.
///
/// Driven as `DropSender` is. Holds at most as many pieces that came before their turn as the window has. Accepts nothing
/// before the user has confirmed the code. What comes of the file before the user has accepted it is held, up to a window,
/// and not acknowledged; what is not held the sender has to repeat.
///
/// v1's `resume` with 0 reads both as "nothing" and as "the first piece", and a sender may skip the first piece for it.
/// So it is sent only by who has two pieces or more.
public struct DropReceiver: DropMachine, Sendable {
    /// What is random.
    public struct Identity: Sendable {
        public var privateKey: P256PrivateKey
        /// 16 bytes.
        public var nonce: [UInt8]

        public init(privateKey: P256PrivateKey, nonce: [UInt8]) {
            self.privateKey = privateKey
            self.nonce = nonce
        }
    }

    private enum Phase: Equatable {
        case waiting
        /// Keys are agreed on; the sender has still to say what it sees.
        case greeted
        case comparing(own: Bool, peer: Bool)
        /// The sender may announce the file.
        case confirmed
        case offered(DropMetadata)
        case receiving(DropMetadata)
        case checking(DropMetadata)
        case over
    }

    private static let greetingLimit = Duration.seconds(30)
    private static let userLimit = Duration.seconds(120)
    private static let stallLimit = Duration.seconds(60)
    private static let acknowledgementDelay = Duration.milliseconds(100)
    /// Bytes that are held while the user has not answered.
    private static let heldByteLimit = 1 << 20
    /// A piece is not asked for again earlier.
    private static let repeatDelay = Duration.milliseconds(500)

    private let identity: Identity
    private let capabilities: Capabilities
    private var channel = DropChannel(role: .receiver)
    private var phase = Phase.waiting
    /// The sender's device; nil before it said hello.
    public private(set) var peerID: UniqueID?
    private var windowLimit = 1
    private var next: UInt64 = 0
    private var top: UInt64 = 0
    private var ahead: [UInt64: [UInt8]] = [:]
    private var unacknowledged = 0
    private var acknowledgeAt: Duration?
    private var askedAt: [UInt64: Duration] = [:]
    private var isSenderDone = false
    public private(set) var wasEndedByPeer = false

    public init(identity: Identity, capabilities: Capabilities) {
        self.identity = identity
        self.capabilities = capabilities
    }

    // MARK: what goes out

    /// The next thing to do or to show; nil: nothing for now.
    public mutating func nextEvent() -> DropEvent? { channel.nextEvent() }

    /// What to send now; nil: nothing before `nextDeadline` or the next call of another function.
    public mutating func nextFrame(at now: Duration) -> DropFrame? {
        advance(to: now)
        if let frame = channel.nextFrame() { return frame }
        guard let due = acknowledgeAt, due <= now else { return nil }
        return acknowledgement(at: now)
    }

    /// Lets time pass, so that what takes too long ends.
    public mutating func advance(to now: Duration) {
        if let error = channel.timeout(at: now) { end(error) }
    }

    /// When to call `nextFrame` though nothing happened.
    public var nextDeadline: Duration? { [channel.deadline?.time, acknowledgeAt].compactMap { $0 }.min() }

    // MARK: what the user says

    /// The user says whether the codes are the same.
    public mutating func answerCode(_ areEqual: Bool, at now: Duration) {
        guard case .comparing(_, let peer) = phase else { return }
        channel.send(.verifyAck(accepted: areEqual))
        guard areEqual else {
            return end(GhostDropError(.declined, "the codes differ; nothing was received"), tellsPeer: false)
        }
        phase = .comparing(own: true, peer: peer)
        channel.wait(until: now + Self.userLimit, for: "the answer of the other user")
        confirmIfBothAgree(at: now)
    }

    /// The user takes the file.
    ///
    /// - Parameter byteCount: how many bytes from the file's beginning are here already, from an earlier attempt with the
    ///   same digest; whole pieces of them are not wanted again. They come back as `progress`, not as `piece`.
    public mutating func accept(resumingAfter byteCount: Int = 0, at now: Duration) {
        guard case .offered(let metadata) = phase else { return }
        let present = metadata.resumableByteCount(of: byteCount)
        if present > 0 {
            next = UInt64(present / metadata.chunkSize)
            top = max(top, next)
            ahead = ahead.filter { $0.key >= next }
            channel.send(.resume(transferID: metadata.transferID, lastConfirmed: next - 1))
            channel.tell(.progress(byteCount: present))
        }
        phase = .receiving(metadata)
        channel.wait(until: now + Self.stallLimit, for: "the next piece of the file")
        if !ahead.isEmpty { acknowledgeAt = now }
        deliver(metadata)
        completeIfAllArrived(metadata, at: now)
    }

    /// The user does not want the file, or wants no more of it.
    public mutating func cancel() {
        end(GhostDropError(.declined, "the transfer was declined on this device; nothing was kept"))
    }

    /// Ends the transfer for a reason of this side's own, which the sender is told.
    public mutating func fail(_ error: GhostDropError) { end(error) }

    /// The link has gone: nothing more comes.
    public mutating func linkEnded() {
        switch phase {
        // With all pieces here, what is left is this side's own business. An empty file has none, and may still be offered.
        case .checking: break
        case .offered(let metadata) where isSenderDone && metadata.chunkCount == 0: break
        case .receiving(let metadata) where next == UInt64(metadata.chunkCount):
            isSenderDone = true
            completeIfAllArrived(metadata, at: .zero)
        default: endedByPeer(.linkLost)
        }
    }

    /// Whether the file that was written has the announced digest (`checkDigest`).
    public mutating func answerDigest(_ isEqual: Bool) {
        guard case .checking = phase else { return }
        guard isEqual else {
            return end(
                GhostDropError(
                    .digestDiffers, "the received file differs from the announced one; send it again"))
        }
        phase = .over
        channel.finish()
    }

    // MARK: what comes in

    /// Takes a frame that arrived.
    public mutating func receive(_ frame: DropFrame, at now: Duration) {
        guard phase != .over else { return }
        do throws(GhostDropError) { try take(frame, at: now) } catch { end(error) }
    }

    private mutating func take(_ frame: DropFrame, at now: Duration) throws(GhostDropError) {
        switch (frame, phase) {
        case (.hello(let hello), .waiting): try greeted(hello, at: now)
        case (.verify(let hash, let code), .greeted):
            guard let keys = channel.keys, hash == keys.transcriptHash, code == keys.code else {
                throw GhostDropError(
                    .codesDiffer,
                    "the two devices see different keys: somebody may be intercepting the connection; try again elsewhere"
                )
            }
            phase = .comparing(own: false, peer: false)
            channel.tell(.compare(code: code))
            channel.wait(until: now + Self.userLimit, for: "the comparison of the codes")
        case (.verifyAck(let accepted), .comparing(let own, _)):
            guard accepted else {
                return endedByPeer(
                    GhostDropError(.declined, "the other user said that the codes differ, or no"))
            }
            phase = .comparing(own: own, peer: true)
            confirmIfBothAgree(at: now)
        case (.encrypted(let sequence, let combined), _):
            guard peerHasConfirmed else { throw DropChannel.unexpected("a sealed frame") }
            try takeSealed(channel.open(sequence, combined), at: now)
        case (.data(let sequence, let payload), .receiving(let metadata)):
            try takePiece(sequence, payload, metadata, at: now)
        // It has all been said; perhaps that got lost.
        case (.data, .checking): acknowledgeAt = now
        // The sender does not wait for the user here.
        case (.data(let sequence, let payload), .offered(let metadata)): try hold(sequence, payload, metadata)
        case (.data, .confirmed), (.ping, _): break
        case (.cancel(let reason), _): endedByPeer(.toldByPeer(reason))
        default: throw DropChannel.unexpected("a frame")
        }
    }

    /// Sealed frames come after the codes were compared, except that the sender may give up meanwhile.
    private var peerHasConfirmed: Bool {
        switch phase {
        case .comparing, .confirmed, .offered, .receiving, .checking: true
        case .waiting, .greeted, .over: false
        }
    }

    private mutating func takeSealed(_ frame: DropFrame, at now: Duration) throws(GhostDropError) {
        switch (frame, phase) {
        case (.cancel(let reason), _): endedByPeer(.toldByPeer(reason))
        case (.metadata(let metadata), .confirmed):
            phase = .offered(metadata)
            channel.tell(.offer(metadata))
            channel.wait(until: now + Self.userLimit, for: "your answer")
        case (.complete(let id, let sha256), .receiving(let metadata)),
            (.complete(let id, let sha256), .offered(let metadata)):
            guard id == metadata.transferID, sha256 == metadata.sha256 else {
                throw DropChannel.unexpected("the end of another file")
            }
            isSenderDone = true
            // An empty file is complete before the user has answered.
            if phase == .receiving(metadata) { completeIfAllArrived(metadata, at: now) }
        case (.ping, _): break
        default: throw DropChannel.unexpected("a sealed frame")
        }
    }

    private mutating func greeted(_ hello: DropFrame.Hello, at now: Duration) throws(GhostDropError) {
        let keys = try DropKeys(
            sessionID: hello.sessionID, privateKey: identity.privateKey, nonce: identity.nonce,
            peerKey: hello.publicKey, peerNonce: hello.nonce)
        try channel.agree(on: keys)
        peerID = hello.deviceID
        windowLimit = min(capabilities.maxWindow, hello.capabilities.maxWindow, 1024)
        channel.send(
            .helloAck(
                DropFrame.HelloAck(
                    sessionID: hello.sessionID, publicKey: identity.privateKey.publicKey, nonce: identity.nonce)))
        phase = .greeted
        channel.wait(until: now + Self.greetingLimit, for: "the other side's code")
    }

    private mutating func confirmIfBothAgree(at now: Duration) {
        guard phase == .comparing(own: true, peer: true) else { return }
        phase = .confirmed
        channel.wait(until: now + Self.greetingLimit, for: "the announcement of the file")
    }

    private mutating func takePiece(
        _ sequence: UInt64, _ payload: [UInt8], _ metadata: DropMetadata, at now: Duration
    ) throws(GhostDropError) {
        guard let range = metadata.range(ofChunk: sequence) else {
            throw DropChannel.unexpected("a piece beyond the end")
        }
        let isKnown = sequence < next || ahead[sequence] != nil
        if !isKnown {
            // No sender is further ahead than its window; beyond it nothing is held.
            // bounded: less than the number of pieces, and not before `next` where they are compared
            guard sequence - next < UInt64(windowLimit) else { return }
            let bytes = try channel.open(chunk: payload, sequence: sequence)
            guard bytes.count == range.count else { throw DropChannel.unexpected("a piece of another length") }
            ahead[sequence] = bytes
            // bounded: less than the number of pieces, and not before `next` where they are compared
            top = max(top, sequence + 1)
            askedAt[sequence] = nil
            deliver(metadata)
            channel.wait(until: now + Self.stallLimit, for: "the next piece of the file")
        }
        unacknowledged += 1
        let isUrgent =
            isKnown || next < top || next == UInt64(metadata.chunkCount)
            || unacknowledged >= min(8, max(1, windowLimit / 2))
        acknowledgeAt =
            isUrgent ? now : min(acknowledgeAt ?? now + Self.acknowledgementDelay, now + Self.acknowledgementDelay)
        completeIfAllArrived(metadata, at: now)
    }

    /// Keeps a piece that came before the user's answer.
    private mutating func hold(
        _ sequence: UInt64, _ payload: [UInt8], _ metadata: DropMetadata
    ) throws(GhostDropError) {
        guard let range = metadata.range(ofChunk: sequence) else {
            throw DropChannel.unexpected("a piece beyond the end")
        }
        let held = ahead.values.reduce(0) { $0 + $1.count }
        guard sequence < UInt64(windowLimit), ahead[sequence] == nil, held + range.count <= Self.heldByteLimit else {
            return
        }
        let bytes = try channel.open(chunk: payload, sequence: sequence)
        guard bytes.count == range.count else { throw DropChannel.unexpected("a piece of another length") }
        ahead[sequence] = bytes
        // bounded: less than the number of pieces, and not before `next` where they are compared
        top = max(top, sequence + 1)
    }

    /// Tells the pieces whose turn it is.
    private mutating func deliver(_ metadata: DropMetadata) {
        while let bytes = ahead.removeValue(forKey: next), let range = metadata.range(ofChunk: next) {
            channel.tell(.piece(offset: range.lowerBound, bytes: bytes))
            channel.tell(.progress(byteCount: range.upperBound))
            next += 1
        }
    }

    private mutating func completeIfAllArrived(_ metadata: DropMetadata, at now: Duration) {
        guard isSenderDone, next == UInt64(metadata.chunkCount) else { return }
        phase = .checking(metadata)
        channel.stopWaiting()
        channel.tell(.checkDigest)
    }

    private mutating func acknowledgement(at now: Duration) -> DropFrame? {
        acknowledgeAt = nil
        unacknowledged = 0
        // Before the first piece nothing can be said: an acknowledgement of 0 would be one of that piece.
        guard next > 0 else { return nil }
        var missing: UInt64 = 0
        for bit in UInt64(0)..<64 {
            let sequence = next + bit
            guard sequence < top else { break }
            guard ahead[sequence] == nil, askedAt[sequence].map({ now - $0 >= Self.repeatDelay }) ?? true else {
                continue
            }
            askedAt[sequence] = now
            missing |= 1 << bit
        }
        return .ack(cumulative: next - 1, missing: missing)
    }

    private mutating func endedByPeer(_ error: GhostDropError) {
        wasEndedByPeer = true
        end(error, tellsPeer: false)
    }

    private mutating func end(_ error: GhostDropError, tellsPeer: Bool = true) {
        phase = .over
        ahead = [:]
        acknowledgeAt = nil
        channel.fail(error, tellsPeer: tellsPeer)
    }
}
