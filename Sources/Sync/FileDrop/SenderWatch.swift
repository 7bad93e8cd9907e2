import Arithmetic
import ControlAPI

/// Ends what waits for the sender of a file when the sender gives up, or when next to nothing comes from it.
struct SenderWatch: Sendable {
    /// As long as in GhostDrop's first version.
    static let stallLimit = Duration.seconds(60)
    /// Fewer bytes in that time are pings. All that its link brings counts: other transfers may be ahead of the file.
    static let leastByteCount: Int64 = 1 << 10

    let cancellation: IncomingDrop.Cancellation
    let clock: any Clock<Duration>

    /// Gives what `work` gives. Throws `dropRefused` when the sender has given up, `timeout` when it says nothing; then `work` is cancelled.
    ///
    /// - Parameter received: the bytes that the sender's link has brought.
    func run<Value: Sendable>(
        received: @escaping @Sendable () -> Int64, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask { try await work() }
            group.addTask {
                await cancellation.wait()
                try cancellation.check()
                throw CancellationError()
            }
            group.addTask {
                var before: Int64
                repeat {
                    before = received()
                    try await clock.sleep(for: Self.stallLimit)
                } while received().subtractingClamped(before) >= Self.leastByteCount
                throw ControlError(
                    .timeout,
                    "The other device stopped sending. Check that it is awake, and have it send the file again.",
                    isRetryable: true)
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}
