/// An ordered, reliable byte stream in both directions over GATT values: writes without response one way, notifications
/// the other, which bluetoothd may reorder, drop, cut, or (the first one) damage.
///
/// Knows no clock, radio or task: it is given packets and the time, and gives packets and the time of the next call.
/// Times are durations since any one origin, and do not go back. The format is in docs/bluetooth-wire.md.
///
/// How to drive it: after each call of `receive`, `write`, `read`, `finish` or `reset`, and when `nextDeadline` has come,
/// call `nextPacket(at:)` and send what it gives until it gives nil, or until the link takes no more (go on there when it
/// does; a packet that was given counts as sent).
///
/// A packet is taken for what it is unless it arrives after 2^29 later ones: its check covers 29 bits of its number
/// and, over a 13-bit number on the wire, tells every older number apart with certainty, as it does each single damage of
/// up to 16 bits in a row; other damage passes once in 65,536 times, and then TLS finds it.
public struct GATTStream: Sendable {
    public enum Role: Sendable {
        /// Opens the connection.
        case central
        /// Waits for it to be opened, and sends nothing before.
        case peripheral
    }

    public struct Configuration: Sendable, Hashable {
        /// Bytes held that arrived and were not read; the peer is stopped before it exceeds them. While nothing is missing,
        /// it is stopped at 48 KiB: with the buffers of both ends these are 64, and what is urgent waits behind them.
        public var receiveLimit = 96 << 10
        /// Bytes held that were written and not sent yet. Small, for the same reason.
        public var unsentLimit = 4 << 10
        /// Bytes of packets under way at most; the measured rate usually keeps them far below.
        public var windowLimit = 40 << 10
        /// How long the opening may take before the state is `closed(.timedOut)`. A peripheral counts from the first
        /// opening packet on.
        public var openingLimit = Duration.seconds(20)
        /// How long the peer may leave inquiries unanswered before the state is `closed(.timedOut)`.
        public var silenceLimit = Duration.seconds(30)

        public init() {}
    }

    public enum State: Sendable, Hashable {
        /// Not connected yet. Bytes may be written; they wait.
        case opening
        /// Connected; the peer may send more.
        case open
        /// All of the peer's bytes are here, read or not; this side may go on writing.
        case peerFinished
        /// Both sides' bytes, ends included, have arrived. Packets may still be due, so that the peer learns of it too:
        /// the state becomes `closed(.finished)` within four seconds.
        case finished
        /// Nothing is sent any more. What arrived can still be read.
        case closed(CloseReason)
    }

    public enum CloseReason: Sendable, Hashable {
        case finished
        /// `reset(code:)` was called here.
        case reset
        /// The peer broke the connection, with this code.
        case peerReset(UInt8)
        /// The peer did not open in time, or fell silent.
        case timedOut
        /// Peripheral: the central has forgotten this connection and opens a new one. Make a new stream; the central's
        /// opening packet comes again.
        case replaced
        /// The central speaks another version of this format.
        case otherVersion
    }

    /// Counts since the beginning. Bytes are those of whole packets.
    public struct Statistics: Sendable, Hashable {
        public var sentPackets = 0
        public var sentBytes = 0
        public var receivedPackets = 0
        public var receivedBytes = 0
        /// Packets that were damaged, cut, of another connection, or not of this format.
        public var ignoredPackets = 0
        /// Data packets that had arrived before.
        public var duplicatePackets = 0
        /// Data packets that were sent again.
        public var repeatedPackets = 0
        public var acknowledgements = 0
        public var inquiries = 0
    }

    /// Codes of `reset(code:)` that this format gives a meaning.
    public enum ResetCode {
        /// No reason given.
        public static let unspecified: UInt8 = 0
        /// The version of the opening packet is not spoken here.
        public static let otherVersion: UInt8 = 1
        /// The side that sends it has ended and will read no more.
        public static let cancelled: UInt8 = 2
    }

