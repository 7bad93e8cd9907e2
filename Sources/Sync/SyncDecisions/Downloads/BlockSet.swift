/// Which blocks of a file, by their indexes: a bit for each up to the last.
package struct BlockSet: Equatable, Sendable {
    /// A file has no more blocks (`ExchangeLimits.blocksPerFile`); larger indexes are not taken.
    package static let indexLimit = 1 << 20

    /// The last one is not zero.
    private var words: [UInt64] = []
    package private(set) var count = 0

    package init(_ blocks: some Sequence<Int> = EmptyCollection<Int>()) {
        for block in blocks { insert(block) }
    }

    package var isEmpty: Bool { count == 0 }
    package var byteCount: Int { words.count * 8 }

    package func contains(_ block: Int) -> Bool {
        guard (0..<words.count * 64).contains(block) else { return false }
        return words[block / 64] & Self.bit(block) != 0
    }

    /// False if the block was in it, or is none that a file can have.
    @discardableResult
    package mutating func insert(_ block: Int) -> Bool {
        guard (0..<Self.indexLimit).contains(block), !contains(block) else { return false }
        if block / 64 >= words.count {
            words += repeatElement(0, count: block / 64 + 1 - words.count)
        }
        words[block / 64] |= Self.bit(block)
        count += 1
        return true
    }

    package mutating func remove(_ block: Int) {
        guard contains(block) else { return }
        words[block / 64] &= ~Self.bit(block)
        count -= 1
        while words.last == 0 { words.removeLast() }
    }

    /// All of them in order. O(the largest).
    package var indexes: [Int] {
        words.indices.flatMap { word in
            (0..<64).compactMap { words[word] & (1 << UInt64($0)) == 0 ? nil : word * 64 + $0 }
        }
    }

    package func isSuperset(of other: BlockSet) -> Bool {
        other.words.count <= words.count && other.words.indices.allSatisfy { other.words[$0] & ~words[$0] == 0 }
    }

    package func subtracting(_ other: BlockSet) -> BlockSet {
        var rest = self
        for word in words.indices.prefix(other.words.count) { rest.words[word] &= ~other.words[word] }
        while rest.words.last == 0 { rest.words.removeLast() }
        rest.count = rest.words.reduce(0) { $0 + $1.nonzeroBitCount }
        return rest
    }

    private static func bit(_ block: Int) -> UInt64 { 1 << UInt64(block % 64) }
}
