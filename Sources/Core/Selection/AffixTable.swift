/// Beginnings or endings of names, each with the lines that hold them: one binary search per length that occurs.
struct AffixTable: Sendable {
    struct Entry {
        var affix: [UInt8]
        var line: PathTrie.LineIndex
        var matchesContentOnly: Bool
    }

    private struct Affix: Sendable {
        var bytes: [UInt8]
        var exact = PathTrie.none
        var below = PathTrie.none
    }

    private let groups: [(length: Int, affixes: [Affix])]
    private let isSuffix: Bool

    var isEmpty: Bool { groups.isEmpty }

    init(_ entries: [Entry], areSuffixes: Bool) {
        isSuffix = areSuffixes
        let byLength = Dictionary(grouping: entries, by: \.affix.count)
        groups = byLength.sorted { $0.key < $1.key }.map { length, entries in
            let affixes = Dictionary(grouping: entries, by: \.affix).map { bytes, entries in
                entries.reduce(into: Affix(bytes: bytes)) { affix, entry in
                    affix.below = min(affix.below, entry.line)
                    if !entry.matchesContentOnly { affix.exact = min(affix.exact, entry.line) }
                }
            }
            return (length, affixes.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) })
        }
    }

    /// The first line that matches the name: as the path's last component, or as that of a directory on its way.
    func firstLine(matching name: UnsafeBufferPointer<UInt8>, isLast: Bool) -> PathTrie.LineIndex {
        var first = PathTrie.none
        for (length, affixes) in groups {
            guard length <= name.count else { break }
            let part = isSuffix ? name[(name.count - length)...] : name[..<length]
            var low = 0
            var high = affixes.count
            while low < high {
                let middle = (low + high) / 2
                if affixes[middle].bytes.lexicographicallyPrecedes(part) { low = middle + 1 } else { high = middle }
            }
            guard low < affixes.count, affixes[low].bytes.elementsEqual(part) else { continue }
            first = min(first, isLast ? affixes[low].exact : affixes[low].below)
        }
        return first
    }
}
