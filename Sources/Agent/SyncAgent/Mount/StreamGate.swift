import MountRules
import Synchronization

/// Where the stream of a file's blocks waits until more of them are wanted.
final class StreamGate: Sendable {
    private struct State {
        var progress: StreamProgress
        var waiter: CheckedContinuation<Void, Never>?
        var isStopped = false

        /// Who is to go on.
        mutating func opened() -> CheckedContinuation<Void, Never>? {
            guard isStopped || progress.isOpen else { return nil }
            defer { waiter = nil }
            return waiter
        }
    }

    private let state: Mutex<State>

    init(_ progress: StreamProgress) { state = Mutex(State(progress: progress)) }

    /// The block that is delivered next.
    var next: Int { state.withLock { $0.progress.next } }

    func change(_ body: (inout StreamProgress) -> Void) {
        let waiter = state.withLock { state in
            body(&state.progress)
            return state.opened()
        }
        waiter?.resume()
    }

    /// Returns when the next block is to be delivered, or nothing any more.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if state.isStopped || state.progress.isOpen { return true }
                state.waiter = continuation
                return false
            }
            if isOpen { continuation.resume() }
        }
    }

    func stop() {
        let waiter = state.withLock { state in
            state.isStopped = true
            return state.opened()
        }
        waiter?.resume()
    }
}