    private enum Phase {
        /// A peripheral that nothing has come to.
        case listening
        /// A central that opens.
        case calling(Repetition)
        /// A peripheral that does not know yet that the central knows of the connection.
        case answering(Repetition)
        case established
        case closed(CloseReason)
    }

    private let role: Role
    private let token: UInt32
    private let maximumPacket: Int
    private let configuration: Configuration
    private var phase: Phase
    /// Exists from `answering` or `established` on, in `closed` for what is left to read.
    private var connection: StreamConnection?
    /// What was written before the connection is open.
    private var early = Queue<UInt8>()
    private var isFinishing = false
    private var resetToSend: [UInt8]?
    private var now: Nanoseconds = 0

    public private(set) var statistics = Statistics()

    /// - Parameters:
    ///   - maximumPacket: the longest value to send, in bytes: ATT's MTU less 3, at most 510 to bluetoothd 5.66. Taken
    ///     as 20 if less and as 512 if more. The two sides need not agree.
    ///   - token: a random number, different for each connection. It keeps packets of an earlier one apart.
    public init(role: Role, maximumPacket: Int, token: UInt32, configuration: Configuration = Configuration()) {
        self.role = role
        self.token = token
        self.maximumPacket = min(max(maximumPacket, StreamPacket.leastMaximum), StreamPacket.greatestMaximum)
        self.configuration = configuration
        phase = role == .central ? .calling(Repetition()) : .listening
    }
}

// MARK: - bytes

extension GATTStream {
    public var state: State {
        switch phase {
        case .listening, .calling, .answering: return .opening
        case .established:
            guard let connection, connection.receiver.isComplete else { return .open }
            return connection.sender.isComplete ? .finished : .peerFinished
        case .closed(let reason): return .closed(reason)
        }
    }

    /// How many bytes `write` would take; 0: wait until the peer has confirmed some.
    public var writableCount: Int {
        if case .closed = phase { return 0 }
        if isFinishing { return 0 }
        return connection?.sender.writableCount ?? max(0, configuration.unsentLimit - early.count)
    }

    /// Takes bytes to send, as many as there is room for.
    ///
    /// - Returns: how many of the first bytes were taken; 0 after `finish`, `reset` or the end of the connection.
    public mutating func write(_ bytes: some Collection<UInt8>) -> Int {
        let count = min(writableCount, bytes.count)
        guard count > 0 else { return 0 }
        guard connection == nil else { return connection?.sender.write(bytes.prefix(count)) ?? 0 }
        early.append(contentsOf: bytes.prefix(count))
        return count
    }

    /// Bytes that were written and are not known to have arrived.
    var unconfirmedCount: Int { connection?.sender.pendingCount ?? early.count }

    /// Bytes that `read` would give.
    public var readableCount: Int { connection?.receiver.readableCount ?? 0 }

    /// The next bytes in order, at most `maximum`; empty if there are none. Reading lets the peer send more.
    public mutating func read(maximum: Int) -> [UInt8] {
        connection?.receiver.read(maximum: maximum, at: now) ?? []
    }

    /// Ends this side's bytes after those that were written. The peer may go on with its own.
    public mutating func finish() {
        isFinishing = true
        connection?.sender.finish()
    }

    /// Ends both directions at once, and says so to the peer in the next packet.
    public mutating func reset(code: UInt8 = ResetCode.unspecified) {
        switch phase {
        case .closed: return
        case .listening: break
        case .calling, .answering, .established:
            let peer = connection?.peerToken ?? 0
            resetToSend =
                ControlPacket.reset(
                    code: code, centralToken: role == .central ? token : peer,
                    peripheralToken: role == .central ? peer : token
                ).bytes
        }
        phase = .closed(.reset)
    }

    /// What is known of the way to the peer; nil before anything was measured.
    public var roundTrip: Duration? { connection?.sender.roundTrip.smoothed.map { .nanoseconds($0) } }

    /// Bytes a second, packet headers included, that the peer was seen to receive; nil before anything was measured.
    public var bytesPerSecond: Int? {
        guard let rate = connection?.sender.rate.rate, rate > 0 else { return nil }
        return rate
    }
}

