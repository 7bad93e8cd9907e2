import ControlAPI
import IndexStore

/// The order in which the entries of a directory are listed. Pure.
struct EntryOrder: Equatable, Sendable {
    var sort: EntrySort
    var isDescending: Bool

    /// - Parameter entries: of one directory, by the bytes of their names.
    func sorted(_ entries: [Entry]) -> [Entry] {
        switch sort {
        case .name: return isDescending ? entries.reversed() : entries
        case .natural:
            return arranged(entries) { (left, right) in
                NaturalOrder.precedes(
                    (left.name, left.entry.kind == .directory), (right.name, right.entry.kind == .directory),
                    isDescending: isDescending)
            }
        case .size:
            return arranged(entries) { (left, right) in
                left.entry.size == right.entry.size
                    ? left.name.compare(right.name) < 0 : (left.entry.size < right.entry.size) != isDescending
            }
        case .modified:
            return arranged(entries) { (left, right) in
                left.moment == right.moment
                    ? left.name.compare(right.name) < 0 : (left.moment < right.moment) != isDescending
            }
        }
    }

    /// An entry with what it is compared by.
    private struct Row {
        var entry: Entry
        var name: NaturalName
        /// RFC 3339 without its end: so a time with a fraction is behind the same without; empty for none.
        var moment: Substring

        init(_ entry: Entry) {
            self.entry = entry
            let start = entry.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { entry.path.utf8.index(after: $0) }
            name = NaturalName(String(entry.path[(start ?? entry.path.startIndex)...]))
            moment = (entry.modified ?? "").dropLast()
        }
    }

    private func arranged(_ entries: [Entry], _ precedes: (Row, Row) -> Bool) -> [Entry] {
        entries.map(Row.init).sorted(by: precedes).map(\.entry)
    }
}

/// Names as people order them, directories first in either direction. Pure.
enum NaturalOrder {
    /// The places that names have, in their order.
    static func places(of names: [(text: String, isDirectory: Bool)], isDescending: Bool) -> [Int] {
        let keys = names.map { (NaturalName($0.text), $0.isDirectory) }
        return keys.indices.sorted { precedes(keys[$0], keys[$1], isDescending: isDescending) }
    }

    static func precedes(
        _ left: (name: NaturalName, isDirectory: Bool), _ right: (name: NaturalName, isDirectory: Bool),
        isDescending: Bool
    ) -> Bool {
        guard left.isDirectory == right.isDirectory else { return left.isDirectory }
        let order = left.name.compare(right.name)
        return isDescending ? order > 0 : order < 0
    }
}

/// The beginning of a name, without regard to case and accents. Pure.
struct NameBeginning: Sendable {
    private let bytes: [UInt8]

    init(_ text: String) { bytes = Array(Self.folded(text).utf8) }

    /// - Parameter name: UTF-8.
    func begins(_ name: some Sequence<UInt8>) -> Bool {
        var position = 0
        for byte in name {
            guard position < bytes.count else { return true }
            // Nearly all names are ASCII as far as that.
            guard byte < 0x80 else {
                return Self.folded(String(decoding: Array(name), as: UTF8.self)).utf8.starts(with: bytes)
            }
            let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            guard bytes[position] == (isUpper ? byte | 0x20 : byte) else { return false }
            position += 1
        }
        return position == bytes.count
    }

    private static func folded(_ text: String) -> String { Accents.removed(from: text.lowercased()) }
}

/// A name as people order names: without regard to case and accents, and numbers by their value. Pure.
struct NaturalName {
    private static let zero = UInt8(ascii: "0")
    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    private let name: String
    /// The folded name, in which each number is `0`, the count of its digits and the digits: so of two numbers the one with more
    /// digits is the larger. Signs stand before digits, and these before letters.
    private let key: [UInt8]

    init(_ name: String) {
        self.name = name
        var key: [UInt8] = []
        var number: [UInt8]?
        func end() {
            guard let digits = number else { return }
            key.append(Self.zero)
            // A byte for each 255 of them and one for the rest, as many as there may be.
            key += [UInt8](repeating: .max, count: digits.count / 255) + [UInt8(digits.count % 255)] + digits
            number = nil
        }
        for byte in Accents.removed(from: name.lowercased()).utf8 {
            if Self.digits.contains(byte) {
                // Zeros before a number do not count.
                if byte != Self.zero || !(number ?? []).isEmpty {
                    number = (number ?? []) + [byte]
                } else {
                    number = []
                }
                continue
            }
            end()
            let isSign =
                byte > Self.digits.upperBound && byte < 0x80 && !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            if isSign { key.append(UInt8(ascii: "/")) }
            key.append(byte)
        }
        end()
        self.key = key
    }

    /// Below zero if this comes before `other`; 0 only for the same name.
    func compare(_ other: NaturalName) -> Int {
        if key.lexicographicallyPrecedes(other.key) { return -1 }
        if other.key.lexicographicallyPrecedes(key) { return 1 }
        // Names that people hardly tell apart, such as `a` and `A`.
        if name.utf8.lexicographicallyPrecedes(other.name.utf8) { return -1 }
        return other.name.utf8.lexicographicallyPrecedes(name.utf8) ? 1 : 0
    }
}
