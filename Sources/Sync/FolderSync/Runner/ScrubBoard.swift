import AsyncTools
import BlockExchange
import IndexStore
import Names
import Synchronization

/// Which files of a folder are damaged, and whether they are being checked. Read by who serves, promises and shows them.
package final class ScrubBoard: Sendable {
    private struct State {
        /// Nil until the index was asked.
        var damaged: [NameKey: DamagedFile]?
        var running: ScrubTally?
        var last: ScrubTally?
        /// Checks that a person waits for, under way or about to begin.
        var wanted = 0
    }

    private let state = Mutex(State())
    /// One check at a time.
    let turn = Budget(limit: 1)

    package init() {}

    /// What is known of a file that is damaged; nil for others.
    package func damaged(_ name: String) -> DamagedFile? { state.withLock { $0.damaged?[name] } }

    /// A damaged file by its number on the disk, which it keeps when its user renames it.
    func damaged(inode: UInt64) -> DamagedFile? {
        state.withLock { $0.damaged?.values.first { $0.inode == inode } }
    }

    /// In the order of their names.
    package var allDamaged: [DamagedFile] {
        state.withLock { Array(($0.damaged ?? [:]).values) }.sorted {
            $0.name.utf8.lexicographicallyPrecedes($1.name.utf8)
        }
    }

    /// The check that is under way; nil if none is.
    package var running: ScrubTally? { state.withLock { $0.running } }
    /// The last check of the whole folder that ended, so far as it was read.
    package var last: ScrubTally? { state.withLock { $0.last } }

    // MARK: for the runner

    /// Whether the index was not asked yet.
    var isUnread: Bool { state.withLock { $0.damaged == nil } }
    var hasDamaged: Bool { state.withLock { $0.damaged?.isEmpty == false } }

    func set(damaged: [DamagedFile]) {
        let byName = Dictionary(damaged.map { (NameKey($0.name), $0) }, uniquingKeysWith: { first, _ in first })
        state.withLock { $0.damaged = byName }
    }

    func note(_ file: DamagedFile) { state.withLock { $0.damaged?[file.name] = file } }

    func set(running: ScrubTally?) { state.withLock { $0.running = running } }
    func set(last: ScrubTally?) { state.withLock { $0.last = last } }

    /// Whether a check that nobody waits for is to make way.
    var isWanted: Bool { state.withLock { $0.wanted > 0 } }

    /// A person wants a check. False if one that a person waits for is under way.
    func beginWanting() -> Bool {
        state.withLock { state in
            guard state.wanted == 0 else { return false }
            state.wanted += 1
            return true
        }
    }

    func endWanting() { state.withLock { $0.wanted -= 1 } }
}
