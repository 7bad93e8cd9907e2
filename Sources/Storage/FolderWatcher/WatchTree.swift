import FileAccess

/// The watched directories: which watch stands for which directory, by parents, so that a renamed directory keeps its
/// watches and everything below follows at once.
///
/// Pure; `WatchSession` keeps it in step with the watch program.
struct WatchTree {
    /// Where a directory is.
    enum Place: Hashable, Sendable {
        case root
        case below(RelativePath)
        /// Moved away with no word yet of where to, or too deep to be named.
        case nowhere

        /// The directory's path; nil is the root. Nowhere has none.
        var directory: RelativePath?? {
            switch self {
            case .root: .some(nil)
            case .below(let path): .some(path)
            case .nowhere: nil
            }
        }
    }

    enum Watch: Hashable, Sendable {
        case none
        case requested(UInt32)
        case set(Int32)
        case failed(Int32)
    }

    typealias ID = Int
    static let root: ID = 0

    private struct Node {
        var parent: ID?
        var name: RelativePath?
        var children: [RelativePath: ID] = [:]
        var watch = Watch.none
    }

    private var nodes: [ID: Node] = [root: Node(parent: nil, name: nil)]
    private var watches: [Int32: ID] = [:]
    private var requests: [UInt32: ID] = [:]
    private var nextID = root + 1
    private var nextRequest: UInt32 = 0

    /// How many directories are watched.
    var watchedCount: Int { watches.count }
    /// How many answers are awaited.
    var requestCount: Int { requests.count }
    /// How many directories could not be watched, by errno. Looks at every directory.
    var failures: [Int32: Int] {
        var counts: [Int32: Int] = [:]
        for node in nodes.values {
            if case .failed(let error) = node.watch { counts[error, default: 0] += 1 }
        }
        return counts
    }

    func contains(_ id: ID) -> Bool { nodes[id] != nil }
    func watch(of id: ID) -> Watch { nodes[id]?.watch ?? .none }
    func directory(of watch: Int32) -> ID? { watches[watch] }
    /// The directory at `path`, nil being the root; nil if it is not in the tree.
    func directory(at path: RelativePath?) -> ID? {
        var here = Self.root
        for component in path?.components ?? [] {
            guard let name = RelativePath(String(component)), let child = child(of: here, named: name) else {
                return nil
            }
            here = child
        }
        return here
    }
    func child(of id: ID, named name: RelativePath) -> ID? { nodes[id]?.children[name] }
    func parent(of id: ID) -> ID? { nodes[id]?.parent }
    func children(of id: ID) -> [RelativePath: ID] { nodes[id]?.children ?? [:] }

    func place(of id: ID) -> Place {
        var names: [RelativePath] = []
        var current = id
        while current != Self.root {
            guard let node = nodes[current], let parent = node.parent, let name = node.name else { return .nowhere }
            names.append(name)
            current = parent
        }
        guard !names.isEmpty else { return .root }
        let text = names.reversed().map(\.text).joined(separator: "/")
        return RelativePath(text).map { .below($0) } ?? .nowhere
    }

    /// The directory called `name` in `parent`, entered if it is new.
    mutating func enter(_ name: RelativePath, in parent: ID) -> ID {
        if let known = nodes[parent]?.children[name] { return known }
        let id = nextID
        nextID += 1
        nodes[id] = Node(parent: parent, name: name)
        nodes[parent]?.children[name] = id
        return id
    }

    /// Notes that a watch is asked for and gives the request's number.
    mutating func request(_ id: ID) -> UInt32 {
        nextRequest &+= 1
        requests[nextRequest] = id
        nodes[id]?.watch = .requested(nextRequest)
        return nextRequest
    }

    /// The directory that an answer is about, which may not be in the tree any more; nil if nothing was asked.
    mutating func takeRequest(_ request: UInt32) -> ID? { requests.removeValue(forKey: request) }

    /// Binds `watch` to the directory; another one that had it loses it.
    mutating func set(_ watch: Int32, for id: ID) {
        guard nodes[id] != nil else { return }
        if let other = watches[watch], other != id { nodes[other]?.watch = .none }
        if case .set(let earlier) = self.watch(of: id), earlier != watch { watches.removeValue(forKey: earlier) }
        watches[watch] = id
        nodes[id]?.watch = .set(watch)
    }

    mutating func fail(_ id: ID, error: Int32) { nodes[id]?.watch = .failed(error) }

    /// Forgets a watch that the kernel removed and gives its directory.
    mutating func drop(_ watch: Int32) -> ID? {
        guard let id = watches.removeValue(forKey: watch) else { return nil }
        nodes[id]?.watch = .none
        return id
    }

    /// Takes the directory and all below out of the tree; gives their watches.
    mutating func remove(_ id: ID) -> [Int32] {
        guard id != Self.root else { return [] }
        leave(id)
        var removed: [Int32] = []
        var rest = [id]
        while let next = rest.popLast() {
            guard let node = nodes.removeValue(forKey: next) else { continue }
            rest += node.children.values
            guard case .set(let watch) = node.watch else { continue }
            watches.removeValue(forKey: watch)
            removed.append(watch)
        }
        return removed
    }

    /// Takes the directory out of its parent but keeps it, with its watches, until it is attached or removed.
    mutating func detach(_ id: ID) {
        if id != Self.root { leave(id) }
    }

    /// Puts a directory in a new place; gives the watches of what was there.
    mutating func attach(_ id: ID, as name: RelativePath, in parent: ID) -> [Int32] {
        guard id != Self.root, nodes[id] != nil, nodes[parent] != nil, !isAncestor(id, of: parent) else { return [] }
        var replaced: [Int32] = []
        if let other = nodes[parent]?.children[name] {
            if other == id { return [] }
            replaced = remove(other)
        }
        // What was there may have held it.
        guard nodes[id] != nil else { return replaced }
        leave(id)
        nodes[id]?.parent = parent
        nodes[id]?.name = name
        nodes[parent]?.children[name] = id
        return replaced
    }

    private mutating func leave(_ id: ID) {
        guard let node = nodes[id], let parent = node.parent, let name = node.name else { return }
        nodes[parent]?.children.removeValue(forKey: name)
        nodes[id]?.parent = nil
    }

    private func isAncestor(_ id: ID, of other: ID) -> Bool {
        var current: ID? = other
        while let here = current {
            if here == id { return true }
            current = nodes[here]?.parent
        }
        return false
    }
}
