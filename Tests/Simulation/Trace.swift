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

    /// A run has some thousand lines. One that has so many never ends, and nobody can stop what an agent does in it.
    private static let limit = 200_000

    private let seed: UInt64
    private let state = Mutex(State())

    init(seed: UInt64) { self.seed = seed }

    func note(_ line: String) { state.withLock { append(line, to: &$0) } }

    func noteChange(_ line: String) {
        state.withLock { state in
            append(line, to: &state)
            state.changeCount += 1
        }
    }

    private func append(_ line: String, to state: inout State) {
        state.lines.append(line)
        guard state.lines.count == Self.limit else { return }
        let last = state.lines.suffix(40).joined(separator: "\n      ")
        fatalError("seed \(seed) does not come to an end:\n      \(last)")
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
