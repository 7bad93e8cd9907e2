import Synchronization

/// A clock that moves only when told to.
package final class ManualClock: Clock, Sendable {
    package struct Instant: InstantProtocol {
        package var offset: Duration

        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var nextSleeper = 0
    }

    private let state = Mutex(State())

    package init() {}

    package var now: Instant { state.withLock { $0.now } }
    package var minimumResolution: Duration { .nanoseconds(1) }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.nextSleeper += 1
            return state.nextSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isDue = state.withLock { state in
                    if deadline <= state.now { return true }
                    state.sleepers[number] = (deadline, continuation)
                    return false
                }
                if isDue { continuation.resume() } else if Task.isCancelled { wake(number) }
            }
        } onCancel: {
            wake(number)
        }
        try Task.checkCancellation()
    }

    /// When the first sleeper is to wake; nil if nobody sleeps.
    package var nextDeadline: Instant? { state.withLock { $0.sleepers.values.map(\.deadline).min() } }

    /// How many tasks sleep.
    package var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Advances to the moment at which the first of at least `count` sleepers is to wake, once so many sleep. For tests in
    /// which the number of tasks that come to sleep is known.
    package func advance(whenAsleep count: Int) async {
        while !Task.isCancelled, sleeperCount < count { await Task.yield() }
        guard let first = nextDeadline else { return }
        advance(by: max(.zero, now.duration(to: first)))
    }

    /// Advances to the moment at which the first sleeper is to wake, if that is at most `limit` away. For tests in which short
    /// pauses are over at once and long ones never.
    package func advance(within limit: Duration) {
        guard let first = nextDeadline else { return }
        let pause = now.duration(to: first)
        if pause <= limit { advance(by: max(.zero, pause)) }
    }

    package func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let due = state.sleepers.filter { $0.value.deadline <= now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    private func wake(_ number: Int) {
        let continuation = state.withLock { $0.sleepers.removeValue(forKey: number)?.continuation }
        continuation?.resume(throwing: CancellationError())
    }
}
