/// Cuts frames into GATT packets of v1: `GD`, frame number (4), fragment (2), fragments (2), flags (1), payload.
public struct DropPacketizer: Sendable {
    static let magic = Array("GD".utf8)
    static let headerByteCount = 11

    private var nextFrame: UInt32 = 1

    public init() {}

    /// The packets of `frame`, each of at most `maximumPacket` bytes; each call, a repetition too, takes a new number.
    ///
    /// Throws `tooLarge` if packets that short cannot carry the frame.
    public mutating func packets(_ frame: DropFrame, maximumPacket: Int) throws(GhostDropError) -> [[UInt8]] {
        let bytes = frame.bytes
        let payloadLimit = maximumPacket - Self.headerByteCount
        guard payloadLimit > 0, (bytes.count + payloadLimit - 1) / payloadLimit <= Int(UInt16.max) else {
            throw GhostDropError(.tooLarge, "packets of \(maximumPacket) bytes cannot carry a frame of \(bytes.count)")
        }
        let count = UInt16((bytes.count + payloadLimit - 1) / payloadLimit)
        let number = nextFrame
        nextFrame = nextFrame == .max ? 1 : nextFrame + 1
        return (0..<count).map { index in
            var packet = Self.magic
            withUnsafeBytes(of: number.bigEndian) { packet.append(contentsOf: $0) }
            withUnsafeBytes(of: index.bigEndian) { packet.append(contentsOf: $0) }
            withUnsafeBytes(of: count.bigEndian) { packet.append(contentsOf: $0) }
            packet.append(frame.isBulk ? 0 : 1)
            let start = Int(index) * payloadLimit
            packet.append(contentsOf: bytes[start..<min(start + payloadLimit, bytes.count)])
            return packet
        }
    }
}

/// Puts frames together from v1's GATT packets, in any order.
///
/// Holds at most 64 unfinished frames of 256 KiB together, each for ten seconds: the oldest go first.
public struct DropReassembler: Sendable {
    static let timeout = Duration.seconds(10)
    static let frameLimit = 64
    static let byteLimit = 256 << 10
    /// What a fragment costs besides its bytes.
    private static let fragmentCost = 64

    private struct Unfinished: Sendable {
        var number: UInt32
        var startedAt: Duration
        var fragmentCount: Int
        var fragments: [Int: [UInt8]] = [:]
        var cost = 0
    }

    /// In the order in which they began.
    private var unfinished: [Unfinished] = []

    public init() {}

    /// Takes a packet; the frame that it completes, if it does.
    ///
    /// Throws `malformed` for what is no packet, or completes no frame; the next packets may be taken all the same.
    public mutating func receive(_ packet: [UInt8], at now: Duration) throws(GhostDropError) -> DropFrame? {
        guard let bytes = try assemble(packet, at: now) else { return nil }
        return try DropFrame(parsing: bytes)
    }

    /// As `receive`, but gives what the packets put together carry without reading it.
    mutating func assemble(_ packet: [UInt8], at now: Duration) throws(GhostDropError) -> [UInt8]? {
        unfinished.removeAll { now - $0.startedAt >= Self.timeout }
        let header = DropPacketizer.headerByteCount
        guard packet.count >= header, packet.starts(with: DropPacketizer.magic) else {
            throw .malformed("an invalid GhostDrop v1 packet")
        }
        func integer(_ range: Range<Int>) -> Int { packet[range].reduce(0) { $0 << 8 | Int($1) } }
        let number = UInt32(truncatingIfNeeded: integer(2..<6))
        let (index, count) = (integer(6..<8), integer(8..<10))
        guard index < count else { throw .malformed("a packet beyond the end of its frame") }
        let payload = Array(packet[header...])

        var frame =
            unfinished.firstIndex { $0.number == number }.map { unfinished.remove(at: $0) }
            ?? Unfinished(number: number, startedAt: now, fragmentCount: count)
        guard frame.fragmentCount == count else {
            throw .malformed("two packets of one frame that contradict each other")
        }
        if frame.fragments[index] == nil {
            frame.fragments[index] = payload
            frame.cost += payload.count + Self.fragmentCost
        }
        guard frame.fragments.count == count else {
            keep(frame)
            return nil
        }
        var bytes: [UInt8] = []
        for index in 0..<count { bytes += frame.fragments[index] ?? [] }
        return bytes
    }

    private mutating func keep(_ frame: Unfinished) {
        let position = unfinished.firstIndex { $0.startedAt > frame.startedAt } ?? unfinished.endIndex
        unfinished.insert(frame, at: position)
        var cost = unfinished.reduce(0) { $0 + $1.cost }
        while unfinished.count > Self.frameLimit || cost > Self.byteLimit {
            cost -= unfinished.removeFirst().cost
        }
    }
}
