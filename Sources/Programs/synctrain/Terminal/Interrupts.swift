import Dispatch
import Glibc

/// What Ctrl-C does.
enum Interrupts {
    /// Runs `body` and cancels it at SIGINT, then throws `CancellationError`. What does not end within a second, or at a
    /// second SIGINT, ends with the process and 130.
    static func cancelling(_ body: @escaping @Sendable () async throws -> Void) async throws {
        signal(SIGINT, SIG_IGN)
        let (interrupts, continuation) = AsyncStream.makeStream(of: Void.self)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            if case .terminated = continuation.yield() { _exit(130) }
            continuation.finish()
            DispatchQueue.global().asyncAfter(deadline: .now() + 1) { _exit(130) }
        }
        source.resume()
        defer { source.cancel() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask {
                for await _ in interrupts { throw CancellationError() }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
