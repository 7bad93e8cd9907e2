import Synchronization

/// Wakes one waiting task early; rung while nobody waits, it ends the next wait at once.
final class Alarm: Sendable {
    private enum State {
        case idle
        case rung
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.idle)

    func ring() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard case .waiting(let continuation) = state else {
                state = .rung
                return nil
            }
            state = .idle
            return continuation
        }
        waiting?.resume()
    }

    /// Returns when `sleep` does, when the alarm is rung, or when the task is cancelled. One call at a time.
    func wait(_ sleep: @escaping @Sendable () async -> Void) async {
        await withTaskGroup { tasks in
            tasks.addTask { await sleep() }
            tasks.addTask { await self.untilRung() }
            await tasks.next()
            tasks.cancelAll()
        }
    }

    private func untilRung() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if case .rung = state {
                        state = .idle
                        return true
                    }
                    if Task.isCancelled { return true }
                    state = .waiting(continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
                guard case .waiting(let continuation) = state else { return nil }
                state = .idle
                return continuation
            }
            waiting?.resume()
        }
    }
}
