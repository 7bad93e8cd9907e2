import BlockExchange
import SyncDecisions
import Synchronization

/// The `FetchBudget` that all fetches share.
package final class SharedFetchBudget: Sendable {
    private typealias Waiter = CheckedContinuation<Bool, Never>

    private struct State {
        var budget: FetchBudget
        var waiters: [Int: Waiter] = [:]

        /// Takes out those who may go on.
        mutating func admit() -> [Waiter] {
            var admitted: [Waiter] = []
            while let id = budget.next() { if let waiter = waiters.removeValue(forKey: id) { admitted.append(waiter) } }
            return admitted
        }
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: bytes that may be under way; see `FetchBudget`.
    ///   - reserve: how much of the limit is for what a person waits for only.
    package init(limit: Int, reserve: Int = 0) {
        state = Mutex(State(budget: FetchBudget(limit: limit, reserve: reserve)))
    }

    /// How many wait.
    var waitingCount: Int { state.withLock { $0.budget.waitingCount } }

    /// Has `byteCount` bytes of the budget for as long as `body` requests them of a device.
    ///
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled before `body` begins.
    package func withUnits<Result>(
        _ byteCount: Int, of device: DeviceID, isUrgent: Bool = false, isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let id = state.withLock { $0.budget.takeID() }
        guard await wait(id, byteCount, device, isUrgent) else { throw CancellationError() }
        defer {
            let ready = state.withLock { state in
                state.budget.end(id)
                return state.admit()
            }
            for waiter in ready { waiter.resume(returning: true) }
        }
        return try await body()
    }

    /// False if the task was cancelled.
    private func wait(_ id: Int, _ byteCount: Int, _ device: DeviceID, _ isUrgent: Bool) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state -> [Waiter]? in
                    if Task.isCancelled { return nil }
                    state.waiters[id] = continuation
                    state.budget.add(id, byteCount, to: device, isUrgent: isUrgent)
                    return state.admit()
                }
                guard let ready else { return continuation.resume(returning: false) }
                for waiter in ready { waiter.resume(returning: true) }
            }
        } onCancel: {
            let (waiter, ready) = state.withLock { state -> (Waiter?, [Waiter]) in
                guard let waiter = state.waiters.removeValue(forKey: id) else { return (nil, []) }
                // Those behind it may want less.
                state.budget.end(id)
                return (waiter, state.admit())
            }
            waiter?.resume(returning: false)
            for waiter in ready { waiter.resume(returning: true) }
        }
    }
}
