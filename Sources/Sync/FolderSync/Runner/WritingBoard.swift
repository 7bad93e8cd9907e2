import BlockExchange
import Names
import Synchronization

/// Names that programs have open for writing through a mount. What is open is neither announced nor replaced: a file that lost its
/// name would take what is written to it along. Written by mounts; read by scans, and by who puts something in the place of a file.
package final class WritingBoard: Sendable {
    /// A file that somebody has open for writing, whatever name it gets meanwhile.
    package struct Hold: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Opened {
        /// How many have the name open.
        var count: Int
        /// The next scan announces what it finds, although more may be written.
        var isAnnouncedOnce = false
    }

    private struct State {
        var open: [NameKey: Opened] = [:]
        var holds: [Hold: String] = [:]
        var nextHold: UInt64 = 1
        /// Names that are not announced until then.
        var quiet: [NameKey: MonotonicTime] = [:]
        /// What is being put in the place of these.
        var placing: [NameKey: Int] = [:]
    }

    /// Quiet names beyond this are announced as any other.
    private static let quietLimit = 10_000
    private let state = Mutex(State())

    package init() {}

    // MARK: for mounts

    /// Has the name neither announced nor replaced until `close`. Nil if something is being put in its place right now: then
    /// the caller tries again.
    package func open(_ name: String) -> Hold? {
        state.withLock { state in
            guard state.placing[name] == nil else { return nil }
            let hold = Hold(number: state.nextHold)
            state.nextHold &+= 1
            state.holds[hold] = name
            state.open[name, default: Opened(count: 0)].count += 1
            return hold
        }
    }

    /// Gives the name that the file has by now; nil if it was closed before.
    @discardableResult
    package func close(_ hold: Hold) -> String? {
        state.withLock { state in
            guard let name = state.holds.removeValue(forKey: hold) else { return nil }
            if let opened = state.open[name], opened.count > 1 {
                state.open[name]?.count -= 1
            } else {
                state.open[name] = nil
            }
            return name
        }
    }

    /// Has the next scan announce what it finds of these files, once, although they are open. Gives their names.
    ///
    /// - Parameter isExcluded: which names are not announced as long as they are open.
    package func announceOnce(
        _ holds: some Sequence<Hold>, unless isExcluded: (String) -> Bool = { _ in false }
    ) -> Set<NameKey> {
        state.withLock { state in
            let names = Set(names: holds.compactMap { state.holds[$0] }.filter { !isExcluded($0) })
            for name in names { state.open[name]?.isAnnouncedOnce = true }
            return names
        }
    }

    /// Has a name that a program uses while it saves a file not announced until then.
    package func quiet(_ name: String, until time: MonotonicTime, at now: MonotonicTime) {
        state.withLock { state in
            // Names that were deleted again are never scanned: nobody else removes them.
            if state.quiet.count >= Self.quietLimit { state.quiet = state.quiet.filter { $0.value > now } }
            if state.quiet.count < Self.quietLimit { state.quiet[name] = time }
        }
    }

    /// What is open under a name, or below it, is so under another from now on.
    package func rename(_ from: String, to: String) {
        state.withLock { state in
            state.quiet[from] = nil
            for (hold, name) in state.holds where name.isAtOrBelow(from) {
                let new = to + name.behind(from)
                state.holds[hold] = new
                state.open[name] = nil
                state.open[new, default: Opened(count: 0)].count += 1
            }
        }
    }

    // MARK: for the folder

    /// Whether the name is open.
    func isOpen(_ name: String) -> Bool { state.withLock { $0.open[name] != nil } }

    /// Whether a scan may announce what it found of the name. Uses up what `announceOnce` allowed.
    func takeAnnouncement(of name: String, at now: MonotonicTime) -> Bool {
        state.withLock { state in
            if let opened = state.open[name] {
                state.open[name]?.isAnnouncedOnce = false
                return opened.isAnnouncedOnce
            }
            guard let end = state.quiet[name] else { return true }
            if end <= now { state.quiet[name] = nil }
            return end <= now
        }
    }

    /// Takes names for putting something in their places, until `placed`; gives those that it may not be put in, which are open.
    func place(_ names: some Sequence<String>) -> Set<NameKey> {
        state.withLock { state in
            var refused: Set<NameKey> = []
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
