import MountProtocol
import Names

/// What is kept of a node: its entry without the name, which the path ends with. There may be a million of them.
struct KeptNode: Sendable {
    var path: String
    private var time = Duration.zero
    private(set) var version: UInt64
    private(set) var size: Int64
    var modifiedSeconds: Int64
    private(set) var disk: UInt64
    var lookups: UInt64
    private(set) var target: [UInt8]
    var modifiedNanoseconds: UInt32
    private(set) var permissions: UInt16
    private(set) var kind: MountEntry.Kind
    private(set) var isHere: Bool
    private var isDoubted = true
    var isDetached = false

    init(path: String, entry: MountEntry, asOf: Duration?, lookups: UInt64) {
        (self.path, self.lookups) = (path, lookups)
        (version, size, disk, target) = (entry.version, entry.size, entry.disk, entry.target)
        (modifiedSeconds, modifiedNanoseconds) = (entry.modifiedSeconds, entry.modifiedNanoseconds)
        (permissions, kind, isHere) = (entry.permissions, entry.kind, entry.isHere)
        self.asOf = asOf
    }

    var asOf: Duration? {
        get { isDoubted ? nil : time }
        set { (time, isDoubted) = (newValue ?? .zero, newValue == nil) }
    }

    var entry: MountEntry {
        get {
            MountEntry(
                name: NodeTable.split(path)?.name ?? "", kind: kind, version: version, size: size,
                modifiedSeconds: modifiedSeconds, modifiedNanoseconds: modifiedNanoseconds, permissions: permissions,
                isHere: isHere, disk: disk, target: target)
        }
        set {
            var new = KeptNode(path: path, entry: newValue, asOf: asOf, lookups: lookups)
            new.isDetached = isDetached
            self = new
        }
    }

    /// Whether this is what has the entry.
    func isSame(as other: MountEntry) -> Bool {
        guard kind == other.kind else { return false }
        if kind == .directory || version == other.version { return true }
        return disk != 0 && disk == other.disk
    }
}

/// Nodes by their numbers. A dictionary of them has room for up to three times as many as there are, which is much where each
/// takes a hundred bytes: here it holds places in lists of the same length.
struct NodeSlots: Sendable {
    private static let listLength = 1024

    private var places: [UInt64: Int] = [:]
    private var lists: [[KeptNode?]] = []
    private var free: [Int] = []

    var count: Int { places.count }

    var numbers: Dictionary<UInt64, Int>.Keys { places.keys }

    subscript(_ number: UInt64) -> KeptNode? {
        get { places[number].flatMap { lists[$0 / Self.listLength][$0 % Self.listLength] } }
        set {
            guard let place = places[number] else {
                guard let newValue else { return }
                let place = newPlace()
                places[number] = place
                lists[place / Self.listLength][place % Self.listLength] = newValue
                return
            }
            lists[place / Self.listLength][place % Self.listLength] = newValue
            guard newValue == nil else { return }
            places[number] = nil
            free.append(place)
        }
    }

    private mutating func newPlace() -> Int {
        if let place = free.popLast() { return place }
        let first = lists.count * Self.listLength
        lists.append(Array(repeating: nil, count: Self.listLength))
        free = (first..<first + Self.listLength).reversed()
        return free.removeLast()
    }
}

/// The numbers of the nodes of each path, the newest last. Nearly every path has one, which takes no list.
struct NodeNames: Sendable {
    private var newest: [NameKey: UInt64] = [:]
    /// Of those that have several, the older ones.
    private var older: [NameKey: [UInt64]] = [:]

    var paths: some Sequence<String> { newest.keys.lazy.map(\.text) }

    /// Empty for a path that has none.
    subscript(_ path: String) -> [UInt64] {
        get {
            let key = NameKey(path)
            guard let last = newest[key] else { return [] }
            return older.isEmpty ? [last] : older[key, default: []] + [last]
        }
        set {
            let key = NameKey(path)
            newest[key] = newValue.last
            let rest = newValue.dropLast()
            if !rest.isEmpty || !older.isEmpty { older[key] = rest.isEmpty ? nil : Array(rest) }
        }
    }

    /// Takes the numbers away from a path.
    mutating func take(_ path: String) -> [UInt64] {
        defer { self[path] = [] }
        return self[path]
    }
}
