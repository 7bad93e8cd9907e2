import BlockExchange
import Synchronization

/// Who may ask for how much over one slow link: what a person waits for goes before what is to be here some day.
final class SliceTurns: Sendable {
    private struct Waiter {
        var id: Int
        var count: Int
        var continuation: CheckedContinuation<Int?, Never>
    }

    private struct State {
        var window = SliceWindow()
        var urgent: [Waiter] = []
        var bulk: [Waiter] = []
        var nextID = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> MonotonicTime

    init(now: @escaping @Sendable () -> MonotonicTime) { self.now = now }

    /// Gets a slice of at most `count` bytes by `body`, which is told how many it may be.
    ///
    /// Throws `CancellationError` when the task is cancelled or the link has gone before its turn, and what `body` throws.
    func withSlice<Result: Sendable>(
        atMost count: Int, isBulk: Bool, _ body: (_ count: Int) async throws -> Result
    ) async throws -> Result {
        guard let slice = await take(count, isBulk: isBulk) else { throw CancellationError() }
        do {
            let result = try await body(slice)
            finish { $0.arrived(slice, at: self.now()) }
            return result
        } catch {
            finish { $0.giveBack(slice) }
            throw error
        }
    }

    /// How many wait for their turn.
    var waitingCount: Int { state.withLock { $0.urgent.count + $0.bulk.count } }

    /// The link is gone: nobody gets a turn any more.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { (state.urgent, state.bulk) = ([], []) }
            return state.urgent + state.bulk
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }

    private func take(_ count: Int, isBulk: Bool) async -> Int? {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Int?, Never>) in
                let isOver = state.withLock { state in
                    if Task.isCancelled || state.isClosed { return true }
                    let waiter = Waiter(id: id, count: count, continuation: continuation)
                    if isBulk { state.bulk.append(waiter) } else { state.urgent.append(waiter) }
                    return false
                }
                if isOver { continuation.resume(returning: nil) } else { finish { _ in } }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.urgent.firstIndex { $0.id == id }.map { state.urgent.remove(at: $0) }
                    ?? state.bulk.firstIndex { $0.id == id }.map { state.bulk.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: nil)
        }
    }

    /// Changes the window, and lets those go ahead for whom there is room then.
    private func finish(_ change: (inout SliceWindow) -> Void) {
        let ready = state.withLock { state in
            change(&state.window)
            var ready: [(Waiter, Int)] = []
            while let next = state.urgent.first ?? state.bulk.first,
                let slice = state.window.take(atMost: next.count, at: now())
            {
                if state.urgent.isEmpty { state.bulk.removeFirst() } else { state.urgent.removeFirst() }
                ready.append((next, slice))
            }
            return ready
        }
        for (waiter, slice) in ready { waiter.continuation.resume(returning: slice) }
    }
}
