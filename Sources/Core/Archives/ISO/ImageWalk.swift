import Phrases

/// Reads the directories of an image one after the other. Each is read once, however often it is named.
struct ImageWalk {
    let reader: WindowReader
    let blockByteCount: Int64
    let naming: ImageDirectory.Naming

    private struct Pending {
        var path: String
        var start: Int64
        var byteCount: Int64
        var depth: Int
    }

    private static let continuationLimit = 16
    private static let continuationByteCount: Int64 = 4096

    private var members: [ArchiveMember] = []
    private var seen: Set<Int64> = []
    private var bytesLeft = ArchiveLimits.directory
    /// For the paths of all members: a name takes few bytes of the image, but its path holds those of all directories above it.
    private var pathBytesLeft = ArchiveLimits.directory

    init(reader: WindowReader, blockByteCount: Int64, naming: ImageDirectory.Naming) {
        self.reader = reader
        self.blockByteCount = blockByteCount
        self.naming = naming
    }

    mutating func members(of root: ImageRecord) async throws -> [ArchiveMember] {
        var pending = [
            Pending(
                path: "", start: root.start(blockByteCount: blockByteCount), byteCount: root.byteCount, depth: 0)
        ]
        while let directory = pending.popLast() {
            guard seen.insert(directory.start).inserted else {
                throw ArchiveError.damaged(Phrase("a directory is in two places"))
            }
            pending += try await read(directory).reversed()
        }
        return members
    }

    /// Adds what is in a directory; gives the directories in it.
    private mutating func read(_ directory: Pending) async throws -> [Pending] {
        guard directory.depth <= ArchiveLimits.depth else {
            throw ArchiveError(
                .tooLarge, "The image has more than \(ArchiveLimits.depth) nested directories. Fetch all of it.")
        }
        try spend(directory.byteCount)
        let bytes = try await reader.bytes(directory.start, count: directory.byteCount)
        var pending: [Pending] = []
        var position = 0
        var extents: [Range<Int64>] = []
        var isInterleaved = false
        while position < bytes.count {
            let length = Int(bytes[position])
            // No record crosses the end of a sector.
            guard length > 0 else {
                position = (position / ImageDirectory.sectorByteCount + 1) * ImageDirectory.sectorByteCount
                continue
            }
            guard let field = bytes.field(position, length), let record = ImageRecord(field) else {
                throw ArchiveError.damaged(Phrase("a directory record is incomplete"))
            }
            position += length
            // This directory and the one above.
            if record.name == [0] || record.name == [1] || record.isAssociated { continue }
            let start = record.start(blockByteCount: blockByteCount)
            if record.byteCount > 0 { extents.append(start..<start + record.byteCount) }
            isInterleaved = isInterleaved || record.isInterleaved
            if record.continues, !record.isDirectory { continue }
            let found = (extents: extents, isInterleaved: isInterleaved)
            (extents, isInterleaved) = ([], false)

            let use = try await systemUse(of: record)
            if use.isMoved { continue }
            let name = name(of: record, use)
            let path = directory.path.isEmpty ? name : directory.path + "/" + name
            pathBytesLeft -= Int64(path.utf8.count)
            guard path.utf8.count <= ArchiveLimits.path, members.count < ArchiveLimits.members, pathBytesLeft >= 0
            else {
                throw ArchiveError(.tooLarge, "The image has too many or too long names. Fetch all of it.")
            }
            var member = ArchiveMember(
                path: path, kind: .file, size: 0, modified: use.modified ?? record.modified, content: .none)
            if record.isDirectory || use.child != nil {
                member.kind = .directory
                var child = Pending(path: path, start: start, byteCount: record.byteCount, depth: directory.depth + 1)
                if let moved = use.child { (child.start, child.byteCount) = try await self.child(at: moved) }
                pending.append(child)
            } else if use.target != nil || use.mode.map({ $0 & 0xF000 == 0xA000 }) == true {
                member.kind = .symlink
                member.target = use.target.map { String(decoding: $0, as: UTF8.self) }
            } else {
                member.size = found.extents.reduce(0) { $0 + Int64($1.count) }
                member.content = found.isInterleaved ? .interleaved : .extents(found.extents)
            }
            members.append(member)
        }
        return pending
    }

    private mutating func spend(_ byteCount: Int64) throws(ArchiveError) {
        bytesLeft -= byteCount
        guard bytesLeft >= 0 else {
            throw ArchiveError(
                .tooLarge,
                "The image's directories are larger than \(ArchiveLimits.directory >> 20) MiB. Fetch all of it.")
        }
    }

    /// Where a directory that was moved is: its first record is its own.
    private func child(at block: Int64) async throws -> (start: Int64, byteCount: Int64) {
        let bytes = try await reader.bytes(block * blockByteCount, count: 34)
        guard let record = ImageRecord(bytes[...]) else {
            throw ArchiveError.damaged(Phrase("a directory is not where its record says"))
        }
        return (record.start(blockByteCount: blockByteCount), record.byteCount)
    }

    private mutating func systemUse(of record: ImageRecord) async throws -> SystemUse {
        var use = SystemUse()
        guard case .rockRidge(let skip) = naming else { return use }
        use.add(record.systemUse.dropFirst(skip))
        for _ in 0..<Self.continuationLimit {
            guard let next = use.continuation, next.count <= Self.continuationByteCount else { break }
            try spend(next.count)
            use.add(try await reader.bytes(next.block * blockByteCount + next.offset, count: next.count)[...])
        }
        return use
    }

    private func name(of record: ImageRecord, _ use: SystemUse) -> String {
        if naming == .joliet {
            var units: [UInt16] = []
            var position = 0
            while let unit = record.name.field(position, 2), let high = unit.first, let low = unit.last {
                units.append(UInt16(high) << 8 | UInt16(low))
                position += 2
            }
            return Self.withoutVersion(String(decoding: units, as: UTF16.self))
        }
        if !use.name.isEmpty { return String(decoding: use.name, as: UTF8.self) }
        return Self.withoutVersion(String(decoding: record.name, as: UTF8.self))
    }

    /// `NAME.;1` is `NAME`.
    private static func withoutVersion(_ name: String) -> String {
        guard let end = name.lastIndex(of: ";"),
            name[name.index(after: end)...].utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return name }
        let text = name[..<end]
        return String(text.last == "." ? text.dropLast() : text)
    }
}
