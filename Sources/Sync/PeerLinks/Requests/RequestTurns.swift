import BlockExchange
import Fetching
import SyncDecisions
import Synchronization

/// Who may ask for how much over one link: what a person waits for goes before what is to be here some day, and what was begun
/// first before what was begun later, so that blocks get done one after the other.
final class RequestTurns<Window: RequestWindow>: Sendable {
    /// A place in line, kept for all slices of a block.
    struct Ticket: Comparable, Sendable {
        fileprivate var isBulk: Bool
        fileprivate var number: Int

        static func < (left: Ticket, right: Ticket) -> Bool {
            left.isBulk == right.isBulk ? left.number < right.number : right.isBulk
        }
    }

    private struct Waiter {
        var id: Int
        var ticket: Ticket
        var count: Int
        var continuation: CheckedContinuation<Int?, Never>
    }

    private struct State {
        var window: Window
        /// In the order of their tickets.
        var waiters: [Waiter] = []
        var nextID = 0
        var isClosed = false

        init(window: Window) { self.window = window }
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> MonotonicTime

    init(_ window: Window, now: @escaping @Sendable () -> MonotonicTime) {
        state = Mutex(State(window: window))
        self.now = now
    }

    /// How much has been under way, and how fast it came.
    var window: Window { state.withLock { $0.window } }

    /// A place behind all who have one, but before all bulk if this is none.
    func ticket(isBulk: Bool) -> Ticket {
        state.withLock { state in
            state.nextID += 1
            return Ticket(isBulk: isBulk, number: state.nextID)
        }
    }

    /// Asks for at most `count` bytes by `body`, which gets how many it may ask for.
    ///
    /// - Throws: `RequestError.linkLost` if the link has gone before its turn; `CancellationError`; what `body` throws.
    func withTurn<Result: Sendable>(
        atMost count: Int, _ ticket: Ticket, _ body: (_ count: Int) async throws -> Result
    ) async throws -> Result {
        guard let slice = await take(count, ticket) else {
            throw Task.isCancelled ? CancellationError() : RequestError.linkLost
        }
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
    var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// The link is gone: nobody gets a turn any more.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }

    private func take(_ count: Int, _ ticket: Ticket) async -> Int? {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Int?, Never>) in
                let isOver = state.withLock { state in
                    if Task.isCancelled || state.isClosed { return true }
                    let waiter = Waiter(id: id, ticket: ticket, count: count, continuation: continuation)
                    let place = state.waiters.lastIndex { $0.ticket <= ticket }.map { $0 + 1 } ?? 0
                    state.waiters.insert(waiter, at: place)
                    return false
                }
                if isOver { continuation.resume(returning: nil) } else { finish { _ in } }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: nil)
        }
    }

    /// Changes the window, and lets those go ahead for whom there is room then.
    private func finish(_ change: (inout Window) -> Void) {
        let ready = state.withLock { state in
            change(&state.window)
            var ready: [(Waiter, Int)] = []
            while let next = state.waiters.first, let slice = state.window.take(atMost: next.count, at: now()) {
                state.waiters.removeFirst()
                ready.append((next, slice))
            }
            return ready
        }
        for (waiter, slice) in ready { waiter.continuation.resume(returning: slice) }
    }
}
