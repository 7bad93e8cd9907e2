import Synchronization

/// Wakes all tasks that wait; a notification that comes while none does is remembered for the next, many count as one.
package final class Signal: Sendable {
    private struct State {
        var isPending = false
        /// In the order in which they came.
        var waiters: [(number: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// How many tasks wait now.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    package func notify() {
        let waiters = state.withLock { state in
            if state.waiters.isEmpty { state.isPending = true }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume() }
    }

    /// Returns at the next notification or when the task is cancelled.
    package func wait() async {
        let number = state.withLock { state in
            state.lastNumber &+= 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isPending || Task.isCancelled {
                        state.isPending = false
                        return true
                    }
                    state.waiters.append((number, continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume()
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
