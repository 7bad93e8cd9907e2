import CBluetooth
import Glibc
import MessageBus

/// Carries bytes between a stream socket and a packet socket, in the thread that calls `run`, until one of both ends.
///
/// Packets have one byte at least and `packetLimit` at most. The packet socket's limit for receiving must be
/// `L2CAPSocket.receiveLimit` or less.
struct PacketPump {
    /// How the packets ended.
    enum Outcome: Equatable, Sendable {
        /// This side's stream was closed, and what it had written was sent, if the peer took it in time.
        case closedHere
        /// The peer closed its end.
        case closedThere
        /// The link broke: what was sent last may not have arrived.
        case broken(SystemError)
    }

    let stream: Descriptor
    let packets: Descriptor
    let packetLimit: Int
    /// How long the peer may take to accept what is left after the stream's end, and that to leave the machine.
    var lingering = Duration.seconds(5)

    /// How long a socket without memory is left alone.
    private static let starvation = Duration.milliseconds(10)

    /// - Parameter received: a packet that was taken from the socket before.
    func run(received first: [UInt8] = []) -> Outcome {
        var outgoing = PumpBuffer(capacity: packetLimit)
        var incoming = PumpBuffer(capacity: max(L2CAPSocket.receiveLimit, first.count))
        incoming.fill(with: first)
        var state = PumpState(isDelivering: !incoming.isEmpty)
        var broken: SystemError?
        var deadline: ContinuousClock.Instant?
        while true {
            if state.isDelivered { return broken.map(Outcome.broken) ?? .closedThere }
            // A broken link takes nothing any more, and what came over it is still to be delivered.
            if state.isSent, broken == nil { return linger() }
            // A peer that gives no credits would keep the link for ever.
            if state.isClosedHere, broken == nil { deadline = deadline ?? .now + lingering }
            let rest = deadline.map { $0 - .now }
            if let rest, rest <= .zero { return broken.map(Outcome.broken) ?? .closedHere }
            var poll = Poll()
            poll.add(stream.number, state.streamInterest)
            poll.add(packets.number, state.packetInterest)
            let events = poll.wait(state.isStarved ? Self.starvation : rest)
            state.isStarved = false
            if !events[0].isDisjoint(with: .ended) { state.isHungUp = true }
            if !events[1].isEmpty { receive(&state, &incoming, &broken) }
            if !events[0].isEmpty || state.isDelivering { deliver(&state, &incoming) }
            if !events[0].isEmpty, !state.isSending, state.stream == .open {
                switch outgoing.read(from: stream.number) {
                case .some(0): state.stream = .ended
                case .some: state.isSending = true
                case .none: if errno != EAGAIN, errno != EINTR { state.stream = .ended }
                }
            }
            if state.isSending { send(&state, &outgoing, &broken, wasWritable: events[1].contains(.writable)) }
        }
    }

    private func receive(_ state: inout PumpState, _ incoming: inout PumpBuffer, _ broken: inout SystemError?) {
        guard state.packets == .open, !state.isDelivering else { return }
        switch incoming.read(from: packets.number) {
        case .some(0): state.packets = .ended
        case .some: state.isDelivering = true
        case .none:
            if errno == EAGAIN || errno == EINTR { return }
            broken = SystemError("recv")
            state.packets = .ended
        }
    }

    private func deliver(_ state: inout PumpState, _ incoming: inout PumpBuffer) {
        guard state.isDelivering else { return }
        if incoming.write(to: stream.number) {
            state.isDelivering = !incoming.isEmpty
        } else if errno != EAGAIN, errno != EINTR {
            // Nobody reads any more. What is written may still be sent, so only this direction ends.
            state.isDelivering = false
            state.stream = .ended
        }
    }

    private func send(
        _ state: inout PumpState, _ outgoing: inout PumpBuffer, _ broken: inout SystemError?, wasWritable: Bool
    ) {
        if outgoing.write(to: packets.number) {
            // A packet is taken whole or not at all.
            state.isSending = false
            outgoing.clear()
            return
        }
        switch errno {
        case EAGAIN, EINTR, ENOBUFS: state.isStarved = wasWritable
        case let code:
            if broken == nil { broken = SystemError("send", code) }
            state.isSending = false
            state.stream = .ended
            // What has arrived on a link that is gone is still read, up to its end.
            let isGone = [ECONNRESET, EPIPE, ENOTCONN, ETIMEDOUT, ECONNABORTED].contains(code)
            if !isGone { state.packets = .ended }
        }
    }

    /// Closing drops what the kernel has not handed to the controller, so that is waited for.
    private func linger() -> Outcome {
        let clock = ContinuousClock()
        let deadline = clock.now + lingering
        while let unsent = packets.unsentMemory(), unsent > 0, clock.now < deadline {
            var poll = Poll()
            poll.add(packets.number, [])
            if let events = poll.wait(.milliseconds(10)).first, !events.isDisjoint(with: .ended) { break }
        }
        return .closedHere
    }
}

/// The bytes on their way in one direction.
struct PumpBuffer {
    private var bytes: [UInt8]
    private var pending: Range<Int> = 0..<0

    init(capacity: Int) { bytes = [UInt8](repeating: 0, count: max(1, capacity)) }

    var isEmpty: Bool { pending.isEmpty }

    mutating func clear() { pending = 0..<0 }

    mutating func fill(with first: [UInt8]) {
        bytes.replaceSubrange(0..<first.count, with: first)
        pending = 0..<first.count
    }

    /// Hands out what is pending, and forgets as many bytes as `take` says it took.
    mutating func consume(_ take: (ArraySlice<UInt8>) -> Int) {
        guard !pending.isEmpty else { return }
        let count = take(bytes[pending])
        pending = min(pending.lowerBound + count, pending.upperBound)..<pending.upperBound
    }

    /// Reads once, and gives how many bytes came, 0 at the end; nil and errno when it fails.
    mutating func read(from descriptor: CInt) -> Int? {
        let count = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { return nil }
        pending = 0..<count
        return count
    }

    /// Writes once what is pending, and forgets what was taken; false and errno when it fails.
    mutating func write(to descriptor: CInt) -> Bool {
        let count = bytes.withUnsafeBytes {
            Glibc.send(
                descriptor, $0.baseAddress?.advanced(by: pending.lowerBound), pending.count, CInt(MSG_NOSIGNAL))
        }
        guard count >= 0 else { return false }
        pending = min(pending.lowerBound + count, pending.upperBound)..<pending.upperBound
        return true
    }
}
