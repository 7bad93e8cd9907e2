import Cryptography
import Synchronization

/// What happened in a run, line by line: two runs are the same exactly if their traces are.
final class Trace: Sendable {
    private struct State {
        var lines: [String] = []
        /// Changes of disks and indexes, by which quiet is recognised.
        var changeCount = 0
        var violations: [String] = []
    }

    private let state = Mutex(State())

    func note(_ line: String) { state.withLock { $0.lines.append(line) } }

    func noteChange(_ line: String) {
        state.withLock { state in
            state.lines.append(line)
            state.changeCount += 1
        }
    }

    /// Something that must not be.
    func violate(_ rule: String) {
        state.withLock { state in
            state.lines.append("VIOLATION \(rule)")
            state.violations.append(rule)
        }
    }

    var lines: [String] { state.withLock { $0.lines } }
    var changeCount: Int { state.withLock { $0.changeCount } }
    var violations: [String] { state.withLock { $0.violations } }

    /// SHA-256 over all lines.
    var hash: String { SHA256.digest(Array(lines.joined(separator: "\n").utf8)).description }
}
