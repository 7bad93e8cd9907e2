import Dispatch
import Glibc

/// What Ctrl-C does, and what ends a program from outside: SIGTERM, and SIGHUP of a terminal that is closed.
enum Interrupts {
    static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// A command that a signal has ended.
    struct Interruption: Error {
        let signal: CInt

        /// As shells have it: 130 for Ctrl-C.
        var exitCode: CInt { 128 + signal }
    }

    /// Runs `body` and cancels it at one of `signals`, then throws `Interruption`. What does not end within a second, or at a
    /// second signal, ends with the process.
    static func cancelling(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let (interrupts, continuation) = AsyncStream.makeStream(of: CInt.self)
        let sources = signals.filter { !isIgnored($0) }.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                let code = Interruption(signal: number).exitCode
                if case .terminated = continuation.yield(number) { _exit(code) }
                continuation.finish()
                DispatchQueue.global().asyncAfter(deadline: .now() + 1) { _exit(code) }
            }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask {
                for await number in interrupts { throw Interruption(signal: number) }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Whether this process was started so that the signal does nothing, as `nohup` has it for SIGHUP.
    private static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        // SIG_IGN and SIG_DFL are addresses that C does not call.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }
}
