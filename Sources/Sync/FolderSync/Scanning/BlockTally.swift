import BlockExchange
import Cryptography
import FileAccess
import IndexStore

/// What the blocks of one file turned out to be, in their order. Pure.
struct BlockTally: Sendable {
    /// A disk may take half a minute for each block that it cannot read: of a file with so many, the rest is not tried.
    static let unreadableLimit = 16

    private let blocks: [BlockInfo]
    private var next = 0
    private var found: [BlockInfo] = []
    /// Blocks whose bytes are others than those that were hashed, unreadable ones included.
    private(set) var wrong: Int64 = 0
    private(set) var unreadable = 0

    init(_ blocks: [BlockInfo]) {
        self.blocks = blocks
        found.reserveCapacity(blocks.count)
    }

    /// The block that is to be read next; nil at the end.
    var block: BlockInfo? { next < blocks.count && unreadable < Self.unreadableLimit ? blocks[next] : nil }

    /// What the next block's bytes hash to; nil if they cannot be read.
    mutating func note(_ hash: SHA256Digest?) {
        guard next < blocks.count else { return }
        var block = blocks[next]
        next += 1
        if hash == nil { unreadable += 1 }
        if hash != block.hash { wrong += 1 }
        if let hash { block.hash = hash }
        found.append(block)
    }

    /// The hash over all blocks as they were read; nil if some were not.
    var foundHash: SHA256Digest? {
        found.count == blocks.count && unreadable == 0 ? FileInfo.blocksHash(of: found) : nil
    }
}

/// What a check of one file came to.
enum ScrubVerdict: Hashable, Sendable {
    /// Its bytes are those that were hashed.
    case good
    /// Nobody changed it, and its bytes are others.
    case damaged
    /// It is not as the index saw it, or may have been changed unseen: a scan is to look at it.
    case changed

    /// - Parameters:
    ///   - known: the file as the index saw it.
    ///   - before: as it was when its first block was read; nil if it was not there.
    ///   - after: as it was when the last one was read.
    ///   - wrong: blocks that are not what was hashed.
    init(
        known: FileAccess.FileStatus, before: FileAccess.FileStatus?, after: FileAccess.FileStatus?, wrong: Int64
    ) {
        guard let before, let after, before.isUnchanged(since: known), after.isUnchanged(since: known) else {
            self = .changed
            return
        }
        // Written so shortly before the index saw it that a later change does not show: no proof of damage.
        if wrong > 0, known.changed == nil {
            self = .changed
        } else {
            self = wrong > 0 ? .damaged : .good
        }
    }
}

/// When checks begin and go on. Pure.
enum ScrubSchedule {
    /// A check that a person ended is continued by the next one for so many seconds.
    static let resumable: Int64 = 86_400
    /// What one that runs by itself reads in a second.
    static let bytesPerSecond: Int64 = 32 << 20

    /// Whether a check goes on where an earlier one has ended.
    static func continues(_ earlier: ScrubTally, at now: Int64, isScheduled: Bool) -> Bool {
        // A clock that was set back makes it a new one.
        guard earlier.begun <= now else { return false }
        let (age, isHuge) = now.subtractingReportingOverflow(earlier.updated)
        return isScheduled || (!isHuge && age < resumable)
    }

    /// Seconds until a check is due.
    ///
    /// - Parameters:
    ///   - interval: from the beginning of one to that of the next, in seconds.
    ///   - last: the last one that ended; nil if none has.
    ///   - underWay: one that has not ended.
    static func pause(every interval: Int64, last: ScrubTally?, underWay: ScrubTally?, at now: Int64) -> Int64 {
        guard underWay == nil, let last else { return 0 }
        let (age, isHuge) = now.subtractingReportingOverflow(last.begun)
        // Begun in the future: the clock was set back.
        guard !isHuge, age >= 0 else { return 0 }
        return max(0, interval - min(age, interval))
    }

    /// For how long to read nothing, after so many bytes in that time.
    static func rest(after byteCount: Int64, in time: Duration) -> Duration {
        max(.zero, .seconds(Double(byteCount) / Double(bytesPerSecond)) - time)
    }
}
