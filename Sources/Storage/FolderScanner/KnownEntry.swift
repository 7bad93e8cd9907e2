import BlockExchange
import Cryptography
import FileAccess

/// What the index says this device has of a name, without its blocks.
package struct KnownEntry: Hashable, Sendable {
    /// Relative to the folder, `/` between components, in normal form C.
    package var name: String
    /// What the disk said when the entry was last seen to be so, which for the time of modification need not be what
    /// was announced, if the disk counts more coarsely. A file whose time of change is unknown is read again; so is one
    /// whose time of change was taken before it was renamed into place.
    package var status: FileStatus
    /// Whether `status.permissions` mean anything: false for links and where they are not synced.
    package var hasPermissions: Bool
    /// What a symbolic link holds.
    package var symlinkTarget: [UInt8]
    /// Bytes of every block of a file but its last; 0 if not known.
    package var blockSize: Int
    /// The key of a file's contents (`FileInfo.blocksHash`); nil if not known.
    package var blocksHash: SHA256Digest?
    /// The index has it as ignored: what it says of the contents is not vouched for.
    package var isIgnored: Bool
    /// The index asks for the contents to be read again, whatever the status says.
    package var mustRescan: Bool
    /// What was seen of attributes; nil if nobody looked.
    package var attributes: FileAttributes?
    /// Attributes that were announced could not be set: each scan says so.
    package var lacksAttributes: Bool

    package init(
        name: String, status: FileStatus, hasPermissions: Bool = true, symlinkTarget: [UInt8] = [], blockSize: Int = 0,
        blocksHash: SHA256Digest? = nil, isIgnored: Bool = false, mustRescan: Bool = false,
        attributes: FileAttributes? = nil, lacksAttributes: Bool = false
    ) {
        self.name = name
        self.status = status
        self.hasPermissions = hasPermissions
        self.symlinkTarget = symlinkTarget
        self.blockSize = blockSize
        self.blocksHash = blocksHash
        self.isIgnored = isIgnored
        self.mustRescan = mustRescan
        self.attributes = attributes
        self.lacksAttributes = lacksAttributes
    }

    var isDirectory: Bool { status.type == .directory }
}

/// Answers what the index knows to be on this disk; entries announced as deleted are not.
///
/// Asked while a scan runs, from one task, one question after the other. Whatever it throws ends the scan.
package protocol KnownEntries: Sendable {
    /// The entries directly in `directory` (`""` for the root), ordered by the UTF-8 bytes of their names.
    ///
    /// - Throws: whatever keeps the index from being read; the scan ends with it.
    func children(of directory: String) async throws -> [KnownEntry]

    /// Those of `names` (components, each once, ordered by their UTF-8 bytes) that are known directly in `directory`,
    /// in that order.
    ///
    /// - Throws: as the other `children`.
    func children(of directory: String, named names: [String]) async throws -> [KnownEntry]
}
