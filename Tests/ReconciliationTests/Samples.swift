import BlockExchange
import Cryptography
import Reconciliation

/// Short ways to say what tests are about.
enum Sample {
    static let me = ShortID(rawValue: 5)
    static let other = ShortID(rawValue: 3)
    static let third = ShortID(rawValue: 9)
    static let now: Int64 = 1000

    static func rules(_ kind: FolderKind = .sendReceive) -> FolderRules { FolderRules(kind: kind, device: me) }

    static func version(_ counters: (ShortID, UInt64)...) -> VersionVector {
        VersionVector(counters.map { VersionVector.Counter(id: $0.0, value: $0.1) })
    }

    static func blocks(_ content: String) -> [BlockInfo] {
        [BlockInfo(offset: 0, size: Int32(content.utf8.count), hash: SHA256.digest(Array(content.utf8)))]
    }

    static func hash(_ content: String) -> SHA256Digest? { FileInfo.blocksHash(of: blocks(content)) }

    static func file(
        _ content: String, _ version: VersionVector, name: String = "f", modified: Int64 = 100,
        permissions: UInt32 = 0o644, by device: ShortID = other, weakHash: UInt32 = 0
    ) -> FileInfo {
        var blocks = blocks(content)
        blocks[0].weakHash = weakHash
        return FileInfo(
            name: name, size: Int64(content.utf8.count), permissions: permissions, modifiedSeconds: modified,
            version: version, modifiedBy: device, blockSize: 131_072, blocks: blocks,
            blocksHash: FileInfo.blocksHash(of: blocks))
    }

    static func directory(_ version: VersionVector, name: String = "f", permissions: UInt32 = 0o755) -> FileInfo {
        FileInfo(
            name: name, kind: .directory, permissions: permissions, modifiedSeconds: 100, version: version,
            modifiedBy: other)
    }

    static func symlink(_ target: String, _ version: VersionVector, name: String = "f") -> FileInfo {
        FileInfo(
            name: name, kind: .symlink, modifiedSeconds: 100, hasNoPermissions: true, version: version,
            modifiedBy: other, symlinkTarget: Array(target.utf8))
    }

    static func tombstone(
        _ version: VersionVector, name: String = "f", kind: FileInfo.Kind = .file, modified: Int64 = 500
    ) -> FileInfo {
        FileInfo(
            name: name, kind: kind, modifiedSeconds: modified, isDeleted: true, version: version, modifiedBy: other)
    }

    static func here(_ file: FileInfo, _ flags: LocalVersion.Flags = []) -> LocalVersion {
        LocalVersion(file: file, flags: flags, isOnDisk: !file.isDeleted)
    }

    static func item(
        _ content: String, modified: Int64 = 100, permissions: UInt32 = 0o644
    ) -> ObservedItem {
        ObservedItem(
            kind: .file, size: Int64(content.utf8.count), permissions: permissions, modifiedSeconds: modified,
            blockSize: 131_072, blocks: blocks(content))
    }

    static func link(_ target: String) -> ObservedItem {
        ObservedItem(kind: .symlink, modifiedSeconds: 100, symlinkTarget: Array(target.utf8))
    }

    static func directoryItem(_ permissions: UInt32 = 0o755) -> ObservedItem {
        ObservedItem(kind: .directory, permissions: permissions, modifiedSeconds: 7)
    }
}
