import SyncTestKit

@testable import GhostDrop

/// What one direction of a simulated link does to packets.
struct LinkConditions {
    /// Bytes a second; each packet costs its bytes and ATT's three.
    var rate = 100_000
    /// Until a packet has arrived, after its last byte went out.
    var delay = Duration.milliseconds(20)
    /// A packet takes up to this much longer, which reorders.
    var jitter = Duration.zero
    /// Shares of packets, in thousandths.
    var loss = 0
    var duplication = 0
    var truncation = 0
    var corruption = 0
    /// This many packets at the beginning arrive with other content.
    var corruptedFirst = 0
    /// Packets that wait to go out; more are not taken (the sender is told), or are lost if `dropsWhenFull`.
    var queueLimit = 16
    var dropsWhenFull = false
    /// Nothing gets through in this time.
    var outage: Range<Duration>?
    /// What would arrive in this time arrives at its end.
    var standstill: Range<Duration>?
}

/// One user of a stream: writes all of `outgoing`, then finishes; reads everything.
struct SimulatedUser {
    var outgoing: [UInt8] = []
    /// Reads at most this many bytes each `readInterval`; nil: all at once.
    var readCount: Int?
    var readInterval = Duration.milliseconds(50)
    var finishes = true
}

/// Two streams over a link with faults, in virtual time: same seed, same run.
struct SimulatedLink {
    enum Side: Int, CaseIterable { case central, peripheral }

    private enum Event {
        case arrival(Side, [UInt8])
        case transmitted(Side)
        case deadline(Side)
        case read(Side)
    }

    private struct Direction {
        var conditions: LinkConditions
        var busyUntil = Duration.zero
        var waiting = 0
        var packets = 0
        var bytes = 0
    }

    private(set) var streams: [GATTStream]
    private(set) var received: [[UInt8]] = [[], []]
    private(set) var now = Duration.zero
    /// When the last byte of each side's data was read by the other.
    private(set) var completedAt: [Duration?] = [nil, nil]
    /// The most bytes of each side that were written and not read by the other.
    private(set) var mostUnderWay = [0, 0]
    /// The most bytes of each side that were written and had not arrived, as far as it knew.
    private(set) var mostUnconfirmed = [0, 0]
    private(set) var steps = 0
    private var users: [SimulatedUser]
    private var written = [0, 0]
    private var directions: [Direction]
    private var deadlines: [Duration?] = [nil, nil]
    private var readAt: [Duration?] = [nil, nil]
    private var events = EventQueue<Event>()
    private var random: SeededGenerator

    init(
        seed: UInt64, central: SimulatedUser, peripheral: SimulatedUser, toPeripheral: LinkConditions,
        toCentral: LinkConditions, maximumPackets: (Int, Int) = (244, 244),
        configuration: GATTStream.Configuration = .init()
    ) {
        random = SeededGenerator(seed: seed)
        streams = [
            GATTStream(
                role: .central, maximumPacket: maximumPackets.0,
                token: UInt32.random(in: .min ... .max, using: &random),
                configuration: configuration),
            GATTStream(
                role: .peripheral, maximumPacket: maximumPackets.1,
                token: UInt32.random(in: .min ... .max, using: &random), configuration: configuration),
        ]
        users = [central, peripheral]
        directions = [Direction(conditions: toPeripheral), Direction(conditions: toCentral)]
    }

    /// Bytes that went out in both directions, ATT's three for each packet included.
    var linkBytes: Int { directions[0].bytes + directions[1].bytes }

    /// Runs until both sides are closed, nothing is left to happen, or `limit`.
    mutating func run(until limit: Duration, stopWhenRead: Bool = false) {
        for side in Side.allCases { pump(side) }
        while let (time, event) = events.popFirst(), time <= limit {
            now = time
            steps += 1
            switch event {
            case .arrival(let side, let packet):
                streams[side.rawValue].receive(packet, at: now)
                pump(side)
            case .transmitted(let side):
                directions[side.rawValue].waiting -= 1
                pump(side)
            case .deadline(let side):
                guard deadlines[side.rawValue] == time else { continue }
                deadlines[side.rawValue] = nil
                pump(side)
            case .read(let side):
                readAt[side.rawValue] = nil
                take(side)
                pump(side)
            }
            if stopWhenRead, Side.allCases.allSatisfy({ isComplete($0) }) { return }
            if streams.allSatisfy({ if case .closed = $0.state { $0.readableCount == 0 } else { false } }) { return }
        }
    }

