import AsyncTools
import Glibc
import Threads

/// The end of a program that this one has started.
enum ChildEnd {
    private static let pause = Duration.milliseconds(50)

    /// Waits until the program has ended; a cancellation ends it.
    ///
    /// - Returns: its status as waitpid(2) gives it: 0 for one that ended by itself and with code 0.
    /// - Throws: `CancellationError`.
    static func status(of child: pid_t) async throws -> Int32 {
        var status: Int32 = 0
        while waitpid(child, &status, WNOHANG) != child {
            do {
                try await Task.sleep(for: pause)
            } catch {
                kill(child, SIGTERM)
                waitpid(child, &status, 0)
                throw error
            }
        }
        return status
    }

    /// Waits until the program has ended, in a thread of its own, so that nothing wakes while it runs. A cancellation leaves it
    /// running.
    ///
    /// - Returns: its status as waitpid(2) gives it; nil if it was cancelled, or there is no thread for it.
    static func status(leaving child: pid_t) async -> Int32? {
        let (ends, end) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(1))
        let isWaiting = OwnedThread.start("mount-end", stackByteCount: 64 << 10) {
            var status: Int32 = 0
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            end.yield(status)
            end.finish()
        }
        guard isWaiting else { return nil }
        for await status in ends { return status }
        return nil
    }
}
