import BlockExchange
import Cryptography
import FileAccess

/// A difference between the disk and the index.
package enum Finding: Hashable, Sendable {
    /// New, or with other contents than known, or not vouched for until now.
    case changed(ScannedEntry)
    /// The contents are as known; permissions, time of modification or attributes are as given and must be announced.
    /// Attributes are nil if nobody looked.
    case metadata(KnownEntry, FileStatus, FileAttributes?)
    /// Nothing to announce: only what the file is recognised by on this disk (inode, time of change) is new. To be
    /// noted, or the contents are read again in every scan.
    case status(KnownEntry, FileStatus)
    /// Known, selected and not on this disk any more: deleted here. What was below a directory comes before it.
    case gone(KnownEntry)
    /// Known and not selected (any more): to be marked as ignored or forgotten, never to be announced as deleted. What
    /// is below a directory comes before it.
    case unkept(KnownEntry, Presence)
    /// A file that is being put together, or was when that ended before its time. Never synced.
    case temporary(String)
    /// What keeps a name from being synced. Nothing at or below it is reported as gone.
    case problem(FileProblem)

    /// The name in question; of a problem, as shown to people.
    package var name: String {
        switch self {
        case .changed(let entry): entry.name
        case .metadata(let entry, _, _), .status(let entry, _), .gone(let entry), .unkept(let entry, _): entry.name
        case .temporary(let name): name
        case .problem(let problem): problem.name
        }
    }

    /// Blocks that the finding carries.
    var blockCount: Int {
        guard case .changed(let entry) = self, case .file(let contents) = entry.contents else { return 0 }
        return contents.blocks.count
    }
}

/// Whether something that is not kept is on this disk.
package enum Presence: String, Hashable, Sendable {
    case onDisk = "on-disk"
    /// Not there, or something of another type is.
    case absent
    /// In a branch that was not opened, because nothing in it is selected.
    case notLookedAt = "not-looked-at"
}

/// What lies on the disk at a name.
package struct ScannedEntry: Hashable, Sendable {
    package enum Contents: Hashable, Sendable {
        case file(FileContents)
        case directory
        /// What a symbolic link holds: UTF-8, not empty.
        case symlink([UInt8])
    }

    /// Relative to the folder, `/` between components, in normal form C.
    package let name: String
    package let contents: Contents
    /// What the disk said before and after the contents were read. `changed` is nil if the file was written so shortly
    /// before that another write might leave the same times: noted like this, it is read again in the next scan.
    package let status: FileStatus
    /// What the index said, if it knew the name.
    package let known: KnownEntry?
    /// Of a file or directory; nil if nobody looked.
    package var attributes: FileAttributes? = nil

    /// Whether a later change cannot go unnoticed; if not, a scan of the name in a few seconds settles it.
    package var isSettled: Bool { status.changed != nil }
}

/// The blocks of a file as BEP announces them.
package struct FileContents: Hashable, Sendable {
    package let size: Int64
    /// Bytes of every block but the last: a size of BEP's.
    package let blockSize: Int
    /// Never empty: a file without bytes has one block of none.
    package let blocks: [BlockInfo]
    /// The key of the contents (`FileInfo.blocksHash`).
    package let blocksHash: SHA256Digest
}

/// Findings in the order of names.
///
/// A directory comes before what is in it and siblings in the order of their UTF-8 bytes; but what is gone or not kept
/// comes before the directory that it was in.
package struct ScanBatch: Hashable, Sendable {
    package let findings: [Finding]
}

/// What a scan did.
package struct ScanReport: Hashable, Sendable {
    /// Directories that were opened and listed.
    package var directoriesOpened = 0
    /// Files, links and directories seen that are kept.
    package var entriesSeen = 0
    /// How many of those are directories.
    package var directoriesSeen = 0
    package var filesHashed = 0
    package var bytesHashed: Int64 = 0
    package var changed = 0
    package var metadata = 0
    package var status = 0
    package var gone = 0
    package var unkept = 0
    package var temporary = 0
    package var problems = 0
    /// Files whose contents another write might still change unnoticed (`ScannedEntry.isSettled`).
    package var unsettled = 0

    package init() {}

    mutating func count(_ finding: Finding) {
        switch finding {
        case .changed: changed += 1
        case .metadata: metadata += 1
        case .status: status += 1
        case .gone: gone += 1
        case .unkept: unkept += 1
        case .temporary: temporary += 1
        case .problem: problems += 1
        }
    }
}