// MARK: - what arrives

extension GATTStream {
    /// Takes a value that the link delivered. What is no packet of this connection is counted and ignored.
    public mutating func receive(_ packet: some Collection<UInt8>, at time: Duration) {
        let packet = Array(packet)
        advance(to: time)
        statistics.receivedPackets += 1
        statistics.receivedBytes += packet.count
        if !take(packet) { statistics.ignoredPackets += 1 }
    }

    private mutating func take(_ packet: [UInt8]) -> Bool {
        guard packet.count <= StreamPacket.greatestMaximum, let header = StreamPacket.Header(packet) else {
            return false
        }
        guard header.kind != .control else { return ControlPacket(packet).map { take($0) } ?? false }
        switch phase {
        case .answering, .established:
            guard connection?.take(packet, header, at: now, statistics: &statistics) == true else { return false }
            // Any packet of the connection says that the central knows of it.
            phase = .established
            return true
        case .listening, .calling, .closed: return false
        }
    }

    private mutating func take(_ packet: ControlPacket) -> Bool {
        switch packet {
        case .open(let opening): return role == .peripheral && takeOpen(opening)
        case .opened(let opening): return role == .central && takeOpened(opening)
        case .openOfOtherVersion(let centralToken):
            guard role == .peripheral, case .listening = phase else { return false }
            resetToSend =
                ControlPacket.reset(code: ResetCode.otherVersion, centralToken: centralToken, peripheralToken: 0).bytes
            return true
        case .reset(let code, let centralToken, let peripheralToken):
            let (own, peer) = role == .central ? (centralToken, peripheralToken) : (peripheralToken, centralToken)
            guard own == token else { return false }
            switch phase {
            case .calling where code == ResetCode.otherVersion: phase = .closed(.otherVersion)
            case .answering, .established:
                guard connection?.peerToken == peer else { return false }
                phase = .closed(.peerReset(code))
            case .calling, .listening, .closed: return false
            }
            return true
        }
    }

    private mutating func takeOpen(_ opening: ControlPacket.Opening) -> Bool {
        switch phase {
        case .answering(var repetition) where connection?.peerToken == opening.centralToken:
            repetition.makeDue(now)
            phase = .answering(repetition)
        case .listening, .answering:
            // Where another central's opening was being answered, nothing was exchanged yet, and nothing is lost.
            var repetition = Repetition()
            repetition.start(now)
            connect(opening, peerToken: opening.centralToken, roundTrip: nil)
            phase = .answering(repetition)
        case .established:
            guard connection?.peerToken != opening.centralToken else { return true }
            if connection?.isReplaced(at: now) == true { phase = .closed(.replaced) }
        case .calling, .closed: return false
        }
        return true
    }

    private mutating func takeOpened(_ opening: ControlPacket.Opening) -> Bool {
        guard opening.centralToken == token else { return false }
        switch phase {
        case .calling(let repetition):
            guard let startedAt = repetition.startedAt else { return false }
            connect(
                opening, peerToken: opening.peripheralToken, roundTrip: repetition.count == 1 ? now - startedAt : nil)
            phase = .established
        case .established where connection?.peerToken == opening.peripheralToken: break
        case .established, .listening, .answering, .closed: return false
        }
        connection?.receiver.acknowledgeNow(now)
        return true
    }

    private mutating func connect(_ opening: ControlPacket.Opening, peerToken: UInt32, roundTrip: Nanoseconds?) {
        var sender = SendHalf(
            maximumPacket: maximumPacket, peer: opening, unsentLimit: configuration.unsentLimit,
            windowLimit: configuration.windowLimit, roundTrip: roundTrip)
        _ = sender.write(early.removeFirst(early.count))
        if isFinishing { sender.finish() }
        connection = StreamConnection(
            sender: sender,
            receiver: ReceiveHalf(
                limit: configuration.receiveLimit,
                payloadLimit: opening.maximumPacket - StreamPacket.headerByteCount),
            maximumPacket: maximumPacket, role: role, token: token, peerToken: peerToken)
    }
}

