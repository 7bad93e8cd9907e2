import Synchronization

/// The answer to whether a link is admitted, for the one task that waits for it. The first answer counts.
final class Admission: Sendable {
    private struct State {
        var answer: Bool?
        var waiter: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())

    func answer(_ isAdmitted: Bool) {
        let waiter = state.withLock { state in
            if state.answer == nil { state.answer = isAdmitted }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: isAdmitted)
    }

    /// Returns when there is an answer; false when the task is cancelled before.
    func wait() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state in
                    if state.answer == nil { state.waiter = continuation }
                    return state.answer
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            answer(false)
        }
    }
}
