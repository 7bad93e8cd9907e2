import AsyncTools
import BlockExchange
import FolderSync
import MountProtocol
import Names
import Synchronization

/// Changes of a folder's index, gathered until a mount hears of them.
final class ChangeGathering: Sendable {
    private struct State {
        var names: Set<NameKey> = []
        var isEverything = false
    }

    private let state = Mutex(State())
    private let arrived = Signal()

    func add(_ change: FolderChangeFeed.Change) {
        state.withLock { state in
            switch change {
            case .names(let names) where state.names.count <= MountLimits.changeCount:
                state.names.formUnion(names.lazy.map { NameKey($0) })
            case .names, .everything: state.isEverything = true
            }
        }
        arrived.notify()
    }

    /// Returns when there is something, or when the task is cancelled.
    func wait() async { await arrived.wait() }

    /// What to tell the mount; nil for nothing.
    func take() -> MountAnswer? {
        let (names, isEverything) = state.withLock { state in
            defer { state = State() }
            return (state.names, state.isEverything)
        }
        if isEverything || names.count > MountLimits.changeCount { return .everythingChanged }
        return names.isEmpty ? nil : .changed(names.map(\.text).sorted())
    }
}