    /// All that `side` wrote has been read.
    func isComplete(_ side: Side) -> Bool { received[1 - side.rawValue].count == users[side.rawValue].outgoing.count }

    private mutating func take(_ side: Side) {
        let index = side.rawValue
        received[index] += streams[index].read(maximum: users[index].readCount ?? .max)
        let other = 1 - index
        if completedAt[other] == nil, isComplete(side == .central ? .peripheral : .central) { completedAt[other] = now }
    }

    private mutating func pump(_ side: Side) {
        let index = side.rawValue
        if users[index].readCount == nil {
            take(side)
        } else if streams[index].readableCount > 0, readAt[index] == nil {
            let time = now + users[index].readInterval
            readAt[index] = time
            events.insert(.read(side), at: time)
        }
        while written[index] < users[index].outgoing.count {
            let count = streams[index].write(users[index].outgoing[written[index]...].prefix(4096))
            guard count > 0 else { break }
            written[index] += count
        }
        mostUnconfirmed[index] = max(mostUnconfirmed[index], streams[index].unconfirmedCount)
        mostUnderWay[index] = max(mostUnderWay[index], written[index] - received[1 - index].count)
        if written[index] == users[index].outgoing.count, users[index].finishes { streams[index].finish() }
        while directions[index].conditions.dropsWhenFull
            || directions[index].waiting < directions[index].conditions.queueLimit
        {
            guard let packet = streams[index].nextPacket(at: now) else {
                if let deadline = streams[index].nextDeadline, deadline != deadlines[index] {
                    deadlines[index] = max(deadline, now)
                    events.insert(.deadline(side), at: max(deadline, now))
                }
                return
            }
            transmit(packet, from: side)
        }
    }

    private mutating func transmit(_ packet: [UInt8], from side: Side) {
        let index = side.rawValue
        let conditions = directions[index].conditions
        guard directions[index].waiting < conditions.queueLimit else { return }
        directions[index].packets += 1
        directions[index].bytes += packet.count + 3
        let seconds = Double(packet.count + 3) / Double(conditions.rate)
        let end = max(now, directions[index].busyUntil) + .nanoseconds(Int64(seconds * 1e9))
        directions[index].busyUntil = end
        directions[index].waiting += 1
        events.insert(.transmitted(side), at: end)
        if let outage = conditions.outage, outage.contains(end) { return }
        var packet = packet
        if random.int(1...1000) <= conditions.loss { return }
        if directions[index].packets <= conditions.corruptedFirst || random.int(1...1000) <= conditions.corruption {
            for position in packet.indices { packet[position] = UInt8(random.int(0...255)) }
        }
        if random.int(1...1000) <= conditions.truncation { packet.removeLast(random.int(1...packet.count)) }
        for _ in 0..<(random.int(1...1000) <= conditions.duplication ? 2 : 1) {
            let jitter = Int64(random.int(0...Int(conditions.jitter / .microseconds(1))))
            var time = end + conditions.delay + .microseconds(jitter)
            if let standstill = conditions.standstill, standstill.contains(time) { time = standstill.upperBound }
            events.insert(.arrival(side == .central ? .peripheral : .central, packet), at: time)
        }
    }
}

/// Events by time; those of one time in the order in which they were inserted.
struct EventQueue<Event> {
    private var heap: [(time: Duration, number: Int, event: Event)] = []
    private var count = 0

    var nextTime: Duration? { heap.first?.time }

    mutating func insert(_ event: Event, at time: Duration) {
        heap.append((time, count, event))
        count += 1
        var child = heap.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func popFirst() -> (Duration, Event)? {
        guard let first = heap.first else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(child, least) {
                least = child
            }
            guard least != parent else { return (first.time, first.event) }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (heap[left].time, heap[left].number) < (heap[right].time, heap[right].number)
    }
}
