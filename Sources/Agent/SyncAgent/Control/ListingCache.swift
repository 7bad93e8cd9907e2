import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Synchronization

/// The names of a directory in an order, as they were at one moment: so small that a million of them are kept, for pages to
/// be cut from it.
struct DirectoryOrder: Sendable {
    /// Ids of the index; a negative one is the place of a name in `local`, counted from -1 down.
    var names: [Int64] = []
    /// Names that only this disk has.
    var local: [String] = []

    func localName(_ id: Int64) -> String? {
        let index = Int(-(id + 1))
        return id < 0 && local.indices.contains(index) ? local[index] : nil
    }
}

/// The orders that pages were last asked of. A page by name or size of a large directory must not look at all of its names
/// each time.
final class ListingCache: Sendable {
    struct Key: Hashable, Sendable {
        var folder: FolderID
        var directory: String
        var sort: EntrySort
        var isDescending: Bool
        var filter: EntryQuery.Filter
    }

    /// What an order was made from: as long as that is the same, so is the order.
    struct Stamp: Hashable, Sendable {
        var index: ListingStamp
        /// Of the directory on this disk.
        var disk: FileAccess.FileStatus?
        var selection: [String: FileAccess.FileStatus?]?
    }

    private struct Kept {
        var order: DirectoryOrder
        var stamp: Stamp
        var made: MonotonicTime
        /// How long it took to make.
        var cost: MonotonicTime
        var used: Int
    }

    private struct State {
        var kept: [Key: Kept] = [:]
        var uses = 0
    }

    /// Of all orders together.
    private let nameLimit: Int
    /// An order is given out for so many times as long as it took to make, though the index may have changed since: while one
    /// is received, pages of a large directory would cost all of the processor. What is gone is left out of its page.
    private static let patience = 10

    private let state = Mutex(State())

    init(nameLimit: Int = 4_000_000) { self.nameLimit = nameLimit }

    func order(_ key: Key, _ stamp: Stamp, now: MonotonicTime) -> DirectoryOrder? {
        state.withLock { state in
            guard let kept = state.kept[key] else { return nil }
            guard kept.stamp.disk == stamp.disk, kept.stamp.selection == stamp.selection else { return nil }
            let age = now - kept.made
            guard kept.stamp.index == stamp.index || age <= kept.cost * Self.patience else { return nil }
            state.uses += 1
            state.kept[key]?.used = state.uses
            return kept.order
        }
    }

    func keep(_ order: DirectoryOrder, _ key: Key, _ stamp: Stamp, made: MonotonicTime, cost: MonotonicTime) {
        state.withLock { state in
            state.uses += 1
            state.kept[key] = nil
            guard order.names.count <= nameLimit else { return }
            var total = state.kept.values.reduce(order.names.count) { $0 + $1.order.names.count }
            while total > nameLimit || state.kept.count >= 64,
                let oldest = state.kept.min(by: { $0.value.used < $1.value.used })
            {
                total -= oldest.value.order.names.count
                state.kept[oldest.key] = nil
            }
            state.kept[key] = Kept(order: order, stamp: stamp, made: made, cost: cost, used: state.uses)
        }
    }
}

/// What searches found, for the pages behind the first.
final class SearchCache: Sendable {
    struct Key: Hashable, Sendable {
        var text: String
        var folder: FolderID?
        var filter: NameFilter
    }

    private static let limit = 4
    private static let lifetime: MonotonicTime = .seconds(60)

    private let found = Mutex<[(key: Key, result: SearchResult, made: MonotonicTime)]>([])

    func result(_ key: Key, now: MonotonicTime) -> SearchResult? {
        found.withLock { $0.first { $0.key == key && now - $0.made <= Self.lifetime }?.result }
    }

    func keep(_ result: SearchResult, _ key: Key, now: MonotonicTime) {
        found.withLock { found in
            found.removeAll { $0.key == key || now - $0.made > Self.lifetime }
            if found.count >= Self.limit { found.removeFirst() }
            found.append((key, result, now))
        }
    }
}
