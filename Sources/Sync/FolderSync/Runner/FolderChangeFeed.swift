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

    private struct State {
        var listeners: [Int: (AsyncStream<Change>.Continuation, hasLost: Bool)] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// All changes from now on, until the reading task ends.
    package func changes() -> AsyncStream<Change> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Change.self, bufferingPolicy: .bufferingOldest(Self.limit))
        let number = state.withLock { state in
            defer { state.next += 1 }
            state.listeners[state.next] = (continuation, false)
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    /// The index was changed.
    ///
    /// - Parameter names: that were in the change, whatever came of each.
    func changed(_ result: ApplyResult, names: some Collection<String>) {
        guard state.withLock({ !$0.listeners.isEmpty }) else { return }
        send(result.applied == 0 ? nil : names.count > ApplyResult.changedLimit ? .everything : .names(Array(names)))
    }

    func everythingChanged() { send(.everything) }

    private func send(_ change: Change?) {
        guard let change else { return }
        state.withLock { state in
            for (number, listener) in state.listeners {
                let isLost =
                    if case .dropped = listener.0.yield(listener.hasLost ? .everything : change) { true } else { false }
                state.listeners[number]?.hasLost = isLost
            }
        }
    }
}
