// bounded-names: offset: an index of `outgoing`, checked where it comes from a peer

/// One direction of a GATT stream at its sending end: cuts bytes into packets, sends them, and sends those again that
/// were lost.
///
/// Nothing is sent twice on suspicion: a packet counts as lost only once something that was sent after it is known to
/// have arrived (a packet that was sent once only, or an inquiry), and time has been given for reordering. If nothing
/// comes back at all, not data but an inquiry of a few bytes goes out, further and further apart. So a link that is slow
/// all of a sudden is never filled with copies of what is under way.
struct SendHalf: Sendable {
    struct Segment {
        var sequence: Int
        var payload: [UInt8]
        var isLast: Bool
        var wantsAnswer: Bool
        var isRepeated: Bool
    }

    private enum Status { case inFlight, lost, confirmed }

    private struct Outgoing: Sendable {
        var payload: [UInt8]
        var isLast: Bool
        var status = Status.inFlight
        var isRepeated = false
        var sentAt: Nanoseconds
        /// Counts all transmissions of this direction, inquiries too.
        var ordinal: Int
        var snapshot: RateModel.Snapshot

        var byteCount: Int { payload.count + StreamPacket.headerByteCount }
    }

    /// The last sent of what is known to have arrived.
    private struct Evidence {
        var ordinal: Int
        var roundTrip: Nanoseconds
    }

    private let payloadLimit: Int
    private let unsentLimit: Int
    /// Packets that the peer's acknowledgements have room to speak of. No more are under way: of others nobody could say
    /// whether they were lost.
    private let reportLimit: Int

    private var unsent = Queue<UInt8>()
    private var outgoing = Queue<Outgoing>()
    /// The number of the first of `outgoing`.
    private var base = 0
    /// The first number that the peer has no room for.
    private var edge: Int
    private var isFinishing = false
    private var hasCutLast = false

    private var inFlight = 0
    private var lostCount = 0
    /// No lost packet is before this offset.
    private var firstLost = 0
    private var ordinal = 0
    private var evidence: Evidence?
    private var lossDeadline: Nanoseconds?
    private var reordering = Reordering()

    private(set) var roundTrip = RoundTrip()
    private(set) var rate: RateModel

    private var timerAt: Nanoseconds?
    private var backoff = 0
    /// When the first inquiry since the peer's last sign of life went out.
    private(set) var askingSince: Nanoseconds?
    /// Inquiries not answered yet, by number.
    private var inquiries: [UInt8: (sentAt: Nanoseconds, ordinal: Int)] = [:]
    private var lastInquiry: UInt8 = 0

    /// `peer`: what the peer said of itself when the connection was opened.
    init(
        maximumPacket: Int, peer: ControlPacket.Opening, unsentLimit: Int, windowLimit: Int,
        roundTrip sample: Nanoseconds?
    ) {
        payloadLimit = maximumPacket - StreamPacket.headerByteCount
        reportLimit =
            1 + 8 * (peer.maximumPacket - StreamPacket.headerByteCount - AcknowledgementBody.leastByteCount)
        self.unsentLimit = max(unsentLimit, payloadLimit)
        edge = peer.window
        rate = RateModel(packetByteCount: maximumPacket, windowLimit: windowLimit)
        if let sample { roundTrip.add(sample) }
    }

    // MARK: bytes in

    var writableCount: Int { isFinishing ? 0 : max(0, unsentLimit - unsent.count) }

    mutating func write(_ bytes: some Collection<UInt8>) -> Int {
        let count = min(writableCount, bytes.count)
        if unsent.isEmpty, lostCount == 0, rate.hasRoom(for: payloadLimit, inFlight: inFlight) {
            rate.ranDry(inFlight: inFlight)
        }
        unsent.append(contentsOf: bytes.prefix(count))
        return count
    }

    mutating func finish() { isFinishing = true }

    /// Everything, the end included, has arrived.
    var isComplete: Bool { hasCutLast && outgoing.isEmpty }

    /// Bytes that are not known to have arrived.
    var pendingCount: Int { unsent.count + inFlightPayloadCount }

    private var inFlightPayloadCount: Int {
        var count = 0
        // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
        for offset in 0..<outgoing.count where outgoing[offset].status != .confirmed {
            // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
            count += outgoing[offset].payload.count
        }
        return count
    }

    // MARK: packets out

    private var hasNew: Bool { (!unsent.isEmpty || isFinishing) && !hasCutLast }
    private var isPeerFull: Bool { base + outgoing.count >= edge || outgoing.count >= reportLimit }

