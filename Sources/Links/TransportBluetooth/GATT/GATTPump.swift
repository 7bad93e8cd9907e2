import GhostDrop
import Glibc
import MessageBus

/// Carries a stream socket's bytes over GATT values, in the thread that calls `run`, until one of both ends.
struct GATTPump {
    /// Where packets come from.
    enum Inlet: Sendable {
        /// A packet socket of bluetoothd's, from `AcquireNotify`.
        case socket(Descriptor)
        /// Values that came on the bus.
        case inbox(PacketInbox)

        var descriptor: CInt {
            switch self {
            case .socket(let descriptor): descriptor.number
            case .inbox(let inbox): inbox.wake.descriptor.number
            }
        }
    }

    /// Where packets go.
    enum Outlet: Sendable {
        /// A packet socket of bluetoothd's, from `AcquireWrite` or given to it for notifications.
        case socket(Descriptor)
        /// Calls on the bus; false when it has enough to do at the moment.
        case call(@Sendable ([UInt8]) -> Bool)
    }

    let inlet: Inlet
    let outlet: Outlet
    /// How long the ends of both streams may take to be exchanged after this side's end.
    var lingering = Duration.seconds(5)

    /// How long the stream may take to open, for a peer that sends something else.
    var openingLimit = Duration.seconds(25)

    /// The longest value that bluetoothd 5.66 passes on: 511 and 512 bytes vanish though the MTU allows them.
    static func packetLimit(mtu: Int) -> Int { min(max(mtu, 23), 513) - 3 }

    /// Held back each way at most, for what is urgent waits behind it.
    private static let heldByteCount = 2 * 1024

    /// How long an outlet that has enough to do is left alone.
    private static let congestion = Duration.milliseconds(10)

    /// - Parameter opened: called once, when the peer has opened too; it gives the stream's end, or nil if nobody wants
    ///   the link any more.
    func run(_ machine: GATTStream, opened: () -> Descriptor?) -> PacketPump.Outcome {
        var session = Session(pump: self, machine: machine)
        return session.run(opened)
    }

    private struct Session {
        let pump: GATTPump
        var machine: GATTStream
        let start = ContinuousClock.now
        var stream: Descriptor?
        /// Bytes from the stream that the machine had no room for.
        var outgoing = PumpBuffer(capacity: GATTPump.heldByteCount)
        /// Bytes for the stream that it had no room for.
        var incoming = PumpBuffer(capacity: GATTPump.heldByteCount)
        /// A packet that the outlet did not take.
        var packet: [UInt8]?
        var isCongested = false
        var hasStreamEnded = false
        var hasToldEnd = false
        var closingDeadline: Duration?
        var broken: SystemError?

        init(pump: GATTPump, machine: GATTStream) {
            self.pump = pump
            self.machine = machine
        }

        var now: Duration { ContinuousClock.now - start }

        mutating func run(_ opened: () -> Descriptor?) -> PacketPump.Outcome {
            while true {
                if stream == nil, isOpen {
                    guard let end = opened() else {
                        machine.reset(code: GATTStream.ResetCode.cancelled)
                        transmit()
                        return .closedHere
                    }
                    stream = end
                }
                moveBytes()
                transmit()
                if let outcome = outcome() { return outcome }
                wait()
            }
        }

        private var isOpen: Bool {
            switch machine.state {
            case .open, .peerFinished, .finished: true
            case .opening, .closed: false
            }
        }

        /// Why this is over; nil while it is not.
        private mutating func outcome() -> PacketPump.Outcome? {
            let hasDelivered = machine.readableCount == 0 && incoming.isEmpty
            if let broken, hasDelivered || stream == nil || hasStreamEnded {
                // Nothing was missing any more.
                return machine.state == .finished ? .closedHere : .broken(broken)
            }
            switch machine.state {
            case .closed(let reason):
                guard hasDelivered || stream == nil || hasStreamEnded else { return nil }
                switch reason {
                case .finished, .reset: return .closedHere
                case .peerReset, .replaced, .otherVersion: return .closedThere
                case .timedOut: return .broken(SystemError("GATT stream", ETIMEDOUT))
                }
            case .opening, .open, .peerFinished, .finished: break
            }
            if stream == nil, now >= pump.openingLimit { return .broken(SystemError("GATT stream", ETIMEDOUT)) }
            if let closingDeadline, now >= closingDeadline {
                machine.reset(code: GATTStream.ResetCode.cancelled)
                transmit()
                return .closedHere
            }
            return nil
        }

