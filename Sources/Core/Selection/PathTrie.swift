/// Literal paths by component, each with the lines that name it: looked up in time that grows with the path, not
/// with the number of lines.
///
/// Nodes lie level by level in one array; the children of a node are neighbours, sorted, so that a lookup is a binary
/// search that nobody can turn into a chain of collisions.
struct PathTrie: Sendable {
    /// A line's number in the list of patterns; `none` is greater than all.
    typealias LineIndex = Int32
    static let none = LineIndex.max

    struct Entry {
        var components: [[UInt8]]
        var line: LineIndex
        var matchesContentOnly: Bool
    }

    struct Node: Sendable {
        /// The first eight bytes of the name, big-endian, which order most names without a look at the rest.
        fileprivate var key: UInt64 = 0
        fileprivate var nameStart: Int32 = 0
        fileprivate var nameCount: Int32 = 0
        fileprivate var firstChild: Int32 = 0
        fileprivate var childCount: Int32 = 0
        fileprivate var parent: Int32 = -1
        /// The first line that names this very path.
        fileprivate(set) var exact = PathTrie.none
        /// The first line that takes in everything below this path.
        fileprivate(set) var below = PathTrie.none
        /// The first line that includes a path, or what is in it, further down than this one.
        fileprivate(set) var includeBelow = PathTrie.none
        /// The first line that leaves out a path, or what is in it, further down than this one.
        fileprivate(set) var leaveOutBelow = PathTrie.none
    }

    /// What a line does to the path that it names.
    enum Effect {
        case includes, leavesOut
        /// Lines before it decide.
        case none
    }

    static let root = 0

    private(set) var nodes: [Node] = [Node()]
    private var names: [UInt8] = []

    var isEmpty: Bool { nodes.count == 1 }

    init(_ entries: [Entry]) {
        let sorted = entries.sorted { left, right in
            left.components.lexicographicallyPrecedes(right.components) { $0.lexicographicallyPrecedes($1) }
        }
        // Node by node, each with the entries that lie at or below it and the number of components passed.
        var ranges: [(entries: Range<Int>, depth: Int)] = [(sorted.indices, 0)]
        var node = 0
        while node < nodes.count {
            let depth = ranges[node].depth
            var index = ranges[node].entries.lowerBound
            let end = ranges[node].entries.upperBound
            while index < end, sorted[index].components.count == depth {
                let entry = sorted[index]
                nodes[node].below = min(nodes[node].below, entry.line)
                if !entry.matchesContentOnly { nodes[node].exact = min(nodes[node].exact, entry.line) }
                index += 1
            }
            nodes[node].firstChild = Int32(truncatingIfNeeded: nodes.count)
            while index < end {
                let name = sorted[index].components[depth]
                var next = index + 1
                while next < end, sorted[next].components[depth] == name { next += 1 }
                var child = Node()
                child.key = name.withUnsafeBufferPointer { PathTrie.key(of: $0) }
                child.nameStart = Int32(truncatingIfNeeded: names.count)
                child.nameCount = Int32(truncatingIfNeeded: name.count)
                child.parent = Int32(truncatingIfNeeded: node)
                names += name
                nodes.append(child)
                ranges.append((index..<next, depth + 1))
                nodes[node].childCount += 1
                index = next
            }
            node += 1
        }
    }

    /// Notes at all ancestors which lines include something below them, and which leave something out.
    mutating func markEffects(_ effect: (LineIndex) -> Effect) {
        for index in nodes.indices.dropFirst().reversed() {
            let node = nodes[index]
            var (include, leaveOut) = (node.includeBelow, node.leaveOutBelow)
            func note(_ line: LineIndex) {
                guard line != PathTrie.none else { return }
                switch effect(line) {
                case .includes: include = min(include, line)
                case .leavesOut: leaveOut = min(leaveOut, line)
                case .none: break
                }
            }
            note(node.exact)
            if node.below != node.exact { note(node.below) }
            let parent = Int(node.parent)
            nodes[parent].includeBelow = min(nodes[parent].includeBelow, include)
            nodes[parent].leaveOutBelow = min(nodes[parent].leaveOutBelow, leaveOut)
        }
    }

    /// The child of `node` with that name; `key` is the name's.
    @inline(__always)
    func child(of node: Int, named name: UnsafeBufferPointer<UInt8>, key: UInt64) -> Int? {
        nodes.withUnsafeBufferPointer { nodes in
            var low = Int(nodes[node].firstChild)
            var high = low + Int(nodes[node].childCount)
            while low < high {
                let middle = (low + high) / 2
                let candidate = nodes[middle].key
                if candidate < key || candidate == key && precedes(nodes[middle], name) {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            guard low < Int(nodes[node].firstChild) + Int(nodes[node].childCount), nodes[low].key == key,
                equals(nodes[low], name)
            else { return nil }
            return low
        }
    }

    private func bytes(of node: Node) -> ArraySlice<UInt8> {
        names[Int(node.nameStart)..<Int(node.nameStart) + Int(node.nameCount)]
    }

    private func precedes(_ node: Node, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        if node.nameCount <= 8 { return Int(node.nameCount) < name.count }
        return bytes(of: node).lexicographicallyPrecedes(name)
    }

    @inline(__always)
    private func equals(_ node: Node, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard Int(node.nameCount) == name.count else { return false }
        return name.count <= 8 || bytes(of: node).elementsEqual(name)
    }

    /// The first eight bytes of a name as a big-endian number, with zeros behind a shorter one.
    @inline(__always)
    static func key(of name: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var key: UInt64 = 0
        for index in 0..<8 { key = key << 8 | (index < name.count ? UInt64(name[index]) : 0) }
        return key
    }
}
