/// One direction of a GATT stream at its receiving end: puts packets in order, holds what was not read, and says when
/// and what to acknowledge.
///
/// Holds at most `limit` bytes, in order or not: the window never promises more. Without a gap it promises less, for what
/// is urgent waits behind all that was not read; what arrived behind a gap has the link behind it.
struct ReceiveHalf: Sendable {
    /// Bytes that may be under way or unread while nothing is missing.
    static let orderlyLimit = 48 << 10

    enum Arrival: Equatable {
        case new
        case duplicate
        /// Beyond the window that the peer was given.
        case beyondWindow
        /// No packet that the peer may send.
        case invalid
    }

    private let limit: Int
    private let payloadLimit: Int
    private let windowLimit: Int

    /// The first number that has not arrived.
    private(set) var next = 0
    /// The first number after all that have arrived.
    private var top = 0
    private var last: Int?
    /// What arrived before its turn, by number modulo the greatest window; empty until something does.
    private var ahead: [[UInt8]?] = []
    private var unread = Queue<UInt8>()

    private var unacknowledged = 0
    private var lastArrival: Nanoseconds?
    /// Time between packets, smoothed.
    private var spacing: Nanoseconds = 0
    private(set) var acknowledgeAt: Nanoseconds?
    private var promised = 0
    private var duplicates: UInt8 = 0
    private var inquiryToAnswer: UInt8 = 0

    /// `payloadLimit`: the longest payload that the peer said it would send.
    init(limit: Int, payloadLimit: Int) {
        self.limit = max(limit, 8 * payloadLimit)
        self.payloadLimit = payloadLimit
        windowLimit = min(StreamPacket.greatestWindow, self.limit / payloadLimit)
        promised = packets(self.limit)
    }

    /// Packets from `next` on that are kept.
    private var room: Int { min(windowLimit, max(0, limit - unread.count) / payloadLimit) }

    /// Packets from `next` on that the peer is told there is room for.
    private var window: Int { top > next ? room : min(room, packets(limit - unread.count)) }

    /// How many packets have so many bytes, of those at most that may be there without a gap.
    private func packets(_ byteCount: Int) -> Int {
        max(0, byteCount - max(0, limit - Self.orderlyLimit)) / payloadLimit
    }

    var readableCount: Int { unread.count }

    /// Everything up to the peer's last byte has arrived.
    var isComplete: Bool { last.map { next > $0 } ?? false }

    private static func slot(_ sequence: Int) -> Int { sequence & (StreamPacket.greatestWindow - 1) }

    mutating func accept(
        _ sequence: Int, payload: ArraySlice<UInt8>, isLast: Bool, wantsAnswer: Bool, at now: Nanoseconds
    ) -> Arrival {
        let arrival = store(sequence, payload: payload, isLast: isLast)
        guard arrival != .invalid else { return arrival }
        if arrival == .duplicate { duplicates &+= 1 }
        unacknowledged += 1
        if let lastArrival {
            let interval = min(max(0, now - lastArrival), RoundTrip.greatestAcknowledgementDelay)
            spacing += (interval - spacing) / 8
        }
        lastArrival = now
        if wantsAnswer || isLast || unacknowledged >= packetsPerAcknowledgement {
            acknowledgeAt = now
        } else {
            acknowledgeAt = min(acknowledgeAt ?? .max, now + acknowledgementDelay)
        }
        return arrival
    }

    /// Long enough for eight packets at the pace at which they come, so that a slow link does not carry an acknowledgement
    /// for each; short where something is missing, which the sender is to hear of.
    private var acknowledgementDelay: Nanoseconds {
        if hasGap { return RoundTrip.leastAcknowledgementDelay / 2 }
        return min(max(RoundTrip.leastAcknowledgementDelay, 8 * spacing), RoundTrip.greatestAcknowledgementDelay)
    }

    /// Whether more is missing than packets that overtook each other on bluetoothd's three bearers, which happens all the
    /// time: of that the sender needs no word, as it waits itself for what is late.
    private var hasGap: Bool { top - next > 2 }

    /// In order, eight packets share an acknowledgement. With a gap, four, but so many that their bytes are eight times
    /// those of the bitmap.
    private var packetsPerAcknowledgement: Int {
        guard hasGap else { return 8 }
        return max(4, (top - next) / payloadLimit)
    }

    private mutating func store(_ sequence: Int, payload: ArraySlice<UInt8>, isLast: Bool) -> Arrival {
        guard payload.count <= payloadLimit, isLast || !payload.isEmpty else { return .invalid }
        if let last, sequence > last || isLast && sequence != last { return .invalid }
        // bounded: a number of 13 bits, extended near the next one
        if isLast, top > sequence + 1 { return .invalid }
        guard sequence >= next else { return .duplicate }
        // bounded: a number of 13 bits, extended near the next one
        guard sequence - next < room else { return .beyondWindow }
        if isLast { last = sequence }
        if sequence == next {
            unread.append(contentsOf: payload)
            next += 1
            while next < top, let payload = ahead[Self.slot(next)] {
                unread.append(contentsOf: payload)
                ahead[Self.slot(next)] = nil
                next += 1
            }
        } else {
            if ahead.isEmpty { ahead = Array(repeating: nil, count: StreamPacket.greatestWindow) }
            guard ahead[Self.slot(sequence)] == nil else { return .duplicate }
            ahead[Self.slot(sequence)] = Array(payload)
        }
        // bounded: a number of 13 bits, extended near the next one
        top = max(top, sequence + 1)
        return .new
    }

    mutating func read(maximum: Int, at now: Nanoseconds) -> [UInt8] {
        let bytes = unread.removeFirst(maximum)
        // A sender that was stopped, or is about to be, hears of the room; not of every byte of it.
        if !bytes.isEmpty, !isComplete, next + window - promised >= packets(limit) / 2 { acknowledgeAt = now }
        return bytes
    }

    /// The peer asks what has arrived.
    mutating func answer(inquiry: UInt8, at now: Nanoseconds) {
        inquiryToAnswer = inquiry
        acknowledgeAt = now
    }

    mutating func acknowledgeNow(_ now: Nanoseconds) { acknowledgeAt = now }

    /// What to acknowledge with, in at most `maximum` bytes; the bytes of an inquiry if `inquiry` is given, which leaves
    /// an answer that is due for the next packet.
    mutating func acknowledgement(maximum: Int, inquiry: UInt8? = nil) -> AcknowledgementBody {
        unacknowledged = 0
        promised = max(promised, next + window)
        if inquiry == nil || inquiryToAnswer == 0 { acknowledgeAt = nil }
        defer { if inquiry == nil { inquiryToAnswer = 0 } }
        return AcknowledgementBody(
            inquiry: inquiry ?? inquiryToAnswer, window: window, duplicates: duplicates,
            bitmap: bitmap(maximum: maximum - AcknowledgementBody.leastByteCount))
    }

    private func bitmap(maximum: Int) -> [UInt8] {
        guard top > next + 1 else { return [] }
        let bitCount = min(top - next - 1, max(0, maximum) * 8)
        var bitmap = [UInt8](repeating: 0, count: (bitCount + 7) / 8)
        for bit in 0..<bitCount where ahead[Self.slot(next + 1 + bit)] != nil { bitmap[bit / 8] |= 1 << (bit % 8) }
        return bitmap
    }
}
