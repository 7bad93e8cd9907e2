import Phrases

/// The directory of an ISO 9660 image (ECMA-119), by the names of Rock Ridge, Joliet or its own, in this order.
enum ImageDirectory {
    static let sectorByteCount = 2048
    private static let firstDescriptor: Int64 = 16
    private static let descriptorLimit = 32

    /// How names are written.
    enum Naming: Equatable, Sendable {
        case plain
        case joliet
        /// With what comes before its fields in each record.
        case rockRidge(skip: Int)
    }

    /// A tree of the image: there may be one for each way to write names.
    private struct Tree {
        var root: ImageRecord
        var blockByteCount: Int64
        var naming: Naming
    }

    /// All members, each directory before what is in it; nil for what is no image.
    static func members(_ reader: WindowReader) async throws -> [ArchiveMember]? {
        guard let tree = try await tree(reader) else { return nil }
        var walk = ImageWalk(reader: reader, blockByteCount: tree.blockByteCount, naming: tree.naming)
        return try await walk.members(of: tree.root)
    }

    private static func tree(_ reader: WindowReader) async throws -> Tree? {
        var primary: Tree?
        var joliet: Tree?
        for number in 0..<descriptorLimit {
            let place = (firstDescriptor + Int64(number)) * Int64(sectorByteCount)
            guard place + Int64(sectorByteCount) <= reader.size else { break }
            let descriptor = try await reader.bytes(place, count: Int64(sectorByteCount))
            guard descriptor[1...].starts(with: Array("CD001".utf8)) else { break }
            if descriptor[0] == 255 { break }
            guard descriptor[0] == 1 || descriptor[0] == 2, let size = descriptor.little16(128),
                let record = descriptor.field(156, 34), let root = ImageRecord(record)
            else { continue }
            guard [512, 1024, 2048].contains(size) else {
                throw ArchiveError.damaged(Phrase("its blocks have an odd size"))
            }
            if descriptor[0] == 1, primary == nil {
                primary = Tree(root: root, blockByteCount: Int64(size), naming: .plain)
            } else if descriptor[0] == 2, let escape = descriptor.field(88, 3), escape.starts(with: Array("%/".utf8)),
                [0x40, 0x43, 0x45].contains(escape[escape.startIndex + 2])
            {
                joliet = Tree(root: root, blockByteCount: Int64(size), naming: .joliet)
            }
        }
        guard var primary else { return nil }
        let start = primary.root.start(blockByteCount: primary.blockByteCount)
        let first = try await reader.bytes(start, count: min(primary.root.byteCount, Int64(sectorByteCount)))
        // Rock Ridge says in the root's own record that it is there (SUSP 5.3).
        if let length = first.first, let dot = first.field(0, Int(length)).flatMap({ ImageRecord($0) }),
            let skip = SystemUse.skip(dot.systemUse)
        {
            primary.naming = .rockRidge(skip: skip)
            return primary
        }
        return joliet ?? primary
    }
}

/// A record of a directory (ECMA-119, 9.1).
struct ImageRecord: Equatable, Sendable {
    var extent: Int64
    /// Blocks before the data.
    var attributeBlocks: Int64
    var byteCount: Int64
    var modified: Int64?
    var isDirectory: Bool
    var isAssociated: Bool
    /// More of the same file follows in the next record.
    var continues: Bool
    var isInterleaved: Bool
    var name: [UInt8]
    var systemUse: [UInt8]

    /// Nil for what is not whole.
    init?(_ record: ArraySlice<UInt8>) {
        guard record.count >= 34, let attributes = record.field(1, 1)?.first, let extent = record.little32(2),
            let byteCount = record.little32(10), let date = record.field(18, 7), let flags = record.field(25, 1)?.first,
            let unit = record.field(26, 1)?.first, let gap = record.field(27, 1)?.first,
            let nameLength = record.field(32, 1)?.first.map({ Int($0) }), let name = record.field(33, nameLength)
        else { return nil }
        self.extent = extent
        attributeBlocks = Int64(attributes)
        self.byteCount = byteCount
        modified = Self.time(date)
        isDirectory = flags & 2 != 0
        isAssociated = flags & 4 != 0
        continues = flags & 0x80 != 0
        isInterleaved = unit != 0 || gap != 0
        self.name = Array(name)
        let used = 33 + nameLength + (nameLength % 2 == 0 ? 1 : 0)
        systemUse = Array(record.dropFirst(used))
    }

    func start(blockByteCount: Int64) -> Int64 { (extent + attributeBlocks) * blockByteCount }

    /// Of seven bytes (9.1.5).
    static func time(_ bytes: ArraySlice<UInt8>) -> Int64? {
        let field = bytes.map { Int($0) }
        guard field.count == 7,
            let local = CivilTime.seconds(1900 + field[0], field[1], field[2], field[3], field[4], field[5])
        else { return nil }
        return local - Int64(Int8(truncatingIfNeeded: field[6])) * 900
    }

    /// Of seventeen (8.4.26.1).
    static func longTime(_ bytes: ArraySlice<UInt8>) -> Int64? {
        guard bytes.count == 17, let zone = bytes.last else { return nil }
        func number(_ offset: Int, _ length: Int) -> Int? {
            bytes.field(offset, length).flatMap { Int(String(decoding: $0, as: UTF8.self)) }
        }
        guard let year = number(0, 4), let month = number(4, 2), let day = number(6, 2), let hour = number(8, 2),
            let minute = number(10, 2), let second = number(12, 2),
            let local = CivilTime.seconds(year, month, day, hour, minute, second)
        else { return nil }
        return local - Int64(Int8(truncatingIfNeeded: zone)) * 900
    }
}
