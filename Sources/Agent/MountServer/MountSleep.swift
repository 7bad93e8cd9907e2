import MountProtocol
import Synchronization

/// Has nobody wait for other devices while the machine goes to sleep: who waits in a file system cannot be stopped, and then the whole
/// machine stays awake. Programs that read hear that no device has it, as when the network is lost.
package final class MountSleep: Sendable {
    private struct State {
        var connections: [Int: MountConnection] = [:]
        var next = 0
        var isAsleep = false
    }

    private let state = Mutex(State())

    init() {}

    func add(_ connection: MountConnection) -> Int {
        state.withLock { state in
            state.next &+= 1
            state.connections[state.next] = connection
            connection.setAsleep(state.isAsleep)
            return state.next
        }
    }

    func remove(_ number: Int) { _ = state.withLock { $0.connections.removeValue(forKey: number) } }

    /// Returns when nobody waits for other devices any more.
    package func begin() async {
        for task in set(isAsleep: true) { await task.value }
    }

    package func end() { _ = set(isAsleep: false) }

    private func set(isAsleep: Bool) -> [Task<Void, Never>] {
        state.withLock { state in
            state.isAsleep = isAsleep
            return state.connections.values.flatMap { $0.setAsleep(isAsleep) }
        }
    }
}

extension MountRequest {
    /// Whether it may wait for what other devices send.
    var waitsForDevices: Bool {
        switch self {
        case .read, .openWriting: true
        case .change(_, let change): change.size != nil
        default: false
        }
    }
}
