import BlockExchange
import GRDB

/// What a search asks for besides a text. With any of it only files are found.
package struct NameFilter: Hashable, Sendable {
    /// Where the winning version is.
    package enum Place: Hashable, Sendable {
        /// On this disk: `GlobalEntry.isHere`.
        case here
        case device(DeviceID)
        /// Neither on one of these devices, which are connected, nor on this disk.
        case offline(Set<DeviceID>)
    }

    /// By what a name ends with.
    package struct Endings: Hashable, Sendable {
        private let codes: Set<UInt64>
        /// Whether names with none of the endings are asked for.
        private let isExcluding: Bool

        /// - Parameter endings: without the dot, of at most 8 ASCII characters in lower case.
        package init(_ endings: some Sequence<String>, isExcluding: Bool = false) {
            codes = Set(endings.compactMap { ending in ending.utf8.withContiguousStorageIfAvailable(Self.code) ?? nil })
            self.isExcluding = isExcluding
        }

        func matches(_ name: UnsafeRawBufferPointer) -> Bool {
            var start = name.count
            // What is longer is no ending that is known.
            let first = max(1, name.count - 9)
            while start > first {
                start -= 1
                guard name[start] != UInt8(ascii: ".") else {
                    let code = Self.code(UnsafeRawBufferPointer(rebasing: name[(start + 1)...]))
                    return code.map(codes.contains) ?? false ? !isExcluding : isExcluding
                }
            }
            return isExcluding
        }

        /// The ending as a number, ASCII letters in lower case; nil for one that is longer.
        private static func code(_ ending: some Collection<UInt8>) -> UInt64? {
            guard (1...8).contains(ending.count) else { return nil }
            return ending.reduce(0) { code, byte in
                let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                return code << 8 | UInt64(isUpper ? byte | 0x20 : byte)
            }
        }
    }

    package var endings: Endings?
    /// Of the last change, in seconds since 1970.
    package var modified: ClosedRange<Int64>?
    package var size: ClosedRange<Int64>?
    package var place: Place?

    package init(
        endings: Endings? = nil, modified: ClosedRange<Int64>? = nil, size: ClosedRange<Int64>? = nil,
        place: Place? = nil
    ) {
        self.endings = endings
        self.modified = modified
        self.size = size
        self.place = place
    }

    package var isEmpty: Bool { self == NameFilter() }

    /// Of names, how many are looked at beyond their text, for each half of a large index.
    package static let lookLimit = 250_000

    func matches(_ file: FileInfo) -> Bool {
        file.kind == .file && (modified?.contains(file.modifiedSeconds) ?? true) && (size?.contains(file.size) ?? true)
    }

    func matches(_ entry: GlobalEntry) -> Bool {
        guard let file = entry.file, entry.isPresent, matches(file) else { return false }
        return switch place {
        case nil: true
        case .here: entry.isHere
        case .device(let device): entry.holders.contains(device)
        case .offline(let devices): !entry.isHere && !entry.holders.contains(where: devices.contains)
        }
    }
}

/// Rules most files out by the one row that wins, before all that is known of an entry is read.
struct FilterReader {
    private let filter: NameFilter
    private let readWinner: RawStatement

    init(_ database: Database, _ filter: NameFilter) throws {
        self.filter = filter
        readWinner = try RawStatement(
            database,
            """
            SELECT won.size, won.modified FROM entry JOIN announced AS won
                ON won.entry = entry.id AND won.announcer = entry.winner
            WHERE entry.id = ?1
            """)
    }

    /// Whether the name may be asked for.
    func matches(_ name: UnsafeRawBufferPointer) -> Bool { filter.endings?.matches(name) ?? true }

    /// Whether the entry may be asked for.
    func mayMatch(_ id: Int64) throws -> Bool {
        guard filter.size != nil || filter.modified != nil else { return true }
        try readWinner.bind(1, id)
        return try readWinner.first {
            (filter.size?.contains($0.integer(0)) ?? true) && (filter.modified?.contains($0.integer(1)) ?? true)
        } ?? false
    }
}
