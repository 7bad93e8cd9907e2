import MessageBus

/// What a pump waits for: bytes go from a stream to a packet socket and back, one packet's worth each way at a time.
///
/// The rules in one place: a side is read only when what was read from it before has been passed on, so that each end
/// holds back the other; what came before an end is delivered before the end is.
struct PumpState: Equatable, Sendable {
    enum End: Equatable, Sendable {
        case open
        /// Nothing more comes from there; what came is still passed on.
        case ended
    }

    /// Bytes from the stream that wait for the packet socket.
    var isSending = false
    /// Bytes from the packet socket that wait for the stream.
    var isDelivering = false
    /// The packet socket had no memory though it said it was writable.
    var isStarved = false
    /// The stream's other end is closed: all that comes from there is what it wrote before.
    var isHungUp = false
    var stream = End.open
    var packets = End.open

    /// Empty: for its end alone, after which what waits has to leave soon. nil: not even for that, which would be reported again
    /// and again.
    var streamInterest: PollEvents? {
        var events: PollEvents = []
        if stream == .open, !isSending { events.insert(.readable) }
        if isDelivering { events.insert(.writable) }
        return events.isEmpty && isClosedHere ? nil : events
    }

    var packetInterest: PollEvents? {
        var events: PollEvents = []
        if packets == .open, !isDelivering { events.insert(.readable) }
        if isSending, !isStarved { events.insert(.writable) }
        return events.isEmpty ? nil : events
    }

    /// Whether this side's user has closed the stream.
    var isClosedHere: Bool { stream == .ended || isHungUp }

    /// Whether the stream's end has been passed on as far as this side can: the packets may be closed then.
    var isSent: Bool { stream == .ended && !isSending }

    /// Whether all that came in packets has been delivered and no more comes.
    var isDelivered: Bool { packets == .ended && !isDelivering }
}
