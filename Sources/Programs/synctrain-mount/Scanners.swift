import Glibc
import MountRules
import Synchronization

/// Which callers are refused what is not here: programs that read all they see, and who tries again in their place.
final class Scanners: Sendable {
    private let attempts = Mutex(SecondAttempts())
    /// Names that the configuration adds, or takes out with `!`.
    let names = Mutex<[String]>([])

    /// Whether a thread that opens a file is one of them.
    func areCalling(_ thread: pid_t, opening file: UInt64) -> Bool {
        if Caller.isScanner(thread, names.withLock { $0 }) {
            // Who started it may try itself as soon as it has failed.
            let parent = Caller.parent(of: thread)
            attempts.withLock { $0.noteScanner(of: file, startedBy: parent, at: Clock.now) }
            return true
        }
        // Mostly there was none, and /proc need not be asked.
        guard !attempts.withLock({ $0.isEmpty }) else { return false }
        let process = Caller.process(of: thread)
        return attempts.withLock { $0.take(file, by: process, at: Clock.now) }
    }
}
