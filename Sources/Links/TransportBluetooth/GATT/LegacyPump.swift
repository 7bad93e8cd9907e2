import GhostDrop
import Glibc
import MessageBus

/// Carries a stream socket's frames of GhostDrop's first version over GATT values, in the thread that calls `run`, until
/// one of both ends. Values that get lost on the way are not noticed here: v1's own acknowledgements do that.
struct LegacyPump {
    let inlet: GATTPump.Inlet
    /// Where pieces of files go.
    let bulk: GATTPump.Outlet
    /// Where all else goes.
    let control: GATTPump.Outlet
    /// The longest value.
    let valueLimit: Int
    /// How long what is left may take to be sent after the stream's end.
    var lingering = Duration.seconds(5)

    /// How long an outlet that has enough to do is left alone.
    private static let congestion = Duration.milliseconds(10)
    /// Packets that wait; more is not read from the stream.
    private static let waitingLimit = 64

    func run(_ stream: Descriptor) -> PacketPump.Outcome {
        var session = Session(pump: self, stream: stream)
        return session.run()
    }

    private struct Session {
        let pump: LegacyPump
        let stream: Descriptor
        let start = ContinuousClock.now
        var machine: DropPacketStream
        /// Bytes from the stream.
        var outgoing = PumpBuffer(capacity: 8 * 1024)
        /// Frames for the stream that it had no room for.
        var incoming: [UInt8] = []
        /// A packet that its outlet did not take.
        var packet: DropPacketStream.Packet?
        var hasStreamEnded = false
        /// The stream's other end is closed; what it wrote before may not have been read yet.
        var isHungUp = false
        var closingDeadline: ContinuousClock.Instant?
        var broken: SystemError?
        var isClosed = false

        init(pump: LegacyPump, stream: Descriptor) {
            self.pump = pump
            self.stream = stream
            machine = DropPacketStream(maximumPacket: pump.valueLimit)
        }

        mutating func run() -> PacketPump.Outcome {
            while true {
                readStream()
                transmit()
                deliver()
                if let broken { return .broken(broken) }
                if isClosed, incoming.isEmpty { return .closedThere }
                // The end follows the last packet.
                if hasStreamEnded, packet == nil, machine.waitingCount == 0 { return .closedHere }
                if hasStreamEnded || isHungUp { closingDeadline = closingDeadline ?? .now + pump.lingering }
                if let closingDeadline, closingDeadline <= .now { return .closedHere }
                wait()
            }
        }

        private mutating func readStream() {
            guard !hasStreamEnded, machine.waitingCount < LegacyPump.waitingLimit else { return }
            switch outgoing.read(from: stream.number) {
            case .some(0): hasStreamEnded = true
            case .some:
                outgoing.consume { bytes in
                    do throws(GhostDropError) { try machine.write(bytes) } catch {
                        broken = SystemError("GATT", EPROTO)
                    }
                    return bytes.count
                }
            case .none: if errno != EAGAIN, errno != EINTR { hasStreamEnded = true }
            }
        }

        private mutating func transmit() {
            while broken == nil, let next = packet ?? machine.nextPacket() {
                packet = next
                switch next.isBulk ? pump.bulk : pump.control {
                case .socket(let socket):
                    let count = next.bytes.withUnsafeBytes {
                        send(socket.number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                    }
                    if count < 0 {
                        if errno == EAGAIN || errno == EINTR || errno == ENOBUFS { return }
                        broken = SystemError("send")
                        return
                    }
                case .call(let send): guard send(next.bytes) else { return }
                }
                packet = nil
            }
        }

        private mutating func deliver() {
            while !incoming.isEmpty {
                let count = incoming.withUnsafeBytes {
                    send(stream.number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                }
                guard count >= 0 else {
                    if errno != EAGAIN, errno != EINTR {
                        hasStreamEnded = true
                        incoming = []
                    }
                    return
                }
                incoming.removeFirst(count)
            }
        }

        private mutating func wait() {
            var poll = Poll()
            var events: PollEvents = []
            if !hasStreamEnded, machine.waitingCount < LegacyPump.waitingLimit { events.insert(.readable) }
            if !incoming.isEmpty { events.insert(.writable) }
            // Without an interest an end that is known would wake this for ever.
            poll.add(stream.number, events.isEmpty && (hasStreamEnded || isHungUp) ? nil : events)
            // Frames that the stream has no room for hold back those that follow.
            poll.add(pump.inlet.descriptor, incoming.isEmpty ? .readable : nil)
            let result = poll.wait(packet == nil ? nil : LegacyPump.congestion)
            if !result[0].isDisjoint(with: .ended) { isHungUp = true }
            if !result[1].isEmpty { receive() }
        }

        private mutating func receive() {
            let now = ContinuousClock.now - start
            switch pump.inlet {
            case .inbox(let inbox):
                let (packets, isClosed) = inbox.take()
                for packet in packets { incoming += machine.receive(packet, at: now) }
                self.isClosed = self.isClosed || isClosed
            case .socket(let socket):
                var buffer = PumpBuffer(capacity: 1024)
                // A share at a time, so that what is to be sent goes between.
                for _ in 0..<32 {
                    switch buffer.read(from: socket.number) {
                    case .some(0):
                        isClosed = true
                        return
                    case .some:
                        buffer.consume { packet in
                            incoming += machine.receive(packet, at: now)
                            return packet.count
                        }
                    case .none:
                        if errno != EAGAIN, errno != EINTR { isClosed = true }
                        return
                    }
                }
            }
        }
    }
}
