import MountProtocol

/// The nodes that the kernel knows: a node is one version of one name, or one file on this disk, whose bytes change under all who
/// have it open. So cached pages of two versions never mix. Pure.
///
/// The kernel counts each answer that names a node as a look-up and gives the count back by "forget".
package struct NodeTable: Sendable {
    package static let root: UInt64 = 1

    package struct Node: Equatable, Sendable {
        /// Relative to the folder's root, empty for it.
        package var path: String
        package var entry: MountEntry
        /// When the agent said so; nil once it may be otherwise.
        package var asOf: Duration?
        /// The name is another's by now, or nobody's: only who has the node open still sees it.
        package var isDetached = false
        fileprivate var lookups: UInt64

        /// Whether this is what has the entry.
        package func isSame(as other: MountEntry) -> Bool {
            guard entry.kind == other.kind else { return false }
            if entry.kind == .directory || entry.version == other.version { return true }
            return entry.disk != 0 && entry.disk == other.disk
        }
    }

    private var nodes: [UInt64: Node]
    /// Of each path the nodes of its versions, the newest last.
    private var numbers: [String: [UInt64]] = ["": [root]]
    private var next: UInt64 = 2
    package let limit: Int

    /// - Parameter limit: nodes; more are made all the same, and `excess` says how many are to go.
    package init(limit: Int = 1_000_000) {
        self.limit = limit
        let entry = MountEntry(
            name: "", kind: .directory, version: 0, size: 0, modifiedSeconds: 0, modifiedNanoseconds: 0,
            permissions: 0o755, isHere: true)
        nodes = [Self.root: Node(path: "", entry: entry, asOf: nil, lookups: 1)]
    }

    package var count: Int { nodes.count }

    package subscript(_ number: UInt64) -> Node? { nodes[number] }

    /// The node of this version, one more look-up counted.
    package mutating func lookUp(_ entry: MountEntry, at path: String, now: Duration) -> UInt64 {
        let known = numbers[path, default: []]
        // A directory is the same whatever its times are.
        let match =
            known.first {
                guard entry.disk != 0, let found = nodes[$0]?.entry else { return false }
                return found.disk == entry.disk && found.kind == entry.kind
            }
            ?? known.first { nodes[$0]?.isSame(as: entry) ?? false }
        let number = match ?? next
        if match == nil {
            next &+= 1
            nodes[number] = Node(path: path, entry: entry, asOf: now, lookups: 0)
            numbers[path] = known + [number]
        }
        guard number != Self.root else { return number }
        nodes[number]?.entry = entry
        nodes[number]?.asOf = now
        nodes[number]?.lookups &+= 1
        if numbers[path]?.last != number {
            numbers[path]?.removeAll { $0 == number }
            numbers[path]?.append(number)
        }
        return number
    }

    /// The kernel forgets so many look-ups; a node without any is gone. More than there were count as all.
    package mutating func forget(_ number: UInt64, _ count: UInt64) {
        guard number != Self.root, let node = nodes[number] else { return }
        guard node.lookups <= count else {
            nodes[number]?.lookups = node.lookups &- count
            return
        }
        nodes[number] = nil
        unlist(number, at: node.path)
    }

    private mutating func unlist(_ number: UInt64, at path: String) {
        numbers[path]?.removeAll { $0 == number }
        if numbers[path]?.isEmpty == true { numbers[path] = nil }
    }

    // MARK: changes of names

    /// Nothing has the name any more; what is open goes on.
    package mutating func detach(_ path: String) {
        guard !path.isEmpty else { return }
        for number in numbers.removeValue(forKey: path) ?? [] { nodes[number]?.isDetached = true }
    }

    /// The same of a name that a directory had, or something else, and that is another's since, or nobody's.
    package mutating func detach(_ path: String, directories: Bool) {
        guard !path.isEmpty else { return }
        let former = numbers[path, default: []].filter { (nodes[$0]?.entry.kind == .directory) == directories }
        for number in former {
            nodes[number]?.isDetached = true
            unlist(number, at: path)
        }
    }

    /// The node that had the name last, one more look-up counted: a new one only if the kernel has forgotten all of its kind.
    package mutating func lookUpFormer(_ entry: MountEntry, at path: String) -> UInt64 {
        guard let number = numbers[path, default: []].last(where: { nodes[$0]?.entry.kind == entry.kind }) else {
            let number = lookUp(entry, at: path, now: .zero)
            nodes[number]?.asOf = nil
            return number
        }
        if number != Self.root { nodes[number]?.lookups &+= 1 }
        return number
    }

    /// What was at and below `source` is at and below `target`, whose own nodes are nobody's. Goes through all nodes for a directory.
    package mutating func rename(_ source: String, to target: String) {
        guard !source.isEmpty, !target.isEmpty, source != target else { return }
        detach(target)
        let isDirectory = numbers[source, default: []].contains { nodes[$0]?.entry.kind == .directory }
        let below = source + "/"
        let moved = isDirectory ? [source] + numbers.keys.filter { $0.utf8.starts(with: below.utf8) } : [source]
        for path in moved {
            guard let list = numbers.removeValue(forKey: path) else { continue }
            let place = target + (String(path.utf8.dropFirst(source.utf8.count)) ?? "")
            detach(place)
            numbers[place] = list
            for number in list {
                nodes[number]?.path = place
                nodes[number]?.asOf = nil
                if path == source { nodes[number]?.entry.name = Self.split(target)?.name ?? target }
            }
        }
    }

    /// What the agent says now of a node that is still of the same version.
    package mutating func refresh(_ number: UInt64, _ entry: MountEntry, now: Duration) {
        nodes[number]?.entry = entry
        nodes[number]?.asOf = now
    }

    /// A name was made in a directory, which has that time since.
    package mutating func changed(directory number: UInt64, at time: (seconds: Int64, nanoseconds: UInt32)) {
        guard let entry = nodes[number]?.entry, entry.kind == .directory, entry.isHere else {
            return doubt(node: number)
        }
        // The rest is as true as it was.
        guard nodes[number]?.asOf != nil else { return }
        nodes[number]?.entry.modifiedSeconds = time.seconds
        nodes[number]?.entry.modifiedNanoseconds = time.nanoseconds
    }

    /// The name may be otherwise than the agent said.
    package mutating func doubt(_ path: String) {
        for number in numbers[path, default: []] { nodes[number]?.asOf = nil }
    }

    /// The node was written to.
    package mutating func doubt(node number: UInt64) { nodes[number]?.asOf = nil }

    package mutating func doubtEverything() {
        for number in nodes.keys { nodes[number]?.asOf = nil }
    }

    package func numbers(at path: String) -> [UInt64] { numbers[path, default: []] }

    /// All paths but the root's, those of directories first.
    package var paths: [String] {
        nodes.values.filter { !$0.path.isEmpty }
            .sorted { ($0.entry.kind == .directory ? 0 : 1) < ($1.entry.kind == .directory ? 0 : 1) }.map(\.path)
    }

    /// The directory that holds `path`, and its name in it; nil for the root.
    package static func split(_ path: String) -> (parent: String, name: String)? {
        guard !path.isEmpty else { return nil }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", path) }
        return (String(path[..<slash]), String(path[path.utf8.index(after: slash)...]))
    }

    package static func join(_ directory: String, _ name: String) -> String {
        directory.isEmpty ? name : directory + "/" + name
    }

    /// Nodes of files that the kernel is asked to let go, since there are more than the limit; at most `most`.
    package func excess(most: Int = 1000) -> [String] {
        guard nodes.count > limit else { return [] }
        let surplus = min(most, nodes.count - limit)
        // Lower numbers were given earlier.
        return nodes.lazy.filter { $0.value.entry.kind != .directory }.prefix(4 * most).sorted { $0.key < $1.key }
            .prefix(surplus).map(\.value.path)
    }

    /// What programs see as the inode's number: the name's, the same for all its versions and after a restart.
    package static func inode(of path: String) -> UInt64 {
        guard !path.isEmpty else { return root }
        // FNV-1a, 64 bit.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return max(hash, 2)
    }
}
