import Phrases

/// The central directory of a zip: what is in it, found from the end of the file (APPNOTE 4.3).
struct ZipDirectory: Sendable {
    private static let endByteCount = 22
    private static let longestComment = 0xFFFF

    /// The records, one behind the other.
    let records: [UInt8]
    let memberCount: Int
    /// What comes before the zip's first byte, as in a program that unpacks itself.
    let base: Int64
    /// Where the directory begins in the file.
    let start: Int64

    /// What the end of the directory says of it.
    private struct End {
        var count: Int64
        var byteCount: Int64
        var start: Int64
        /// Where this record is.
        var position: Int64
    }

    /// Nil for what is no zip.
    init?(_ reader: WindowReader) async throws {
        guard let end = try await Self.end(reader) else { return nil }
        guard end.byteCount <= ArchiveLimits.directory else {
            throw ArchiveError(
                .tooLarge,
                "The archive's directory is larger than \(ArchiveLimits.directory >> 20) MiB. Fetch all of it."
            )
        }
        let start = end.position - end.byteCount
        guard start >= 0, end.start <= start else {
            throw ArchiveError.damaged(Phrase("its directory is missing"))
        }
        base = start - end.start
        self.start = start
        records = try await reader.bytes(start, count: end.byteCount)
        var count = 0
        var offset = 0
        while let length = ZipEntry.length(in: records, at: offset) {
            offset += length
            count += 1
            guard count <= ArchiveLimits.members else {
                throw ArchiveError(
                    .tooLarge, "The archive has more than \(ArchiveLimits.members) members. Fetch all of it.")
            }
        }
        // The count may have been cut to sixteen bits.
        guard Int64(count & 0xFFFF) == end.count & 0xFFFF else {
            throw ArchiveError.damaged(Phrase("its directory has a wrong number of members"))
        }
        memberCount = count
    }

    /// Members in the order of the directory.
    func members(offset: Int, limit: Int) throws(ArchiveError) -> [ArchiveMember] {
        var members: [ArchiveMember] = []
        var position = 0
        var number = 0
        while members.count < limit, let length = ZipEntry.length(in: records, at: position) {
            if number >= offset {
                members.append(try ZipEntry(in: records, at: position, base: base, limit: start).member)
            }
            position += length
            number += 1
        }
        return members
    }

    /// The member of this path; of several the last, which was added last.
    func member(_ path: String) throws(ArchiveError) -> ArchiveMember? {
        var found: ArchiveMember?
        var position = 0
        while let length = ZipEntry.length(in: records, at: position) {
            let member = try ZipEntry(in: records, at: position, base: base, limit: start).member
            if member.path.utf8.elementsEqual(path.utf8) { found = member }
            position += length
        }
        return found
    }

    /// Where the bytes of a member are. Its own header is read for it, of which only the length counts.
    func range(of data: ZipData, reader: WindowReader) async throws -> Range<Int64> {
        let header = try await reader.bytes(data.header, count: 30)
        guard header.starts(with: [0x50, 0x4B, 3, 4]), let name = header.little16(26), let extra = header.little16(28)
        else { throw ArchiveError.damaged(Phrase("a member is not at the position in the directory")) }
        let first = data.header + 30 + Int64(name + extra)
        let (end, isOver) = first.addingReportingOverflow(data.packedSize)
        guard !isOver, end <= next(behind: data.header) else {
            throw ArchiveError.damaged(Phrase("its members overlap"))
        }
        return first..<end
    }

    /// Where the next member, or the directory, begins.
    private func next(behind header: Int64) -> Int64 {
        var next = start
        var position = 0
        while let length = ZipEntry.length(in: records, at: position) {
            if let other = ZipEntry.header(in: records, at: position), other <= .max - base, other + base > header {
                next = min(next, other + base)
            }
            position += length
        }
        return next
    }

    private static func end(_ reader: WindowReader) async throws -> End? {
        guard reader.size >= Int64(endByteCount) else { return nil }
        // Nearly all have no comment: the last window is looked at first, and what a comment may take only then.
        let last = (reader.size - Int64(endByteCount)) / WindowReader.windowByteCount * WindowReader.windowByteCount
        if let end = try await end(reader, from: last) { return end }
        let first = max(0, reader.size - Int64(endByteCount + longestComment))
        return first < last ? try await end(reader, from: first) : nil
    }

    private static func end(_ reader: WindowReader, from first: Int64) async throws -> End? {
        let tail = try await reader.bytes(first, count: reader.size - first)
        guard tail.count >= endByteCount else { return nil }
        var loose: Int?
        var exact: Int?
        for offset in stride(from: tail.count - endByteCount, through: 0, by: -1) {
            guard tail[offset] == 0x50, tail[offset...].starts(with: [0x50, 0x4B, 5, 6]),
                let comment = tail.little16(offset + 20)
            else { continue }
            if offset + endByteCount + comment == tail.count {
                exact = offset
                break
            }
            // Something was put behind it.
            if offset + endByteCount + comment < tail.count, loose == nil { loose = offset }
        }
        guard let offset = exact ?? loose, let disk = tail.little16(offset + 4), let first = tail.little16(offset + 6),
            let count = tail.little16(offset + 10), let byteCount = tail.little32(offset + 12),
            let start = tail.little32(offset + 16)
        else { return nil }
        let position = reader.size - Int64(tail.count - offset)
        let end = End(count: Int64(count), byteCount: byteCount, start: start, position: position)
        if let large = try await large(reader, before: position) { return large }
        guard disk == 0 && first == 0 || disk == 0xFFFF else {
            throw ArchiveError(.unsupported, "The archive is one part of several. Fetch them all.")
        }
        return end
    }

    /// The zip64 record (APPNOTE 4.3.14), if its locator stands before the end.
    private static func large(_ reader: WindowReader, before position: Int64) async throws -> End? {
        guard position >= 20 else { return nil }
        let locator = try await reader.bytes(position - 20, count: 20)
        guard locator.starts(with: [0x50, 0x4B, 6, 7]), let said = locator.little64(8) else { return nil }
        // Where something was put before the zip, it is further on than it says.
        for place in [position - 20 - 56, said] where place >= 0 && place <= position - 20 - 56 {
            let record = try await reader.bytes(place, count: 56)
            guard record.starts(with: [0x50, 0x4B, 6, 6]), let count = record.little64(32),
                let byteCount = record.little64(40), let start = record.little64(48)
            else { continue }
            return End(count: count, byteCount: byteCount, start: start, position: place)
        }
        throw ArchiveError.damaged(Phrase("its zip64 record is missing"))
    }
}
