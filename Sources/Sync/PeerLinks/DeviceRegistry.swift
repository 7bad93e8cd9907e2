import AsyncTools
import BlockExchange
import Fetching
import Synchronization

/// The known devices by id, and a signal to whoever waits for one to come or go.
package final class DeviceRegistry: Sendable {
    private struct State {
        var devices: [DeviceID: DeviceSession] = [:]
        var listeners = Listeners<Void>()
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

    package func linkChanged() { state.withLock { $0.listeners.send(()) } }

    /// An element whenever a link came or went since the last one, until the reading task ends.
    package func linkChanges() -> AsyncStream<Void> {
        state.withLock { $0.listeners.add(bufferingPolicy: .bufferingNewest(1)) }
    }
}
