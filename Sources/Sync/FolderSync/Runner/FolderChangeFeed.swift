import AsyncTools
import IndexStore
import Synchronization

/// Tells everyone who listens which names of a folder's index are other than they were.
package final class FolderChangeFeed: Sendable {
    package enum Change: Equatable, Sendable {
        case names([String])
        /// More than can be named.
        case everything
    }

    /// More changes than this that a listener has not taken are lost to it, and it is told that everything changed.
    private static let limit = 256

    private let listeners = Mutex(Listeners<Change>())

    /// All changes from now on, until the reading task ends.
    package func changes() -> AsyncStream<Change> {
        listeners.withLock { $0.add(bufferingPolicy: .bufferingOldest(Self.limit)) }
    }

    /// The index was changed.
    ///
    /// - Parameter names: that were in the change, whatever came of each.
    func changed(_ result: ApplyResult, names: some Collection<String>) {
        guard listeners.withLock({ !$0.isEmpty }) else { return }
        send(result.applied == 0 ? nil : names.count > ApplyResult.changedLimit ? .everything : .names(Array(names)))
    }

    func everythingChanged() { send(.everything) }

    private func send(_ change: Change?) {
        guard let change else { return }
        listeners.withLock { $0.send(change, afterLoss: .everything) }
    }
}
