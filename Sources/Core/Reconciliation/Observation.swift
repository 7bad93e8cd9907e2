import BlockExchange
import Cryptography

/// What a look at the disk found under a name.
package enum Observation: Equatable, Sendable {
    case missing
    /// Something that cannot be synchronised: a socket, a device.
    case unsupported
    case item(ObservedItem)
}

/// A file, directory or symbolic link on this disk.
package struct ObservedItem: Equatable, Sendable {
    package var kind: FileInfo.Kind
    /// Bytes; only a file's counts.
    package var size: Int64
    /// Unix mode bits; only 0o777 count.
    package var permissions: UInt32
    /// Time of the last change: seconds since 1970 and nanoseconds within. A directory's is not compared.
    package var modifiedSeconds: Int64
    package var modifiedNanoseconds: Int32
    /// Bytes of every block of a file but the last.
    package var blockSize: Int32
    package var blocks: [BlockInfo]
    /// What a file's content is compared by; nil if it was not read.
    package var blocksHash: SHA256Digest?
    /// The text of a symbolic link.
    package var symlinkTarget: [UInt8]
    /// What the folder syncs of these; nil if nobody looked.
    package var attributes: FileAttributes?

    /// - parameter blocksHash: computed from `blocks` if it is not given.
    package init(
        kind: FileInfo.Kind, size: Int64 = 0, permissions: UInt32 = 0o644, modifiedSeconds: Int64 = 0,
        modifiedNanoseconds: Int32 = 0, blockSize: Int32 = 0, blocks: [BlockInfo] = [],
        blocksHash: SHA256Digest? = nil, symlinkTarget: [UInt8] = [], attributes: FileAttributes? = nil
    ) {
        self.kind = kind
        self.size = size
        self.permissions = permissions
        self.modifiedSeconds = modifiedSeconds
        self.modifiedNanoseconds = modifiedNanoseconds
        self.blockSize = blockSize
        self.blocks = blocks
        self.blocksHash = blocksHash ?? FileInfo.blocksHash(of: blocks)
        self.symlinkTarget = symlinkTarget
        self.attributes = attributes
    }

    /// The entry that says of `name` what is on this disk, so far as the disk says it.
    func file(named name: String, rules: FolderRules) -> FileInfo {
        FileInfo(
            name: name, kind: kind.isSymlink ? .symlink : kind, size: kind == .file ? size : 0,
            permissions: kind.isSymlink ? FileInfo.unknownPermissions : permissions & FileInfo.permissionMask,
            modifiedSeconds: modifiedSeconds, modifiedNanoseconds: modifiedNanoseconds,
            hasNoPermissions: rules.ignoresPermissions(at: name) || kind.isSymlink,
            blockSize: kind == .file ? blockSize : 0, blocks: kind == .file ? blocks : [],
            symlinkTarget: kind.isSymlink ? symlinkTarget : [], blocksHash: kind == .file ? blocksHash : nil)
    }
}