// MARK: - what goes out

extension GATTStream {
    /// What to send now; nil: nothing before `nextDeadline`, or before something is received, written or read.
    public mutating func nextPacket(at time: Duration) -> [UInt8]? {
        advance(to: time)
        guard let packet = choosePacket() else { return nil }
        statistics.sentPackets += 1
        statistics.sentBytes += packet.count
        return packet
    }

    private mutating func choosePacket() -> [UInt8]? {
        if let packet = resetToSend {
            resetToSend = nil
            return packet
        }
        switch phase {
        case .listening, .closed: return nil
        case .calling(var repetition):
            guard repetition.dueAt <= now else { return nil }
            repetition.sent(now)
            phase = .calling(repetition)
            return ControlPacket.open(opening(centralToken: token, peripheralToken: 0)).bytes
        case .answering(var repetition):
            guard repetition.dueAt <= now, let peerToken = connection?.peerToken else { return nil }
            repetition.sent(now)
            phase = .answering(repetition)
            return ControlPacket.opened(opening(centralToken: peerToken, peripheralToken: token)).bytes
        case .established: return connection?.nextPacket(at: now, statistics: &statistics)
        }
    }

    private func opening(centralToken: UInt32, peripheralToken: UInt32) -> ControlPacket.Opening {
        // Packets may be as long as any: how long the peer's are is not known when this is first said.
        let window = min(configuration.receiveLimit, ReceiveHalf.orderlyLimit) / StreamPacket.greatestMaximum
        return ControlPacket.Opening(
            maximumPacket: maximumPacket, window: min(max(window, 8), StreamPacket.greatestWindow),
            centralToken: centralToken, peripheralToken: peripheralToken)
    }

    /// When to call `nextPacket(at:)` though nothing was received, written or read. May have passed. Nil: never.
    ///
    /// Means what it says only after `nextPacket(at:)` gave nil.
    public var nextDeadline: Duration? {
        var deadline: Nanoseconds?
        switch phase {
        case .listening, .closed: break
        case .calling(let repetition), .answering(let repetition): deadline = repetition.dueAt
        case .established: deadline = connection?.nextDeadline(silenceLimit: configuration.silenceLimit.nanoseconds)
        }
        return (resetToSend == nil ? deadline : now).map { .nanoseconds($0) }
    }

    /// Moves the time on, and gives up what has waited for too long.
    private mutating func advance(to time: Duration) {
        now = max(now, time.nanoseconds)
        switch phase {
        case .calling(var repetition):
            repetition.start(now)
            phase = .calling(repetition)
            if repetition.hasLasted(configuration.openingLimit.nanoseconds, at: now) { phase = .closed(.timedOut) }
        case .answering(let repetition):
            if repetition.hasLasted(configuration.openingLimit.nanoseconds, at: now) { phase = .closed(.timedOut) }
        case .established:
            if connection?.hasLingered(at: now) == true {
                phase = .closed(.finished)
            } else if connection?.isSilent(for: configuration.silenceLimit.nanoseconds, at: now) == true {
                // After the ends of both sides nothing is left to wait for.
                phase = .closed(connection?.isComplete == true ? .finished : .timedOut)
            }
        case .listening, .closed: break
        }
    }
}

/// An opening packet that is sent until it is answered: twice quickly, for the first may arrive damaged, then further
/// and further apart.
private struct Repetition: Sendable {
    private(set) var startedAt: Nanoseconds?
    private(set) var count = 0
    private(set) var dueAt: Nanoseconds = 0

    mutating func start(_ now: Nanoseconds) { startedAt = startedAt ?? now }

    mutating func sent(_ now: Nanoseconds) {
        dueAt = now + min(.milliseconds(50) << Int64(min(count, 8)), .milliseconds(1000))
        count += 1
    }

    mutating func makeDue(_ now: Nanoseconds) { dueAt = now }

    func hasLasted(_ limit: Nanoseconds, at now: Nanoseconds) -> Bool { startedAt.map { now - $0 >= limit } ?? false }
}
