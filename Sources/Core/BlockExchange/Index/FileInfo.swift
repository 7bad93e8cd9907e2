import Cryptography

/// One entry of an index: what a device says of one name in a folder (BEP v1, FileInfo).
public struct FileInfo: Equatable, Sendable {
    public enum Kind: Int32, Sendable {
        case file = 0
        case directory = 1
        /// Older kinds of symbolic link, read as `symlink`'s equals and never written.
        case symlinkToFile = 2
        case symlinkToDirectory = 3
        case symlink = 4

        public var isSymlink: Bool { rawValue >= 2 }
    }

    /// Relative to the folder, `/` between components, UTF-8 in normal form C; canonical if it came from a peer.
    public var name: String
    public var kind: Kind
    /// Bytes; zero for everything but a live file.
    public var size: Int64
    /// Unix mode bits; only 0o777 carry meaning.
    public var permissions: UInt32
    /// Time of the last change (of deletion, for a deleted entry): seconds since 1970 and nanoseconds within.
    public var modifiedSeconds: Int64
    public var modifiedNanoseconds: Int32
    public var isDeleted: Bool
    /// The device does not vouch for this entry: ignored, unsupported or to be scanned again there.
    public var isInvalid: Bool
    public var hasNoPermissions: Bool
    public var version: VersionVector
    /// The announcing device's own counter.
    public var sequence: Int64
    public var modifiedBy: ShortID
    /// Bytes of every block but the last; zero on the wire is read as 128 KiB by `effectiveBlockSize`.
    public var blockSize: Int32
    public var blocks: [BlockInfo]
    /// The text a symbolic link holds, as bytes: nothing says it is UTF-8.
    public var symlinkTarget: [UInt8]
    /// SHA-256 over the hashes of all blocks, computed from `blocks` (never taken from a peer); nil without blocks.
    public var blocksHash: SHA256Digest?
    /// Fields carried through as they came, in wire form: platform data, previous blocks hash, encrypted, unknown.
    public var carriedFields: [UInt8]

    public init(
        name: String, kind: Kind = .file, size: Int64 = 0, permissions: UInt32 = 0o644, modifiedSeconds: Int64 = 0,
        modifiedNanoseconds: Int32 = 0, isDeleted: Bool = false, isInvalid: Bool = false,
        hasNoPermissions: Bool = false, version: VersionVector = VersionVector(), sequence: Int64 = 0,
        modifiedBy: ShortID = ShortID(rawValue: 0), blockSize: Int32 = 0, blocks: [BlockInfo] = [],
        symlinkTarget: [UInt8] = [], blocksHash: SHA256Digest? = nil, carriedFields: [UInt8] = []
    ) {
        self.name = name
        self.kind = kind
        self.size = size
        self.permissions = permissions
        self.modifiedSeconds = modifiedSeconds
        self.modifiedNanoseconds = modifiedNanoseconds
        self.isDeleted = isDeleted
        self.isInvalid = isInvalid
        self.hasNoPermissions = hasNoPermissions
        self.version = version
        self.sequence = sequence
        self.modifiedBy = modifiedBy
        self.blockSize = blockSize
        self.blocks = blocks
        self.symlinkTarget = symlinkTarget
        self.blocksHash = blocksHash
        self.carriedFields = carriedFields
    }

    public var effectiveBlockSize: Int { blockSize == 0 ? BlockSize.minimum : Int(blockSize) }

    /// The blocks that hold bytes of `range`, in their order.
    public func blocks(holding range: ClosedRange<Int64>) -> [Int] {
        blocks.indices.filter { index in
            let block = blocks[index]
            return block.offset >= 0 && block.offset <= range.upperBound
                // bounded: both are from zero on
                && (block.offset >= range.lowerBound || range.lowerBound - block.offset < block.size)
        }
    }

    /// SHA-256 over the concatenated hashes of `blocks` (Syncthing 2's form): the key of this content.
    public static func blocksHash(of blocks: [BlockInfo]) -> SHA256Digest? {
        guard !blocks.isEmpty else { return nil }
        let byteCount = blocks.count * SHA256Digest.byteCount
        return withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 8) { hashes in
            var end = 0
            for block in blocks {
                block.hash.withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(rebasing: hashes[end...]).copyMemory(from: $0)
                }
                end += SHA256Digest.byteCount
            }
            return SHA256.digest(UnsafeRawBufferPointer(hashes))
        }
    }

    /// Whether this entry, announced by one device, wins over `other`, announced by another, as the folder's global
    /// version of the name. Both Syncthing lines agree on it but for a deletion against a concurrent change: here as in
    /// 1.x, what is not deleted wins, because nothing may be lost.
    public func wins(over other: FileInfo) -> Bool {
        if isInvalid != other.isInvalid { return !isInvalid }
        switch version.compare(other.version) {
        case .equal, .lesser: return false
        case .greater: return true
        case .concurrentGreater, .concurrentLesser:
            if isDeleted != other.isDeleted { return !isDeleted }
            let mine = (modifiedSeconds, modifiedNanoseconds)
            let theirs = (other.modifiedSeconds, other.modifiedNanoseconds)
            if mine != theirs { return mine > theirs }
            return version.compare(other.version) == .concurrentGreater
        }
    }
}

/// One block of a file.
public struct BlockInfo: Hashable, Sendable {
    public var offset: Int64
    /// Bytes: 1 to 16 MiB; zero only for the one block of an empty file.
    public var size: Int32
    public var hash: SHA256Digest
    /// Adler-32 of the block as Syncthing 1.x sends it; zero if unknown. Only worth sending back.
    public var weakHash: UInt32

    public init(offset: Int64, size: Int32, hash: SHA256Digest, weakHash: UInt32 = 0) {
        self.offset = offset
        self.size = size
        self.hash = hash
        self.weakHash = weakHash
    }
}

/// The block sizes of BEP: powers of two from 128 KiB to 16 MiB.
public enum BlockSize {
    public static let minimum = 128 << 10
    public static let maximum = 16 << 20
    static let desiredBlocksPerFile: Int64 = 2000

    /// The size for a new file of `fileSize` bytes: the first with fewer than 2,000 blocks.
    public static func forFile(ofSize fileSize: Int64) -> Int {
        var size = minimum
        while size < maximum, fileSize >= desiredBlocksPerFile * Int64(size) { size *= 2 }
        return size
    }

    public static func isValid(_ size: Int) -> Bool {
        // bounded: at least 128 KiB here
        size >= minimum && size <= maximum && size & (size - 1) == 0
    }
}
