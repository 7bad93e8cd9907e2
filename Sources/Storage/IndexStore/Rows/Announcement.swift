import BlockExchange
import Cryptography

/// What one device announces of one entry, as a row of `announced` holds it.
struct Announcement {
    /// A row of `announcer`; `thisDevice` for this device's own.
    var announcer: Int64
    /// Without name and blocks.
    var file: FileInfo
    var content: StoredContent
    /// Only looked up in folders in which some device may only read.
    var refusal = Refusal.none

    static let thisDevice: Int64 = 0
}

/// Where the blocks of an announcement are.
enum StoredContent: Equatable {
    case none
    /// One block that spans the file.
    case block(hash: SHA256Digest, weakHash: UInt32)
    /// A row of `blockList`.
    case list(Int64)
}

/// How the fields of a FileInfo stand in columns.
enum AnnouncementCoding {
    static let columns =
        "announcer, sequence, flags, size, permissions, modified, nanoseconds, modifiedBy, version, content, extra"

    /// The same, where other tables have columns of these names.
    static let qualifiedColumns = columns.split(separator: ", ").map { "announced.\($0)" }.joined(separator: ", ")

    /// kind in bits 0–2, deleted 3, invalid 4, no permissions 5, block size from 6 on.
    static func flags(of file: FileInfo) -> Int64 {
        var flags = Int64(file.kind.rawValue)
        if file.isDeleted { flags |= 1 << 3 }
        if file.isInvalid { flags |= 1 << 4 }
        if file.hasNoPermissions { flags |= 1 << 5 }
        return flags | Int64(blockSizeCode(file.blockSize)) << 6
    }

    static func kind(_ flags: Int64) throws -> FileInfo.Kind {
        guard flags >= 0, let kind = FileInfo.Kind(rawValue: Int32(flags & kindMask)) else {
            throw MalformedRow("flags")
        }
        return kind
    }

    static let kindMask: Int64 = 7
    static let deletedFlag: Int64 = 1 << 3
    static func isDeleted(_ flags: Int64) -> Bool { flags & deletedFlag != 0 }

    static func isInvalid(_ flags: Int64) -> Bool { flags & 1 << 4 != 0 }

    /// 0 for none, 1 to 8 for 128 KiB to 16 MiB, so that the common ones take one byte; others come shifted.
    private static func blockSizeCode(_ size: Int32) -> UInt64 {
        if size == 0 { return 0 }
        if BlockSize.isValid(Int(size)) { return UInt64(size.trailingZeroBitCount - 16) }
        // bounded: 32 bits in 64
        return 9 + UInt64(UInt32(bitPattern: size))
    }

    private static func blockSize(code: UInt64) throws -> Int32 {
        switch code {
        case 0: return 0
        case 1...8: return Int32(1) << (Int32(code) + 16)
        default:
            guard let bits = UInt32(exactly: code - 9) else { throw MalformedRow("block size") }
            return Int32(bitPattern: bits)
        }
    }

    /// Eight bytes of id and a variable-length value per counter; nothing for an empty vector.
    static func append(_ version: VersionVector, to bytes: inout [UInt8]) {
        for counter in version.counters {
            withUnsafeBytes(of: counter.id.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
            append(counter.value, to: &bytes)
        }
    }

    static func version(_ bytes: UnsafeRawBufferPointer) throws -> VersionVector {
        guard !bytes.isEmpty else { return VersionVector() }
        var reader = ByteReader(bytes)
        var counters: [VersionVector.Counter] = []
        while !reader.isAtEnd {
            let id = try reader.integer(as: UInt64.self)
            counters.append(.init(id: ShortID(rawValue: id), value: try reader.variableInteger()))
        }
        return VersionVector(counters)
    }

    /// The symbolic link's target with its length, then the carried fields; nothing if there is neither.
    static func appendExtra(of file: FileInfo, to bytes: inout [UInt8]) {
        if file.symlinkTarget.isEmpty, file.carriedFields.isEmpty { return }
        append(UInt64(file.symlinkTarget.count), to: &bytes)
        bytes += file.symlinkTarget
        bytes += file.carriedFields
    }

    static func append(_ content: StoredContent, to bytes: inout [UInt8]) {
        guard case .block(let hash, let weakHash) = content else { return }
        hash.withUnsafeBytes { bytes.append(contentsOf: $0) }
        if weakHash != 0 { withUnsafeBytes(of: weakHash.bigEndian) { bytes.append(contentsOf: $0) } }
    }

    /// Reads a row of `columns`, beginning at column `first`.
    static func announcement(_ row: RawStatement, from first: Int32 = 0) throws -> Announcement {
        let flags = row.integer(first + 2)
        let kind = try kind(flags)
        guard let permissions = UInt32(exactly: row.integer(first + 4)),
            let nanoseconds = Int32(exactly: row.integer(first + 6))
        else { throw MalformedRow("permissions or time") }
        var file = FileInfo(
            name: "", kind: kind, size: row.integer(first + 3), permissions: permissions,
            modifiedSeconds: row.integer(first + 5), modifiedNanoseconds: nanoseconds,
            isDeleted: isDeleted(flags), isInvalid: isInvalid(flags), hasNoPermissions: flags & 1 << 5 != 0,
            version: try version(row.bytes(first + 8)), sequence: row.integer(first + 1),
            modifiedBy: ShortID(rawValue: UInt64(bitPattern: row.integer(first + 7))),
            blockSize: try blockSize(code: UInt64(flags >> 6)))
        var extra = ByteReader(row.bytes(first + 10))
        if !extra.isAtEnd {
            file.symlinkTarget = try extra.bytes(count: extra.variableInteger())
            file.carriedFields = extra.rest()
        }
        return Announcement(announcer: row.integer(first), file: file, content: try content(row, first + 9))
    }

    private static func content(_ row: RawStatement, _ column: Int32) throws -> StoredContent {
        if row.isNull(column) { return .none }
        guard row.isBlob(column) else { return .list(row.integer(column)) }
        var reader = ByteReader(row.bytes(column))
        let hash = try reader.digest()
        return .block(hash: hash, weakHash: reader.isAtEnd ? 0 : try reader.integer(as: UInt32.self))
    }

    private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}
