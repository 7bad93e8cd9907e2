import CZlib
import Phrases

/// What the bytes of a zip's member are.
struct ZipData: Equatable, Sendable {
    enum Method: Equatable, Sendable {
        case stored, deflated
        case other(Int)
    }

    var method: Method
    var crc: UInt32
    /// Bytes in the archive.
    var packedSize: Int64
    /// Where the member's own header is, counted from the archive's first byte.
    var header: Int64
    /// Where what comes behind its data begins.
    var limit: Int64
}

/// A record of a zip's central directory (APPNOTE 4.3.12), taken apart.
struct ZipEntry: Equatable, Sendable {
    static let headerByteCount = 46
    private static let signature: [UInt8] = [0x50, 0x4B, 1, 2]
    private static let unix = 3
    private static let mac = 19

    var member: ArchiveMember

    /// The bytes of the record that begins at `offset`; nil if none does.
    static func length(in directory: [UInt8], at offset: Int) -> Int? {
        guard let start = directory.field(offset, 4), start.elementsEqual(signature),
            let name = directory.little16(offset + 28), let extra = directory.little16(offset + 30),
            let comment = directory.little16(offset + 32)
        else { return nil }
        let length = headerByteCount + name + extra + comment
        return directory.field(offset, length) == nil ? nil : length
    }

    /// Where the member's header is, counted as the zip counts; nil for a record that is not whole.
    static func header(in directory: [UInt8], at offset: Int) -> Int64? {
        sizes(in: directory, at: offset)?.header
    }

    /// - Parameters:
    ///   - base: what comes before the zip's first byte.
    ///   - limit: where the central directory begins.
    init(in directory: [UInt8], at offset: Int, base: Int64, limit: Int64) throws(ArchiveError) {
        guard let length = Self.length(in: directory, at: offset), let record = directory.field(offset, length),
            let sizes = Self.sizes(in: directory, at: offset), let made = record.little16(4),
            let flags = record.little16(8), let method = record.little16(10), let time = record.little16(12),
            let date = record.little16(14), let crc = record.little32(16), let nameLength = record.little16(28),
            let extraLength = record.little16(30), let attributes = record.little32(38),
            let name = record.field(Self.headerByteCount, nameLength),
            let extra = record.field(Self.headerByteCount + nameLength, extraLength)
        else { throw ArchiveError.damaged(Phrase("a directory record is incomplete")) }
        guard nameLength <= ArchiveLimits.path else {
            throw ArchiveError(
                .tooLarge, "A name in the archive has more than \(ArchiveLimits.path) bytes. Fetch all of it.")
        }
        let (header, isOver) = sizes.header.addingReportingOverflow(base)
        guard !isOver, header < limit else { throw ArchiveError.damaged(Phrase("a member begins after the end")) }
        let host = made >> 8
        var path = Self.name(name, isUTF8: flags & 0x800 != 0, host: host, extra: extra)
        let isDirectory = path.utf8.last == 0x2F
        while path.utf8.last == 0x2F { path.unicodeScalars.removeLast() }
        let isLink = host == Self.unix && attributes >> 28 == 0xA
        member = ArchiveMember(
            path: path, kind: isDirectory ? .directory : isLink ? .symlink : .file,
            size: isDirectory ? 0 : sizes.unpacked, modified: Self.modified(date: date, time: time, extra: extra),
            // Of those with a masked directory (bit 13) not even the names are right.
            isEncrypted: flags & 0x2041 != 0,
            content: .zip(
                ZipData(
                    method: method == 0 ? .stored : method == 8 ? .deflated : .other(method),
                    crc: UInt32(truncatingIfNeeded: crc), packedSize: sizes.packed, header: header, limit: limit)))
    }

    /// With the zip64 field (APPNOTE 4.5.3), which has those that the record has no room for.
    private static func sizes(
        in directory: [UInt8], at offset: Int
    ) -> (packed: Int64, unpacked: Int64, header: Int64)? {
        guard var packed = directory.little32(offset + 20), var unpacked = directory.little32(offset + 24),
            var header = directory.little32(offset + 42), let nameLength = directory.little16(offset + 28),
            let extraLength = directory.little16(offset + 30),
            let extra = directory.field(offset + headerByteCount + nameLength, extraLength)
        else { return nil }
        let full: Int64 = 0xFFFF_FFFF
        guard packed == full || unpacked == full || header == full else { return (packed, unpacked, header) }
        guard let large = field(1, in: extra) else { return (packed, unpacked, header) }
        var position = 0
        func next() -> Int64? {
            defer { position += 8 }
            return large.little64(position)
        }
        if unpacked == full {
            guard let value = next() else { return nil }
            unpacked = value
        }
        if packed == full {
            guard let value = next() else { return nil }
            packed = value
        }
        if header == full {
            guard let value = next() else { return nil }
            header = value
        }
        return (packed, unpacked, header)
    }

    /// The extra field with this number.
    private static func field(_ number: Int, in extra: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var position = 0
        while let id = extra.little16(position), let length = extra.little16(position + 2) {
            guard let field = extra.field(position + 4, length) else { return nil }
            if id == number { return field }
            position += 4 + length
        }
        return nil
    }

    private static func name(_ bytes: ArraySlice<UInt8>, isUTF8: Bool, host: Int, extra: ArraySlice<UInt8>) -> String {
        // Info-ZIP's field: the name in UTF-8, if it is still this one's.
        if let field = field(0x7075, in: extra), field.first == 1, let check = field.little32(1),
            check == Int64(CRC32.of(bytes)), let text = String(validating: field.dropFirst(5), as: UTF8.self)
        {
            return text
        }
        // Programs of Unix write the names of the disk, UTF-8 today, and many do not say so.
        if isUTF8 || host == unix || host == mac, let text = String(validating: bytes, as: UTF8.self) { return text }
        return CodePage437.text(bytes)
    }

    private static func modified(date: Int, time: Int, extra: ArraySlice<UInt8>) -> Int64? {
        if let field = field(0x5455, in: extra), let flags = field.first, flags & 1 != 0,
            let seconds = field.little32(1)
        {
            return Int64(Int32(truncatingIfNeeded: seconds))
        }
        return CivilTime.seconds(
            1980 + date >> 9, date >> 5 & 15, date & 31, time >> 11, time >> 5 & 63, (time & 31) * 2)
    }
}

/// The checksum of zips.
enum CRC32 {
    static func of(_ bytes: some Sequence<UInt8>, continuing crc: UInt32 = 0) -> UInt32 {
        func compute(_ buffer: UnsafeBufferPointer<UInt8>) -> UInt32 {
            guard let start = buffer.baseAddress, let count = UInt32(exactly: buffer.count) else { return crc }
            return UInt32(truncatingIfNeeded: crc32(UInt(crc), start, count))
        }
        return bytes.withContiguousStorageIfAvailable(compute) ?? Array(bytes).withUnsafeBufferPointer(compute)
    }
}
