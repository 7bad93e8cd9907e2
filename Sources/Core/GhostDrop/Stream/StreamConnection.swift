/// Both directions of an open GATT stream as one of its sides has them.
struct StreamConnection: Sendable {
    var sender: SendHalf
    var receiver: ReceiveHalf
    let peerToken: UInt32
    private let maximumPacket: Int
    private let outgoingKey: StreamPacket.Key
    private let incomingKey: StreamPacket.Key
    /// When the first opening packet of another connection came since the peer's last packet of this one.
    private(set) var replacementSince: Nanoseconds?
    private var mustInquire = false
    /// When this side stops answering a peer that may not know yet that all has arrived.
    private var lingerUntil: Nanoseconds?

    init(
        sender: SendHalf, receiver: ReceiveHalf, maximumPacket: Int, role: GATTStream.Role, token: UInt32,
        peerToken: UInt32
    ) {
        self.sender = sender
        self.receiver = receiver
        self.maximumPacket = maximumPacket
        self.peerToken = peerToken
        let (central, peripheral) = role == .central ? (token, peerToken) : (peerToken, token)
        outgoingKey = StreamPacket.Key(centralToken: central, peripheralToken: peripheral, sender: role)
        incomingKey = StreamPacket.Key(
            centralToken: central, peripheralToken: peripheral, sender: role == .central ? .peripheral : .central)
    }

    /// Everything of both directions, the ends included, has arrived.
    var isComplete: Bool { sender.isComplete && receiver.isComplete }

    // MARK: what arrives

    /// Takes a data or acknowledgement packet; false if it is none of this connection.
    mutating func take(
        _ packet: [UInt8], _ header: StreamPacket.Header, at now: Nanoseconds, statistics: inout GATTStream.Statistics
    ) -> Bool {
        switch header.kind {
        case .control: return false
        case .acknowledgement:
            guard let sequence = header.sequence(near: sender.confirmedSequence),
                StreamPacket.isValid(packet, sequence: sequence, key: incomingKey),
                sequence <= sender.nextSequence, let body = AcknowledgementBody(packet: packet)
            else { return false }
            sender.acknowledge(sequence, body: body, isInquiry: header.wantsAnswer, at: now)
            if header.wantsAnswer { receiver.answer(inquiry: body.inquiry, at: now) }
        case .data, .lastData:
            guard let sequence = header.sequence(near: receiver.next),
                StreamPacket.isValid(packet, sequence: sequence, key: incomingKey)
            else { return false }
            let arrival = receiver.accept(
                sequence, payload: packet[StreamPacket.headerByteCount...], isLast: header.kind == .lastData,
                wantsAnswer: header.wantsAnswer, at: now)
            guard arrival != .invalid else { return false }
            if arrival == .duplicate { statistics.duplicatePackets += 1 }
        }
        sender.heard()
        replacementSince = nil
        if isComplete, lingerUntil == nil {
            lingerUntil = now + min(max(.milliseconds(1000), 4 * sender.roundTrip.timeout), .milliseconds(4000))
        }
        return true
    }

    /// Notes that the central opens another connection; true if this one has been silent since it first did.
    mutating func isReplaced(at now: Nanoseconds) -> Bool {
        guard let replacementSince else {
            // It may be a late copy from an earlier connection. The peer is asked; if this connection lives, it answers.
            replacementSince = now
            mustInquire = true
            return false
        }
        return now - replacementSince >= .milliseconds(300)
    }

    // MARK: what goes out

    mutating func nextPacket(at now: Nanoseconds, statistics: inout GATTStream.Statistics) -> [UInt8]? {
        sender.detectDueLosses(at: now)
        if let due = receiver.acknowledgeAt, due <= now {
            statistics.acknowledgements += 1
            return acknowledgement(inquiry: nil)
        }
        if mustInquire {
            mustInquire = false
            statistics.inquiries += 1
            return acknowledgement(inquiry: sender.inquire(at: now))
        }
        if let inquiry = sender.nextInquiry(at: now) {
            statistics.inquiries += 1
            return acknowledgement(inquiry: inquiry)
        }
        guard let segment = sender.nextSegment(at: now) else { return nil }
        if segment.isRepeated { statistics.repeatedPackets += 1 }
        return StreamPacket.encode(
            segment.isLast ? .lastData : .data, sequence: segment.sequence, wantsAnswer: segment.wantsAnswer,
            rest: segment.payload, key: outgoingKey)
    }

    private mutating func acknowledgement(inquiry: UInt8?) -> [UInt8] {
        let body = receiver.acknowledgement(
            maximum: maximumPacket - StreamPacket.headerByteCount, inquiry: inquiry)
        return StreamPacket.encode(
            .acknowledgement, sequence: receiver.next, wantsAnswer: inquiry != nil, rest: body.bytes, key: outgoingKey)
    }

    /// When `nextPacket` or the checks below are due though nothing arrives.
    func nextDeadline(silenceLimit: Nanoseconds) -> Nanoseconds? {
        var deadline = sender.nextDeadline
        for other in [receiver.acknowledgeAt, lingerUntil, sender.askingSince.map { $0 + silenceLimit }] {
            if let other { deadline = min(deadline ?? other, other) }
        }
        return deadline
    }

    /// Whether the peer has answered nothing for `limit`.
    func isSilent(for limit: Nanoseconds, at now: Nanoseconds) -> Bool {
        sender.askingSince.map { now - $0 >= limit } ?? false
    }

    /// Whether there is nothing left to say.
    func hasLingered(at now: Nanoseconds) -> Bool { lingerUntil.map { $0 <= now } ?? false }
}