    /// What to send now, lost packets first; nil if nothing may go.
    mutating func nextSegment(at now: Nanoseconds) -> Segment? {
        guard lostCount > 0 || hasNew else {
            rate.ranDry(inFlight: inFlight)
            return nil
        }
        guard rate.nextSend <= now else { return nil }
        var offset: Int
        if lostCount > 0 {
            offset = firstLost
            // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
            while outgoing[offset].status != .lost { offset += 1 }
            firstLost = offset
            // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
            guard rate.hasRoom(for: outgoing[offset].byteCount, inFlight: inFlight) else { return nil }
            lostCount -= 1
            // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
            outgoing[offset].isRepeated = true
            // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
            outgoing[offset].status = .inFlight
        } else {
            guard !isPeerFull else {
                rate.ranDry(inFlight: inFlight)
                if timerAt == nil { startTimer(now) }
                return nil
            }
            let count = min(unsent.count, payloadLimit)
            guard rate.hasRoom(for: count + StreamPacket.headerByteCount, inFlight: inFlight) else { return nil }
            let payload = unsent.removeFirst(count)
            hasCutLast = isFinishing && unsent.isEmpty
            offset = outgoing.count
            outgoing.append(
                Outgoing(
                    payload: payload, isLast: hasCutLast, sentAt: now, ordinal: 0,
                    snapshot: rate.sent(payload.count + StreamPacket.headerByteCount, inFlight: inFlight, at: now)))
        }
        // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
        if outgoing[offset].isRepeated {
            // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
            outgoing[offset].snapshot = rate.sent(outgoing[offset].byteCount, inFlight: inFlight, at: now)
            // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
            outgoing[offset].sentAt = now
        }
        ordinal += 1
        // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
        outgoing[offset].ordinal = ordinal
        // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
        inFlight += outgoing[offset].byteCount
        if timerAt == nil { startTimer(now) }
        // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
        let sent = outgoing[offset]
        return Segment(
            // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
            sequence: base + offset, payload: sent.payload, isLast: sent.isLast, wantsAnswer: !mayGoOn,
            isRepeated: sent.isRepeated)
    }

    /// Whether another packet may follow, as soon as the rate allows it, without an answer.
    private var mayGoOn: Bool {
        (lostCount > 0 || hasNew && !isPeerFull)
            && rate.hasRoom(for: payloadLimit + StreamPacket.headerByteCount, inFlight: inFlight)
    }

    /// The number to ask with if the peer has been silent for too long; it counts as asked.
    mutating func nextInquiry(at now: Nanoseconds) -> UInt8? {
        guard let due = timerAt, due <= now else { return nil }
        return inquire(at: now)
    }

    /// The number to ask with.
    mutating func inquire(at now: Nanoseconds) -> UInt8 {
        lastInquiry = lastInquiry % 15 + 1
        ordinal += 1
        inquiries[lastInquiry] = (now, ordinal)
        backoff = min(backoff + 1, 16)
        if askingSince == nil { askingSince = now }
        startTimer(now)
        return lastInquiry
    }

    private mutating func startTimer(_ now: Nanoseconds) {
        let timeout = roundTrip.timeout
        timerAt = now + max(timeout, min(timeout << Int64(backoff), RoundTrip.greatestInterval))
    }

    // MARK: what the peer says

    /// Something of this connection arrived.
    mutating func heard() { askingSince = nil }

    /// The number up to which everything that was sent has arrived.
    var confirmedSequence: Int { base }
    /// The first number not used.
    var nextSequence: Int { base + outgoing.count }

    /// `sequence`: the first that has not arrived; not beyond `nextSequence`.
    mutating func acknowledge(_ sequence: Int, body: AcknowledgementBody, isInquiry: Bool, at now: Nanoseconds) {
        // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
        edge = max(edge, sequence + body.window)
        var confirmed = Confirmed()
        // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
        for offset in 0..<max(0, min(sequence - base, outgoing.count)) { confirm(offset, &confirmed) }
        for (index, byte) in body.bitmap.enumerated() where byte != 0 {
            for bit in 0..<8 where byte & 1 << bit != 0 {
                // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
                let offset = sequence + 1 + index * 8 + bit - base
                if offset >= 0, offset < outgoing.count { confirm(offset, &confirmed) }
            }
        }
        if sequence > base {
            // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
            let count = min(sequence - base, outgoing.count)
            outgoing.dropFirst(count)
            base += count
            firstLost = max(0, firstLost - count)
        }
        if let newest = confirmed.newest {
            note(Evidence(ordinal: newest.ordinal, roundTrip: now - newest.sentAt))
            roundTrip.add(now - newest.sentAt)
        }
        var isAnswered = false
        if !isInquiry, body.inquiry != 0, let asked = inquiries.removeValue(forKey: body.inquiry) {
            isAnswered = true
            note(Evidence(ordinal: asked.ordinal, roundTrip: now - asked.sentAt))
            roundTrip.add(now - asked.sentAt)
        }
        reordering.note(duplicates: body.duplicates, wereEarly: confirmed.wereThoughtLost, at: now)
        if confirmed.byteCount > 0 || isAnswered {
            backoff = 0
            timerAt = nil
            if !outgoing.isEmpty || hasNew && isPeerFull { startTimer(now) }
        }
        detectLosses(at: now)
        if confirmed.byteCount > 0 {
            rate.confirmed(
                confirmed.byteCount, newest: confirmed.newest.map { ($0.snapshot, $0.sentAt) }, inFlight: inFlight,
                at: now)
        }
    }

