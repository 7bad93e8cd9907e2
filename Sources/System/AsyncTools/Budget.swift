import Synchronization

/// A limit that many tasks share, in bytes or in turns: who wants more than is left waits in line, behind those who are urgent.
package final class Budget: Sendable {
    private struct Waiter {
        var id: Int
        var count: Int
        var isUrgent: Bool
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var available: Int
        var waiters: [Waiter] = []
        var nextID = 0
        var isClosed = false

        /// Takes out those at the head of the line for whom there is enough.
        mutating func admit() -> [Waiter] {
            var admitted: [Waiter] = []
            while let first = waiters.first, first.count <= available {
                available -= first.count
                admitted.append(waiters.removeFirst())
            }
            return admitted
        }
    }

    private let limit: Int
    private let state: Mutex<State>

    package init(limit: Int) {
        self.limit = limit
        state = Mutex(State(available: limit))
    }

    /// Takes `count` units of the budget (all that there can be, if it is less) for as long as `body` runs.
    ///
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled before `body` begins.
    package func withUnits<Result>(
        _ count: Int, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async throws -> Result {
        let count = min(count, limit)
        guard await take(count) else { throw CancellationError() }
        defer { give(count) }
        return try await body()
    }

    /// Takes `count` units, waiting in line for them; false if the task was cancelled or the budget closed.
    package func take(_ count: Int, isUrgent: Bool = false) async -> Bool {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = Waiter(id: id, count: count, isUrgent: isUrgent, continuation: continuation)
                let ready: [Waiter]? = state.withLock { state in
                    if Task.isCancelled || state.isClosed { return nil }
                    let firstOther = isUrgent ? state.waiters.firstIndex { !$0.isUrgent } : nil
                    state.waiters.insert(waiter, at: firstOther ?? state.waiters.endIndex)
                    return state.admit()
                }
                guard let ready else { return continuation.resume(returning: false) }
                for waiter in ready { waiter.continuation.resume(returning: true) }
            }
        } onCancel: {
            // Those behind it may want less.
            let (waiter, ready) = state.withLock { state in
                let waiter = state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
                return (waiter, waiter == nil ? [] : state.admit())
            }
            waiter?.continuation.resume(returning: false)
            for waiter in ready { waiter.continuation.resume(returning: true) }
        }
    }

    /// How many wait in line.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Takes `count` units if they are free now and nobody waits for some.
    func takeIfFree(_ count: Int) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.waiters.isEmpty, state.available >= count else { return false }
            state.available -= count
            return true
        }
    }

    package func give(_ count: Int) {
        let ready = state.withLock { state in
            state.available += count
            return state.admit()
        }
        for waiter in ready { waiter.continuation.resume(returning: true) }
    }

    /// Nobody gets anything any more; those who wait are let go.
    package func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: false) }
    }
}
