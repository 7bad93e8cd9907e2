import MountProtocol
import Names

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

        /// Whether this is what has the entry.
        package func isSame(as other: MountEntry) -> Bool {
            KeptNode(path: path, entry: entry, asOf: nil, lookups: 0).isSame(as: other)
        }
    }

    private var nodes = NodeSlots()
    /// Of each path the nodes of its versions, the newest last.
    private var numbers = NodeNames()
    private var next: UInt64 = 2
    package let limit: Int

    /// - Parameter limit: nodes; more are made all the same, and `excess` says how many are to go.
    package init(limit: Int = 1_000_000) {
        self.limit = limit
        let entry = MountEntry(
            name: "", kind: .directory, version: 0, size: 0, modifiedSeconds: 0, modifiedNanoseconds: 0,
            permissions: 0o755, isHere: true)
        numbers[""] = [Self.root]
        nodes[Self.root] = KeptNode(path: "", entry: entry, asOf: nil, lookups: 1)
    }

    package var count: Int { nodes.count }

    package subscript(_ number: UInt64) -> Node? {
        nodes[number].map { Node(path: $0.path, entry: $0.entry, asOf: $0.asOf, isDetached: $0.isDetached) }
    }

    /// The node of this version, one more look-up counted.
    package mutating func lookUp(_ entry: MountEntry, at path: String, now: Duration) -> UInt64 {
        let known = numbers[path]
        // A directory is the same whatever its times are.
        let match =
            known.first {
                guard entry.disk != 0, let found = nodes[$0] else { return false }
                return found.disk == entry.disk && found.kind == entry.kind
            }
            ?? known.first { nodes[$0]?.isSame(as: entry) ?? false }
        let number = match ?? next
        if match == nil {
            next &+= 1
            nodes[number] = KeptNode(path: path, entry: entry, asOf: now, lookups: 0)
            numbers[path] = known + [number]
        }
        guard number != Self.root else { return number }
        nodes[number]?.entry = entry
        nodes[number]?.asOf = now
        nodes[number]?.lookups &+= 1
        if known.last != number, match != nil { numbers[path] = known.filter { $0 != number } + [number] }
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
        numbers[path] = numbers[path].filter { $0 != number }
    }

    // MARK: changes of names

    /// Nothing has the name any more; what is open goes on.
    package mutating func detach(_ path: String) {
        guard !path.isEmpty else { return }
        for number in numbers.take(path) { nodes[number]?.isDetached = true }
    }

    /// The same of a name that a directory had, or something else, and that is another's since, or nobody's.
    package mutating func detach(_ path: String, directories: Bool) {
        guard !path.isEmpty else { return }
        let former = numbers[path].filter { (nodes[$0]?.kind == .directory) == directories }
        for number in former {
            nodes[number]?.isDetached = true
            unlist(number, at: path)
        }
    }

    /// The node that had the name last, one more look-up counted: a new one only if the kernel has forgotten all of its kind.
    package mutating func lookUpFormer(_ entry: MountEntry, at path: String) -> UInt64 {
        guard let number = numbers[path].last(where: { nodes[$0]?.kind == entry.kind }) else {
            let number = lookUp(entry, at: path, now: .zero)
            nodes[number]?.asOf = nil
            return number
        }
        if number != Self.root { nodes[number]?.lookups &+= 1 }
        return number
    }

    /// What was at and below `source` is at and below `target`, whose own nodes are nobody's. Goes through all nodes for a directory.
    package mutating func rename(_ source: String, to target: String) {
        guard !source.isEmpty, !target.isEmpty, NameKey(source) != NameKey(target) else { return }
        detach(target)
        let isDirectory = numbers[source].contains { nodes[$0]?.kind == .directory }
        let below = source + "/"
        let moved = isDirectory ? [source] + numbers.paths.filter { $0.utf8.starts(with: below.utf8) } : [source]
        for path in moved {
            let list = numbers.take(path)
            guard !list.isEmpty else { continue }
            let place = target + (String(path.utf8.dropFirst(source.utf8.count)) ?? "")
            detach(place)
            numbers[place] = list
            for number in list {
                nodes[number]?.path = place
                nodes[number]?.asOf = nil
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
        guard let node = nodes[number], node.kind == .directory, node.isHere else {
            return doubt(node: number)
        }
        // The rest is as true as it was.
        guard nodes[number]?.asOf != nil else { return }
        nodes[number]?.modifiedSeconds = time.seconds
        nodes[number]?.modifiedNanoseconds = time.nanoseconds
    }

    /// The name may be otherwise than the agent said.
    package mutating func doubt(_ path: String) {
        for number in numbers[path] { nodes[number]?.asOf = nil }
    }

    /// The node was written to.
    package mutating func doubt(node number: UInt64) { nodes[number]?.asOf = nil }

    package mutating func doubtEverything() {
        for number in nodes.numbers { nodes[number]?.asOf = nil }
    }

    package func numbers(at path: String) -> [UInt64] { numbers[path] }

    /// All paths but the root's, those of directories first.
    package var paths: [String] {
        nodes.numbers.compactMap { nodes[$0] }.filter { !$0.path.isEmpty }
            .sorted { ($0.kind == .directory ? 0 : 1) < ($1.kind == .directory ? 0 : 1) }.map(\.path)
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
        return nodes.numbers.lazy.filter { nodes[$0]?.kind != .directory }.prefix(4 * most).sorted().prefix(surplus)
            .compactMap { nodes[$0]?.path }
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
