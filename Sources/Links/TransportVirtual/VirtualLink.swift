import NIOCore

/// One Bluetooth LE connection as a value: frames go in with the time they are handed to a controller, and come out at
/// the other side with the time they arrive. Knows no clock and no socket.
///
/// At each connection event central and peripheral send a packet in turn, each of at most 251 bytes, until neither has
/// more or the next event comes. A packet that arrives broken, or whose acknowledgement does, is sent again (one-bit
/// sequence numbers, Core Specification 5.3, Vol 6, Part B, 4.5.9), and two broken ones in a row end the event: so
/// loss costs time, and never a byte of a frame. What the hosts do to GATT packets comes on top of it.
package struct VirtualLink: Sendable {
    package enum Side: Int, Sendable, CaseIterable {
        /// The device that dialled.
        case central
        case peripheral

        package var other: Side { self == .central ? .peripheral : .central }
    }

    /// Why a connection is no more.
    package enum End: String, Sendable {
        /// Lost after a set number of bytes, or by order.
        case cut
        /// Nothing was heard for the supervision timeout.
        case supervisionTimeout
        /// Ended by one of the devices.
        case closed
    }

    package struct Arrival: Sendable, Equatable {
        package var side: Side
        package var time: Duration
        package var frame: LinkFrame
    }

    /// A packet each way, with what will become of them.
    private struct Exchange {
        var central: Packet
        var peripheral: Packet
        var end: Duration
    }

    private struct Packet {
        var byteCount: Int
        var isHeard: Bool
    }

    package private(set) var conditions: RadioConditions
    package private(set) var end: End?
    /// What each side has sent.
    package private(set) var statistics: [DirectionStatistics] = [.init(), .init()]
    /// When the first connection event was, or the first one after the interval has changed.
    private var anchor: Duration
    private var outgoing = [PacketQueue(), PacketQueue()]
    /// When the next exchange begins; nil while both sides have nothing to send.
    private var nextStart: Duration?
    /// Exchanges since the connection event began.
    private var exchangesInEvent = 0
    private var exchange: Exchange?
    private var arriving: [Arrival] = []
    private var lastArrival: [Duration]
    private var carriedByteCount = 0
    private var outOfRangeSince: Duration?
    private var lastHeard: Duration
    private var hasCorrupted = false
    private var chance: RadioChance

    /// - Parameter start: the time of the first connection event. All times are on the same scale.
    package init(_ conditions: RadioConditions, seed: UInt64, start: Duration) {
        self.conditions = conditions
        chance = RadioChance(seed: seed)
        anchor = start
        lastArrival = [start, start]
        lastHeard = start
    }

    package func statistics(of side: Side) -> DirectionStatistics { statistics[side.rawValue] }

    /// Bytes of frames that wait for the radio at `side`.
    package func waitingByteCount(at side: Side) -> Int { outgoing[side.rawValue].byteCount }

    /// Hands a frame to the controller of `side`; ignored when the connection is no more.
    package mutating func send(_ frame: LinkFrame, from side: Side, at now: Duration) {
        guard end == nil else { return }
        outgoing[side.rawValue].append(frame)
        if nextStart == nil, exchange == nil {
            nextStart = eventStart(atOrAfter: now)
            exchangesInEvent = 0
            lastHeard = now
        }
    }

    /// When `advance` has something to do; nil while there is nothing under way.
    package var nextDeadline: Duration? {
        guard end == nil else { return nil }
        let candidates = [
            exchange?.end ?? nextStart, arriving.first?.time,
            outOfRangeSince.map { $0 + conditions.supervisionTimeout },
        ]
        return candidates.compactMap { $0 }.min()
    }

    /// Lets time pass until something arrives, at most until `now`, and gives what arrives at that moment. To be called
    /// again while `nextDeadline` is not after `now`, so that a frame can be answered at the time it came.
    package mutating func advance(to now: Duration) -> [Arrival] {
        while end == nil, let deadline = nextDeadline, deadline <= now, arriving.first?.time != deadline {
            if let since = outOfRangeSince, since + conditions.supervisionTimeout == deadline {
                finish(.supervisionTimeout)
            } else if let exchange, exchange.end == deadline {
                complete(exchange)
            } else {
                begin(at: deadline)
            }
        }
        guard let time = arriving.first?.time, time <= now else { return [] }
        let count = arriving.prefix { $0.time <= time }.count
        defer { arriving.removeFirst(count) }
        return Array(arriving.prefix(count))
    }

    /// Takes up other conditions; frames that wait stay.
    package mutating func change(_ conditions: RadioConditions, at now: Duration) {
        if conditions.connectionInterval != self.conditions.connectionInterval { anchor = now }
        self.conditions = conditions
        if exchange == nil, let start = nextStart { nextStart = eventStart(atOrAfter: max(now, start)) }
    }

    /// Walks out of range or back.
    package mutating func setInRange(_ isInRange: Bool, at now: Duration) {
        outOfRangeSince = isInRange ? nil : outOfRangeSince ?? now
    }

    /// Ends the connection; frames that have not arrived are lost.
    package mutating func finish(_ reason: End) {
        guard end == nil else { return }
        end = reason
        exchange = nil
        nextStart = nil
        arriving = []
        outgoing = [PacketQueue(), PacketQueue()]
    }

    // MARK: the link layer

    private mutating func begin(at start: Duration) {
        nextStart = nil
        let isInRange = outOfRangeSince == nil
        let isCentralHeard = isInRange && !chance.happens(conditions.loss)
        let isPeripheralHeard = isInRange && !chance.happens(conditions.loss)
        // The central's packet carries the acknowledgement of the peripheral's last one.
        if isCentralHeard { outgoing[Side.peripheral.rawValue].settle() }
        let central = outgoing[Side.central.rawValue].nextPacketByteCount
        let peripheral = outgoing[Side.peripheral.rawValue].nextPacketByteCount
        let airtime = nextAirtime
        count(central, .central)
        count(peripheral, .peripheral)
        exchange = Exchange(
            central: Packet(byteCount: central, isHeard: isCentralHeard),
            peripheral: Packet(byteCount: peripheral, isHeard: isPeripheralHeard), end: start + airtime)
    }

    /// Of a packet each way.
    private var nextAirtime: Duration {
        outgoing.reduce(RadioConditions.interFrameSpace * 2) {
            $0 + conditions.phy.airtime(ofPayload: $1.nextPacketByteCount)
        }
    }

    private mutating func count(_ byteCount: Int, _ side: Side) {
        statistics[side.rawValue].airBytes += byteCount + conditions.phy.packetOverhead
        if byteCount == 0 {
            statistics[side.rawValue].emptyPackets += 1
        } else {
            statistics[side.rawValue].packets += 1
            if outgoing[side.rawValue].noteSent() { statistics[side.rawValue].repeatedPackets += 1 }
        }
    }

    private mutating func complete(_ exchange: Exchange) {
        self.exchange = nil
        exchangesInEvent += 1
        if exchange.central.isHeard || exchange.peripheral.isHeard {
            lastHeard = exchange.end
        } else if exchange.end - lastHeard >= conditions.supervisionTimeout {
            return finish(.supervisionTimeout)
        }
        if exchange.central.isHeard { receive(exchange.central.byteCount, from: .central, at: exchange.end) }
        if end == nil, exchange.peripheral.isHeard {
            // It says whether the peripheral has the central's packet, be it from this exchange or an earlier one.
            outgoing[Side.central.rawValue].settle()
            receive(exchange.peripheral.byteCount, from: .peripheral, at: exchange.end)
        }
        guard end == nil, !outgoing.allSatisfy(\.isEmpty) else { return }
        let isBroken = !exchange.central.isHeard && !exchange.peripheral.isHeard
        let isFull = conditions.packetsPerEvent.map { exchangesInEvent >= $0 } ?? false
        let nextEvent = eventStart(atOrAfter: exchange.end)
        if isBroken || isFull || exchange.end + nextAirtime > nextEvent {
            nextStart = nextEvent
            exchangesInEvent = 0
        } else {
            nextStart = exchange.end
        }
    }

    private mutating func receive(_ byteCount: Int, from side: Side, at time: Duration) {
        guard byteCount > 0 else { return }
        switch outgoing[side.rawValue].receive() {
        case .repetition: return
        case .part: break
        case .frame(let frame): arrive(frame, at: side.other, time)
        }
        statistics[side.rawValue].frameBytes += byteCount
        carriedByteCount += byteCount
        if let limit = conditions.breakAfter, carriedByteCount >= limit { finish(.cut) }
    }

    /// The start of the first connection event at or after `time`.
    private func eventStart(atOrAfter time: Duration) -> Duration {
        let interval = max(conditions.connectionInterval, .milliseconds(1))
        guard time > anchor else { return anchor }
        let count = (time - anchor).nanoseconds / interval.nanoseconds
        let before = anchor + interval * count
        return before == time ? time : before + interval
    }

    // MARK: the hosts

    private mutating func arrive(_ frame: LinkFrame, at side: Side, _ time: Duration) {
        var arrival = Arrival(side: side, time: time + conditions.delay, frame: frame)
        let sender = side.other.rawValue
        if frame.isDatagram {
            if conditions.corruptsFirstWrite, side == .peripheral, !hasCorrupted {
                hasCorrupted = true
                corrupt(&arrival.frame)
            }
            if chance.happens(conditions.datagramLoss) {
                statistics[sender].droppedDatagrams += 1
                return
            }
            if chance.happens(conditions.datagramReordering) {
                statistics[sender].reorderedDatagrams += 1
                let late = Int64.random(in: 1...2_000, using: &chance)
                arrival.time += conditions.connectionInterval * 2 * Double(late) / 2_000
                return insert(arrival)
            }
        }
        // A smaller delay than before lets nothing overtake.
        arrival.time = max(arrival.time, lastArrival[side.rawValue])
        lastArrival[side.rawValue] = arrival.time
        insert(arrival)
    }

    private mutating func corrupt(_ frame: inout LinkFrame) {
        var bytes = Array(frame.payload.readableBytesView)
        for index in bytes.indices { bytes[index] ^= UInt8.random(in: 1...255, using: &chance) }
        frame.payload = ByteBuffer(bytes: bytes)
    }

    private mutating func insert(_ arrival: Arrival) {
        let index = arriving.lastIndex { $0.time <= arrival.time }.map { $0 + 1 } ?? 0
        arriving.insert(arrival, at: index)
    }
}