    private struct Confirmed {
        var byteCount = 0
        var newest: Outgoing?
        var wereThoughtLost = false
    }

    private mutating func confirm(_ offset: Int, _ confirmed: inout Confirmed) {
        // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
        let packet = outgoing[offset]
        switch packet.status {
        case .confirmed: return
        case .lost:
            lostCount -= 1
            confirmed.wereThoughtLost = true
        case .inFlight: inFlight -= packet.byteCount
        }
        // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
        outgoing[offset].status = .confirmed
        confirmed.byteCount += packet.byteCount
        // Of a repeated packet nobody can say which copy arrived.
        if !packet.isRepeated, packet.ordinal > confirmed.newest?.ordinal ?? -1 { confirmed.newest = packet }
    }

    private mutating func note(_ new: Evidence) {
        if new.ordinal > evidence?.ordinal ?? -1 { evidence = new }
    }

    /// Finds the packets that must have been lost by `now`, and when to look again.
    mutating func detectLosses(at now: Nanoseconds) {
        lossDeadline = nil
        guard let evidence else { return }
        let patience = evidence.roundTrip + reordering.allowance(roundTrip: roundTrip.smoothed)
        for offset in 0..<outgoing.count {
            // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
            let packet = outgoing[offset]
            guard packet.status == .inFlight, packet.ordinal < evidence.ordinal else { continue }
            let deadline = packet.sentAt + patience
            if deadline <= now {
                // bounded: a number of 13 bits, extended near the next one; the window has 16 bits
                outgoing[offset].status = .lost
                inFlight -= packet.byteCount
                if lostCount == 0 || offset < firstLost { firstLost = offset }
                lostCount += 1
                rate.lost(packet.byteCount)
            } else {
                lossDeadline = min(lossDeadline ?? deadline, deadline)
            }
        }
    }

    /// Looks for losses if it is time to.
    mutating func detectDueLosses(at now: Nanoseconds) {
        if let lossDeadline, lossDeadline <= now { detectLosses(at: now) }
    }

    /// When to ask for packets again though nothing arrives.
    var nextDeadline: Nanoseconds? {
        var deadline = timerAt
        if let lossDeadline { deadline = min(deadline ?? lossDeadline, lossDeadline) }
        if mayGoOn { deadline = min(deadline ?? rate.nextSend, rate.nextSend) }
        return deadline
    }
}

/// How much later than its successors a packet may arrive before it counts as lost: a quarter of the round trip, more
/// where packets were seen to arrive after they had been given up.
private struct Reordering {
    private static let memory = Nanoseconds.milliseconds(10_000)
    private static let least = Nanoseconds.milliseconds(5)
    private static let greatestFactor: Int64 = 6

    private var factor: Int64 = 1
    private var changedAt: Nanoseconds = 0
    private var duplicates: UInt8 = 0

    /// `duplicates`: the peer's count of packets that came twice; `wereEarly`: some were confirmed just before they would
    /// have been sent again.
    mutating func note(duplicates count: UInt8, wereEarly: Bool, at now: Nanoseconds) {
        let more = count &- duplicates
        // An acknowledgement that was overtaken counts less.
        let isNewer = more > 0 && more < 128
        if isNewer { duplicates = count }
        if isNewer || wereEarly {
            factor = min(factor + 1, Self.greatestFactor)
            changedAt = now
        } else if factor > 1, now - changedAt > Self.memory {
            factor -= 1
            changedAt = now
        }
    }

    func allowance(roundTrip: Nanoseconds?) -> Nanoseconds {
        max(Self.least, (roundTrip ?? .milliseconds(200)) * factor / 4)
    }
}
