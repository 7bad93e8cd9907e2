import BlockExchange
import ControlAPI
import Synchronization

/// Hands what happens in the agent to everyone who listens; a listener that does not keep up loses the oldest events.
final class EventHub: Sendable {
    private static let eventsPerListener = 1000

    private struct State {
        var listeners: [Int: AsyncStream<AgentEvent>.Continuation] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())
    private let wall: @Sendable () -> WallTime

    init(wall: @escaping @Sendable () -> WallTime) { self.wall = wall }

    var now: WallTime { wall() }

    func post(_ type: String, device: DeviceID? = nil, folder: FolderID? = nil, message: String? = nil) {
        let listeners = state.withLock { Array($0.listeners.values) }
        guard !listeners.isEmpty else { return }
        let event = AgentEvent(
            type: type, time: wall().rfc3339, device: device?.description, folder: folder?.rawValue, message: message)
        for listener in listeners { listener.yield(event) }
    }

    /// All events from now on, until the reading task ends.
    func listen() -> AsyncStream<AgentEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: AgentEvent.self, bufferingPolicy: .bufferingNewest(Self.eventsPerListener))
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            state.listeners[state.nextID] = continuation
            return state.nextID
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }
}
