import AsyncTools
import Glibc

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
}
