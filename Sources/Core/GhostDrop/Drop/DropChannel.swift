/// What a transfer tells the one who drives it.
public enum DropEvent: Equatable, Sendable {
    /// The user has to compare this code with the peer's, and `answerCode` to be called. Nothing of the file moves before
    /// both users have said yes.
    case compare(code: String)
    /// Receiver: the user has to accept or decline the file.
    case offer(DropMetadata)
    /// This many bytes of the file have arrived, from its beginning on.
    case progress(byteCount: Int)
    /// Receiver: bytes to write at this offset; pieces come in order.
    case piece(offset: Int, bytes: [UInt8])
    /// Receiver: all pieces came. The SHA-256 of the whole file has to be compared with the one announced, and
    /// `answerDigest` to be called.
    case checkDigest
    case finished
    /// The transfer is over. Frames may still be due, which tell the peer.
    case failed(GhostDropError)
}

/// What both ends of a v1 transfer have: keys, frames to send, events to tell, and a deadline.
struct DropChannel: Sendable {
    let role: DropRole
    private(set) var keys: DropKeys?
    private var outgoing: RecordProtection?
    private var incoming: RecordProtection?
    private var nextSealed: UInt64 = 0
    private var nextOpened: UInt64 = 0

    private var frames = Queue<DropFrame>()
    private var events = Queue<DropEvent>()
    private(set) var isOver = false
    /// When the peer, or the user, will have been waited for long enough, and for what.
    private(set) var deadline: (time: Duration, what: String)?

    init(role: DropRole) { self.role = role }

    mutating func agree(on keys: DropKeys) throws(GhostDropError) {
        outgoing = try keys.protection(of: role)
        incoming = try keys.protection(of: role == .sender ? .receiver : .sender)
        self.keys = keys
    }

    mutating func send(_ frame: DropFrame) { frames.append(frame) }

    /// Sends a control frame inside `encrypted`.
    mutating func sendSealed(_ frame: DropFrame) throws(GhostDropError) {
        guard let outgoing else { throw Self.tooEarly }
        frames.append(.encrypted(sequence: nextSealed, combined: try outgoing.seal(frame.bytes, sequence: nextSealed)))
        nextSealed += 1
    }

    /// The frame inside `encrypted`; its number has to be greater than those before, so none can be played again.
    mutating func open(_ sequence: UInt64, _ combined: [UInt8]) throws(GhostDropError) -> DropFrame {
        guard let incoming, sequence >= nextOpened, sequence < .max else { throw Self.tooEarly }
        let frame = try DropFrame(parsing: incoming.open(combined, sequence: sequence))
        // bounded: less than the largest number here
        nextOpened = sequence + 1
        return frame
    }

    func seal(chunk: [UInt8], sequence: UInt64) throws(GhostDropError) -> [UInt8] {
        guard let outgoing else { throw Self.tooEarly }
        return try outgoing.seal(chunk, sequence: sequence)
    }

    func open(chunk: [UInt8], sequence: UInt64) throws(GhostDropError) -> [UInt8] {
        guard let incoming else { throw Self.tooEarly }
        return try incoming.open(chunk, sequence: sequence)
    }

    private static let tooEarly = GhostDropError(
        .unexpectedFrame, "the other side sent encrypted data at the wrong time; start the transfer again")

    static func unexpected(_ what: String) -> GhostDropError {
        GhostDropError(.unexpectedFrame, "the other side sent \(what) at the wrong time; start the transfer again")
    }

    mutating func nextFrame() -> DropFrame? { frames.removeFirst(1).first }

    mutating func tell(_ event: DropEvent) { events.append(event) }

    mutating func nextEvent() -> DropEvent? { events.removeFirst(1).first }

    mutating func wait(until time: Duration, for what: String) { deadline = (time, what) }

    mutating func stopWaiting() { deadline = nil }

    /// Whether something was waited for in vain.
    func timeout(at now: Duration) -> GhostDropError? {
        guard !isOver, let deadline, deadline.time <= now else { return nil }
        return GhostDropError(
            .timedOut, "\(deadline.what) took too long; check that both devices are nearby and awake, then try again")
    }

    mutating func finish() {
        guard !isOver else { return }
        isOver = true
        deadline = nil
        events.append(.finished)
    }

    /// Ends the transfer; tells the peer unless it was the peer that ended it.
    mutating func fail(_ error: GhostDropError, tellsPeer: Bool = true) {
        guard !isOver else { return }
        isOver = true
        deadline = nil
        events.append(.failed(error))
        guard tellsPeer else { return }
        let reason = DropFrame.cancel(reason: error.code.rawValue)
        // Before there are keys nothing can be sealed. What cannot be sealed for want of memory need not be said.
        if outgoing == nil { frames.append(reason) } else { try? sendSealed(reason) }
    }
}
