import BlockExchange
import Fetching
import Synchronization

/// The known devices by id, and a signal to whoever waits for one to come or go.
package final class DeviceRegistry: Sendable {
    private struct State {
        var devices: [DeviceID: DeviceSession] = [:]
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())

    package init() {}

    package var all: [DeviceSession] { state.withLock { Array($0.devices.values) }.sorted { $0.id < $1.id } }

    package func device(_ id: DeviceID) -> DeviceSession? { state.withLock { $0.devices[id] } }

    package func insert(_ device: DeviceSession) { state.withLock { $0.devices[device.id] = device } }

    package func remove(_ id: DeviceID) -> DeviceSession? { state.withLock { $0.devices.removeValue(forKey: id) } }

    /// Those of `ids` that are connected.
    package func sources(_ ids: [DeviceID]) -> [DeviceID: any BlockSource] {
        var sources: [DeviceID: any BlockSource] = [:]
        for id in ids { if let device = device(id), device.session != nil { sources[id] = device.source } }
        return sources
    }

    package func linkChanged() {
        let listeners = state.withLock { $0.listeners.sorted { $0.key < $1.key } }
        for (_, listener) in listeners { listener.yield() }
    }

    /// An element whenever a link came or went since the last one, until the reading task ends.
    package func linkChanges() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
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