        // MARK: bytes

        private mutating func moveBytes() {
            guard let stream else { return }
            deliver(to: stream)
            fill()
        }

        /// Gives the machine what it has room for.
        private mutating func fill() {
            guard let stream, !hasStreamEnded, broken == nil, machine.writableCount > 0 else { return }
            if outgoing.isEmpty {
                switch outgoing.read(from: stream.number) {
                case .some(0): endStream()
                case .some: break
                case .none: if errno != EAGAIN, errno != EINTR { endStream() }
                }
            }
            outgoing.consume { machine.write($0) }
        }

        private mutating func deliver(to stream: Descriptor) {
            while !hasStreamEnded {
                if incoming.isEmpty {
                    let bytes = machine.read(maximum: GATTPump.heldByteCount)
                    if bytes.isEmpty { break }
                    incoming.fill(with: bytes)
                }
                guard incoming.write(to: stream.number) else {
                    if errno != EAGAIN, errno != EINTR { endStream() }
                    return
                }
            }
            if case .peerFinished = machine.state, machine.readableCount == 0, incoming.isEmpty, !hasToldEnd {
                hasToldEnd = true
                shutdown(stream.number, CInt(SHUT_WR))
            }
        }

        /// This side's user has closed the stream.
        private mutating func endStream() {
            hasStreamEnded = true
            closingDeadline = now + pump.lingering
        }

        // MARK: packets

        private mutating func transmit() {
            isCongested = false
            while broken == nil {
                // The end follows the last byte.
                if hasStreamEnded, outgoing.isEmpty { machine.finish() }
                guard let next = packet ?? machine.nextPacket(at: now) else { return }
                packet = next
                switch pump.outlet {
                case .socket(let socket):
                    let count = next.withUnsafeBytes {
                        send(socket.number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                    }
                    if count < 0 {
                        if errno == EAGAIN || errno == EINTR || errno == ENOBUFS { return }
                        broken = SystemError("send")
                        return
                    }
                case .call(let send):
                    guard send(next) else {
                        isCongested = true
                        return
                    }
                }
                packet = nil
                // A machine that runs dry asks for an answer with its last packet.
                fill()
            }
        }

        private mutating func wait() {
            var poll = Poll()
            var streamEvents: PollEvents = []
            if stream != nil, !hasStreamEnded {
                if outgoing.isEmpty, machine.writableCount > 0 { streamEvents.insert(.readable) }
                if !incoming.isEmpty { streamEvents.insert(.writable) }
            }
            // Without an interest an end that is known would wake this for ever.
            poll.add(stream?.number ?? -1, streamEvents.isEmpty ? nil : streamEvents)
            poll.add(pump.inlet.descriptor, broken == nil ? .readable : nil)
            if case .socket(let socket) = pump.outlet {
                poll.add(socket.number, broken == nil ? (packet == nil ? [] : .writable) : nil)
            }
            var limit = packet == nil ? machine.nextDeadline.map { $0 - now } : nil
            if isCongested { limit = GATTPump.congestion }
            if stream == nil { limit = min(limit ?? .seconds(25), pump.openingLimit - now) }
            if let closingDeadline { limit = min(limit ?? .seconds(5), closingDeadline - now) }
            let events = poll.wait(limit)
            if !events[1].isEmpty { receive() }
            if events.count > 2, !events[2].isDisjoint(with: .ended), broken == nil {
                broken = SystemError("poll", ECONNRESET)
            }
        }

        private mutating func receive() {
            switch pump.inlet {
            case .inbox(let inbox):
                let (packets, isClosed) = inbox.take()
                for packet in packets { machine.receive(packet, at: now) }
                if isClosed, broken == nil { broken = SystemError("GATT", ECONNRESET) }
            case .socket(let socket):
                var buffer = PumpBuffer(capacity: 1024)
                // A share at a time, so that acknowledgements are sent between.
                for _ in 0..<32 {
                    switch buffer.read(from: socket.number) {
                    case .some(0):
                        if broken == nil { broken = SystemError("recv", ECONNRESET) }
                        return
                    case .some:
                        buffer.consume { packet in
                            machine.receive(packet, at: now)
                            return packet.count
                        }
                    case .none:
                        if errno != EAGAIN, errno != EINTR, broken == nil { broken = SystemError("recv") }
                        return
                    }
                }
            }
        }
    }
}
