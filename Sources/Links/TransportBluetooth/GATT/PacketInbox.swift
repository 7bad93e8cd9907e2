import MessageBus
import Synchronization

/// Packets that one thread puts in and another takes out.
///
/// Bounded: what comes while it is full is dropped, as the radio does.
final class PacketInbox: Sendable {
    private struct State {
        var packets: [[UInt8]] = []
        var isClosed = false
    }

    /// More than a window of the stream's packets.
    static let limit = 1024

    let wake: WakeFlag
    private let state = Mutex(State())

    init() throws(SystemError) { wake = try WakeFlag() }

    func put(_ packet: [UInt8]) {
        state.withLock { state in
            if state.packets.count < Self.limit { state.packets.append(packet) }
        }
        wake.raise()
    }

    /// No more comes, as the link is gone.
    func close() {
        state.withLock { $0.isClosed = true }
        wake.raise()
    }

    func take() -> (packets: [[UInt8]], isClosed: Bool) {
        wake.lower()
        return state.withLock { state in
            defer { state.packets = [] }
            return (state.packets, state.isClosed)
        }
    }
}
