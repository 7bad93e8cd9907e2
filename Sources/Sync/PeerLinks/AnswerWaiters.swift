import Synchronization

/// Who waits on a link for answers of one kind, by the ids of the requests.
final class AnswerWaiters<Answer: Sendable>: Sendable {
    private let waiting = Mutex<[Int32: CheckedContinuation<Answer, any Error>]>([:])

    func add(_ id: Int32, _ continuation: CheckedContinuation<Answer, any Error>) {
        waiting.withLock { $0[id] = continuation }
    }

    /// The one who waits for an answer, and waits no more; nil if nobody does.
    func take(_ id: Int32) -> CheckedContinuation<Answer, any Error>? {
        waiting.withLock { $0.removeValue(forKey: id) }
    }

    /// Tells all who wait that no answer comes.
    func fail(_ error: any Error) {
        let all = waiting.withLock { waiting in
            defer { waiting = [:] }
            return waiting
        }
        for (_, waiter) in all.sorted(by: { $0.key < $1.key }) { waiter.resume(throwing: error) }
    }
}
