import Synchronization

/// Wakes one waiting task; a notification that comes before the wait is remembered, many count as one.
package final class Signal: Sendable {
    private struct State {
        var isPending = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    package func notify() {
        let waiter = state.withLock { state in
            guard let waiter = state.waiter else {
                state.isPending = true
                return nil as CheckedContinuation<Void, Never>?
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume()
    }

    /// Returns at the next notification or when the task is cancelled. One task at a time may wait.
    package func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isPending || Task.isCancelled {
                        state.isPending = false
                        return true
                    }
                    state.waiter?.resume()
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }

    /// Returns at the next notification, when `duration` has passed, or when the task is cancelled. True if it was notified.
    @discardableResult
    package func wait(atMost duration: Duration, clock: any Clock<Duration>) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await self.wait()
                return true
            }
            group.addTask {
                try? await clock.sleep(for: duration)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    /// Returns once no notification has come for `pause`, or after `limit` of them; at once if none has come since the last
    /// wait.
    package func quiet(
        for pause: Duration = .milliseconds(30), atMost limit: Duration = .seconds(1), clock: any Clock<Duration>,
        now: @Sendable () -> Duration
    ) async {
        guard state.withLock({ $0.isPending }) else { return }
        let start = now()
        repeat {} while await wait(atMost: pause, clock: clock) && now() - start < limit && !Task.isCancelled
    }
}
