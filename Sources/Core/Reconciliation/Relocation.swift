import BlockExchange
import Names

/// A time of the disk, to order by.
package struct DiskTime: Hashable, Comparable, Sendable {
    package var seconds: Int64
    package var nanoseconds: Int32

    package init(seconds: Int64, nanoseconds: Int32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}

/// What is at a name, or was when it was looked at last.
package struct PlacedItem: Hashable, Sendable {
    package enum Kind: Hashable, Sendable { case file, directory, symlink }

    package var path: String
    package var kind: Kind
    /// 0 if not known.
    package var inode: UInt64
    package var size: Int64
    package var modified: DiskTime
    /// When contents, permissions or names changed last; nil if not known.
    package var changed: DiskTime?
    /// When it was made; nil if not known.
    package var created: DiskTime?

    package init(
        path: String, kind: Kind, inode: UInt64, size: Int64, modified: DiskTime, changed: DiskTime? = nil,
        created: DiskTime? = nil
    ) {
        self.path = path
        self.kind = kind
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
        self.created = created
    }

    /// Whether this is what `lost` was, under another name, and for files perhaps written to since; nil if the disk
    /// does not say.
    ///
    /// The number of what was removed is soon given to something new. That was made after the old one was seen last.
    func isSame(as lost: PlacedItem) -> Bool? {
        guard kind == lost.kind, inode == lost.inode, inode != 0 else { return false }
        if let created, let seen = lost.changed { return created <= seen }
        return switch kind {
        case .file, .symlink: size == lost.size && modified == lost.modified
        case .directory: nil
        }
    }
}

/// Something on this disk at which something else may be found again.
package struct Sighting: Hashable, Sendable {
    package var item: PlacedItem
    /// Whether it is kept there already.
    package var isKept: Bool
    /// Why no line can follow it there, in words; nil if one can.
    package var obstacle: String?

    package init(_ item: PlacedItem, isKept: Bool = false, obstacle: String? = nil) {
        self.item = item
        self.isKept = isKept
        self.obstacle = obstacle
    }
}

/// Where kept names that a look found gone are now, and what follows for the selection.
///
/// Pure: what was seen is handed in, and what comes out is to be written into the ignore file or shown to people.
package struct Relocation: Equatable, Sendable {
    package struct Move: Hashable, Sendable {
        package var from: String
        package var to: String

        package init(from: String, to: String) {
            self.from = from
            self.to = to
        }
    }

    /// A name that is gone and lies, not kept, at another: its deletion waits for what its user says.
    package struct Held: Hashable, Sendable {
        package var from: String
        package var to: String
        /// Why no line follows; nil if it had no line of its own.
        package var obstacle: String?

        package init(from: String, to: String, obstacle: String? = nil) {
            self.from = from
            self.to = to
            self.obstacle = obstacle
        }
    }

    /// Lines that go to other names.
    package private(set) var follows: [Move] = []
    /// Lines whose file is at a name now that another line selects.
    package private(set) var joined: [Move] = []
    /// In the order of their old names, what is in a directory after it.
    package private(set) var held: [Held] = []
    /// Files with a line of their own, or below a directory with one, that were not found: one of the same contents may be
    /// theirs.
    package private(set) var unfound: [PlacedItem] = []

    /// - parameters:
    ///   - lost: kept names that are gone, each once.
    ///   - lines: paths that have a line of their own, and are not marked as moved.
    ///   - sightings: what may be one of them; each path once.
    ///   - reported: renames that were seen to happen, in their order.
    ///   - copies: for files of `unfound` of an earlier decision the sightings with the same contents.
    package init(
        lost: [PlacedItem], lines: Set<NameKey>, sightings: [Sighting], reported: [Move] = [],
        copies: [NameKey: [String]] = [:]
    ) {
        let lost = lost.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
        let seen = Seen(sightings)
        var found: [NameKey: Sighting] = [:]
        for item in lost { found[item.path] = seen.sighting(of: item, reported: reported) }
        // A directory whose number says nothing, or of which there is a copy, is where what was in it is.
        for item in lost where item.kind == .directory && found[item.path] == nil && lines.contains(item.path) {
            found[item.path] = seen.directory(item, of: lost, found: found, copies: copies)
        }
        var ambiguous: [NameKey: String] = [:]
        for item in lost where found[item.path] == nil && lines.contains(item.path) && item.kind == .file {
            let same = (copies[item.path] ?? []).compactMap { seen.byPath[$0] }
            let named = same.filter { Self.name($0.item.path) == Self.name(item.path) }
            if let only = same.count == 1 ? same.first : named.count == 1 ? named.first : nil {
                found[item.path] = only
            } else if let first = same.first {
                found[item.path] = first
                ambiguous[item.path] = "\(same.count) files in the folder have the same contents"
            } else if item.size > 0 {
                unfound.append(item)
            }
        }
        // Nor were directories with lines: what was in them may tell.
        let missing = lost.filter { $0.kind == .directory && found[$0.path] == nil && lines.contains($0.path) }
        for item in lost where item.kind == .file && item.size > 0 && found[item.path] == nil {
            guard !lines.contains(item.path), missing.contains(where: { item.path.isBelow($0.path) }) else { continue }
            unfound.append(item)
        }
        var settled: Set<String> = []
        var directories: Set<NameKey> = []
        for item in lost {
            guard let place = found[item.path], !settled.contains(where: { item.path.isBelow($0) }) else { continue }
            let move = Move(from: item.path, to: place.item.path)
            let hasLine = lines.contains(item.path)
            if place.isKept {
                if hasLine { joined.append(move) }
                continue
            }
            let obstacle = ambiguous[item.path] ?? place.obstacle
            if hasLine, obstacle == nil {
                follows.append(move)
                if item.kind == .directory { settled.insert(item.path) }
            } else {
                held.append(Held(from: move.from, to: move.to, obstacle: hasLine ? obstacle : nil))
                if item.kind == .directory { directories.insert(item.path) }
            }
        }
        // Nobody is asked about a directory in which there is nothing to be asked about.
        let files = held.filter { !directories.contains($0.from) }
        held.removeAll { held in
            directories.contains(held.from) && !files.contains { $0.from.isBelow(held.from) }
        }
    }

    private static func name(_ path: String) -> Substring {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? path[...]
    }
}

/// Sightings, to be found by number and by path.
private struct Seen {
    var byPath: [NameKey: Sighting] = [:]
    private var byInode: [UInt64: [Sighting]] = [:]

    init(_ sightings: [Sighting]) {
        for sighting in sightings {
            byPath[sighting.item.path] = sighting
            byInode[sighting.item.inode, default: []].append(sighting)
        }
    }

    /// What `lost` is now; of several names of a file one that is kept, else the first.
    func sighting(of lost: PlacedItem, reported: [Relocation.Move]) -> Sighting? {
        var path = lost.path
        for move in reported {
            if path == move.from {
                path = move.to
            } else if path.isBelow(move.from) {
                path = move.to + path.behind(move.from)
            }
        }
        if path != lost.path, let there = byPath[path], there.item.kind == lost.kind,
            there.item.inode == lost.inode
                || (there.item.kind == .file && there.item.size == lost.size && there.item.modified == lost.modified)
        {
            return there
        }
        let same = (byInode[lost.inode] ?? []).filter { $0.item.isSame(as: lost) == true }
        return same.first(where: \.isKept)
            ?? same.min { $0.item.path.utf8.lexicographicallyPrecedes($1.item.path.utf8) }
    }

    /// Where most of what was in a directory is, under the same names.
    func directory(
        _ directory: PlacedItem, of lost: [PlacedItem], found: [NameKey: Sighting], copies: [NameKey: [String]]
    ) -> Sighting? {
        var votes: [NameKey: Int] = [:]
        var total = 0
        for item in lost where item.kind != .directory && item.path.isBelow(directory.path) {
            total += 1
            let rest = item.path.behind(directory.path)
            let places = found[item.path].map { [$0.item.path] } ?? copies[item.path] ?? []
            for place in places {
                guard let there = place.without(suffix: rest), !there.isEmpty else { continue }
                votes[String(there), default: 0] += 1
            }
        }
        guard let best = votes.max(by: { ($0.value, $1.key.text) < ($1.value, $0.key.text) }), best.value * 2 > total,
            let there = byPath[best.key], there.item.kind == .directory
        else { return nil }
        return there
    }
}

/// What is to become of the line of a name that its file has left.
package enum MovedLine: Equatable, Sendable {
    /// The others have not heard yet, or this device has not looked.
    case waits
    /// The line goes.
    case ends
    /// Something is there after all: the line stays, for good.
    case stays

    /// - parameters:
    ///   - global: the winning announcement of the name.
    ///   - local: what this device has noted of it.
    ///   - isOnDisk: whether something is there now.
    ///   - othersKnow: whether another device announces the winner, or there is no other.
    ///   - isEmptied: whether nothing is below it on any device.
    package static func decide(
        global: FileInfo?, local: LocalVersion?, isOnDisk: Bool, othersKnow: Bool, isEmptied: Bool = false
    ) -> MovedLine {
        guard let global, !global.isInvalid else { return isOnDisk || local?.isLive == true ? .waits : .ends }
        guard !global.isDeleted else { return !isOnDisk && othersKnow && local?.isLive != true ? .ends : .waits }
        if isOnDisk { return global.kind == .directory && isEmptied ? .waits : .stays }
        // It is there for what others have in it.
        if global.kind == .directory, local?.isLive != true { return .ends }
        return local?.isLive == true && local?.file.version == global.version ? .waits : .stays
    }
}
