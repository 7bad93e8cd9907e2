import ControlAPI
import IndexStore

/// The order in which the entries of a directory are listed. Pure.
struct EntryOrder: Equatable, Sendable {
    var sort: ListQuery.Sort
    var isDescending: Bool

    /// - Parameter entries: of one directory, by the bytes of their names.
    func sorted(_ entries: [Entry]) -> [Entry] {
        let sign = isDescending ? -1 : 1
        switch sort {
        case .name: return isDescending ? entries.reversed() : entries
        case .natural:
            // Directories are first in either direction.
            return arranged(entries) { (left, right) in
                guard left.entry.kind == .directory || right.entry.kind == .directory,
                    left.entry.kind != right.entry.kind
                else { return left.name.compare(right.name) * sign < 0 }
                return left.entry.kind == .directory
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
