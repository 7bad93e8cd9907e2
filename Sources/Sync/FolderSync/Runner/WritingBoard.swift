import BlockExchange
import Synchronization

/// Names that programs have open for writing through a mount. What is open is neither announced nor replaced: a file that lost its
/// name would take what is written to it along. Written by mounts; read by scans, and by who puts something in the place of a file.
package final class WritingBoard: Sendable {
    private struct Opened {
        /// How many have the name open.
        var count: Int
        /// The next scan announces what it finds, although more may be written.
        var isTold = false
    }

    private struct State {
        var open: [String: Opened] = [:]
        /// Names that are told to nobody until then.
        var quiet: [String: MonotonicTime] = [:]
        /// What is being put in the place of these.
        var placing: [String: Int] = [:]
    }

    /// Quiet names beyond this are announced as any other.
    private static let quietLimit = 10_000
    private let state = Mutex(State())

    package init() {}

    // MARK: for mounts

    /// Has the name neither announced nor replaced until `close`. False if something is being put in its place right now: then
    /// the caller tries again.
    package func open(_ name: String) -> Bool {
        state.withLock { state in
            guard state.placing[name] == nil else { return false }
            state.open[name, default: Opened(count: 0)].count += 1
            return true
        }
    }

    package func close(_ name: String) {
        state.withLock { state in
            guard let opened = state.open[name] else { return }
            state.open[name] = opened.count > 1 ? Opened(count: opened.count - 1, isTold: opened.isTold) : nil
        }
    }

    /// Has the next scan announce what it finds of a name, once, although it is open.
    package func tell(_ name: String) { state.withLock { $0.open[name]?.isTold = true } }

    /// Has a name that a program uses while it saves a file told to nobody until then.
    package func quiet(_ name: String, until time: MonotonicTime, at now: MonotonicTime) {
        state.withLock { state in
            // Names that were deleted again are never scanned: nobody else removes them.
            if state.quiet.count >= Self.quietLimit { state.quiet = state.quiet.filter { $0.value > now } }
            if state.quiet.count < Self.quietLimit { state.quiet[name] = time }
        }
    }

    /// What is open under a name, or below it, is so under another. Gives the names that are open there now, by those before.
    package func renamed(_ from: String, to: String) -> [String: String] {
        state.withLock { state in
            state.quiet[from] = nil
            var moved: [String: String] = [:]
            for name in state.open.keys where name == from || name.utf8.starts(with: (from + "/").utf8) {
                moved[name] = to + (String(name.utf8.dropFirst(from.utf8.count)) ?? "")
            }
            for (old, new) in moved {
                guard let opened = state.open.removeValue(forKey: old) else { continue }
                state.open[new, default: Opened(count: 0)].count += opened.count
            }
            return moved
        }
    }

    // MARK: for the folder

    /// Whether the name is open.
    func isOpen(_ name: String) -> Bool { state.withLock { $0.open[name] != nil } }

    /// Whether nothing is said of the name for now. To be asked once for each scan.
    func isUntold(_ name: String, at now: MonotonicTime) -> Bool {
        state.withLock { state in
            if let opened = state.open[name] {
                state.open[name]?.isTold = false
                return !opened.isTold
            }
            guard let end = state.quiet[name] else { return false }
            if end <= now { state.quiet[name] = nil }
            return end > now
        }
    }

    /// Takes names for putting something in their places, until `placed`; gives those that it may not be put in, which are open.
    func place(_ names: some Sequence<String>) -> Set<String> {
        state.withLock { state in
            var refused: Set<String> = []
            for name in names {
                if state.open[name] != nil { refused.insert(name) } else { state.placing[name, default: 0] += 1 }
            }
            return refused
        }
    }

    /// The names that were taken, without those that were refused.
    func placed(_ names: some Sequence<String>) {
        state.withLock { state in
            for name in names {
                let count = state.placing[name] ?? 0
                state.placing[name] = count > 1 ? count - 1 : nil
            }
        }
    }
}