/// The frames that one side has to send, and how far the packets of the first one are.
private struct PacketQueue: Sendable {
    private var frames = CircularBuffer<LinkFrame>()
    /// Bytes of the first frame that were acknowledged.
    private var offset = 0
    /// Whether the packet under way was sent before, and whether the other side has it and this one has not heard so.
    private var isSent = false
    private var isReceived = false
    private(set) var byteCount = 0

    var isEmpty: Bool { frames.isEmpty }

    /// Zero for an empty packet.
    var nextPacketByteCount: Int {
        frames.first.map { min(RadioConditions.packetLimit, $0.byteCount - offset) } ?? 0
    }

    mutating func append(_ frame: LinkFrame) {
        frames.append(frame)
        byteCount += frame.byteCount
    }

    /// Whether the packet was sent before.
    mutating func noteSent() -> Bool {
        defer { isSent = true }
        return isSent
    }

    /// What the other side has got with the packet under way.
    enum Reception {
        /// It had the packet already.
        case repetition
        case part
        /// The last part of this frame.
        case frame(LinkFrame)
    }

    mutating func receive() -> Reception {
        guard !isReceived, let frame = frames.first else { return .repetition }
        isReceived = true
        return offset + nextPacketByteCount == frame.byteCount ? .frame(frame) : .part
    }

    /// This side hears that the other one has what it has.
    mutating func settle() {
        guard isReceived, let frame = frames.first else { return }
        let count = nextPacketByteCount
        offset += count
        byteCount -= count
        isSent = false
        isReceived = false
        if offset == frame.byteCount {
            frames.removeFirst()
            offset = 0
        }
    }
}

extension Duration {
    /// Rounded towards zero; clamped to what 64 bits hold, which are 292 years.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflows) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isTooLarge || overflows ? (seconds < 0 ? .min : .max) : sum
    }
}
