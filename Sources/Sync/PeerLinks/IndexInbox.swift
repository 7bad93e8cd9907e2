import AsyncTools
import BlockExchange
import Synchronization

/// What a peer said of indexes on one link and is still to be taken in, in the order in which it came.
///
/// What comes behind them on the link may be an answer that a person waits for, or the request of one: reading goes on
/// until so much waits as a slow link brings in the ten seconds that a folder may take to be ready for it. Then the peer is
/// held back. What waits is taken in together, for a transaction costs more than the entries of a small message.
final class IndexInbox: Sendable {
    /// Memory that the batches may take, roughly. One batch may always wait.
    static let byteLimit = 8 << 20
    /// Small batches are joined to one of so many entries at most.
    static let entriesTogether = 1000

    enum Item: Equatable, Sendable {
        case config(ClusterConfig)
        case batch(IndexBatch)
        /// This device has something to say itself; it goes before all that waits.
        case interruption
    }

    private struct State {
        /// With the memory that each takes, roughly.
        var items: [(item: Item, cost: Int)] = []
        var isInterrupted = false
        var isFinished = false
    }

    private let room = Budget(limit: byteLimit)
    private let state = Mutex(State())
    private let hasItem = Signal()

    /// Appends once there is room. False if the inbox was finished or the task cancelled: the item is dropped.
    func send(_ item: Item) async -> Bool {
        let cost = Self.cost(item)
        guard await room.take(cost) else { return false }
        let isTaken = state.withLock { state in
            guard !state.isFinished else { return false }
            state.items.append((item, cost))
            return true
        }
        hasItem.notify()
        return isTaken
    }

    /// Has `next` give an interruption first; several that wait are one.
    func interrupt() {
        state.withLock { $0.isInterrupted = true }
        hasItem.notify()
    }

    /// The next item, a batch joined with those behind it that go on where it ends; nil once the inbox is finished and empty,
    /// or the task cancelled.
    func next() async -> Item? {
        while !Task.isCancelled {
            let (item, cost, isOver) = state.withLock { state -> (Item?, Int, Bool) in
                if state.isInterrupted {
                    state.isInterrupted = false
                    return (.interruption, 0, false)
                }
                let (item, count) = Self.first(of: state.items)
                let cost = state.items.prefix(count).reduce(0) { $0 + $1.cost }
                state.items.removeFirst(count)
                return (item, cost, state.isFinished && item == nil)
            }
            room.give(cost)
            if item != nil || isOver { return item }
            await hasItem.wait()
        }
        return nil
    }

    /// Ends the inbox: what is in it can still be taken, who waits to send is let go.
    func finish() {
        state.withLock { $0.isFinished = true }
        room.close()
        hasItem.notify()
    }

    private static func first(of items: [(item: Item, cost: Int)]) -> (item: Item?, count: Int) {
        guard case .batch(let first)? = items.first?.item else { return (items.first?.item, items.isEmpty ? 0 : 1) }
        var batches = [first]
        // More than this are never joined.
        for (item, _) in items.dropFirst().prefix(entriesTogether) {
            guard case .batch(let next) = item, next.folder == first.folder else { break }
            batches.append(next)
        }
        let (joined, count) = joined(batches)
        return (joined.map(Item.batch), count)
    }

    /// The first of `batches` with those behind it that can be taken in with it, and how many these are.
    ///
    /// Of an index that replaces all that is known only the rest can be joined to its first part. As the entries stay in
    /// their order, the last of a name counts, as it would have.
    static func joined(_ batches: [IndexBatch]) -> (batch: IndexBatch?, count: Int) {
        guard var joined = batches.first else { return (nil, 0) }
        var count = 1
        for next in batches.dropFirst() {
            guard next.folder == joined.folder, !(next.isFullIndex && next.isFirst),
                joined.files.count + next.files.count <= entriesTogether
            else { break }
            joined.files += next.files
            joined.isFullIndex = joined.isFullIndex || next.isFullIndex
            joined.isLast = next.isLast
            joined.lastSequence = next.lastSequence
            count += 1
        }
        return (joined, count)
    }

    private static func cost(_ item: Item) -> Int {
        let byteCount =
            switch item {
            case .batch(let batch): Self.byteCount(of: batch)
            case .config(let config): config.folders.reduce(256) { $0 + 256 + 256 * $1.devices.count }
            case .interruption: 0
            }
        return min(byteCount, byteLimit)
    }

    /// What the entries take here, roughly.
    static func byteCount(of batch: IndexBatch) -> Int {
        // By position: to iterate would copy each entry.
        batch.files.indices.reduce(256) { sum, position in
            sum + 256 + batch.files[position].name.utf8.count + 48 * batch.files[position].blocks.count
                + batch.files[position].carriedFields.count + batch.files[position].symlinkTarget.count
        }
    }
}
