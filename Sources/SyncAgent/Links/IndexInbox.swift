import BlockExchange
import Synchronization

/// Index batches of one link that wait to be taken in.
///
/// What comes behind them on the link may be an answer that a person waits for, or the request of one: reading goes on
/// until so much waits as a slow link brings in the ten seconds that a folder may take to be ready for it. Then the peer is
/// held back. What waits is taken in together, for a transaction costs more than the entries of a small message.
final class IndexInbox: Sendable {
    /// Memory that the batches may take, roughly. One batch may always wait.
    static let byteLimit = 8 << 20
    /// Small batches are joined to one of so many entries at most.
    static let entriesTogether = 1000

    private struct State {
        var batches: [IndexBatch] = []
        var isFinished = false
        /// The one that was given out last is still being taken in.
        var isBusy = false
    }

    private let room = Budget(limit: byteLimit)
    private let state = Mutex(State())
    private let hasBatch = Signal()
    private let hasRested = Signal()

    /// Appends once there is room. False if the inbox was finished or the task cancelled: the batch is dropped.
    func send(_ batch: IndexBatch) async -> Bool {
        let cost = Self.cost(batch)
        guard await room.take(cost) else { return false }
        let isTaken = state.withLock { state in
            guard !state.isFinished else { return false }
            state.batches.append(batch)
            return true
        }
        hasBatch.notify()
        return isTaken
    }

    /// The next batch, joined with those behind it that go on where it ends; nil once the inbox is finished and empty, or
    /// the task cancelled.
    func next() async -> IndexBatch? {
        while !Task.isCancelled {
            let (batch, cost, isOver) = state.withLock { state in
                let (batch, count) = Self.joined(state.batches)
                let cost = state.batches.prefix(count).reduce(0) { $0 + Self.cost($1) }
                state.batches.removeFirst(count)
                state.isBusy = batch != nil
                return (batch, cost, state.isFinished && batch == nil)
            }
            room.give(cost)
            if batch == nil { hasRested.notify() }
            if batch != nil || isOver { return batch }
            await hasBatch.wait()
        }
        return nil
    }

    /// Returns when all that was sent before has been taken in, the inbox is finished, or the task cancelled. For one who waits.
    func rest() async {
        while !Task.isCancelled {
            if state.withLock({ $0.isFinished || $0.batches.isEmpty && !$0.isBusy }) { return }
            await hasRested.wait()
        }
    }

    /// Ends the inbox: what is in it can still be taken, who waits to send is let go.
    func finish() {
        state.withLock { $0.isFinished = true }
        room.close()
        hasBatch.notify()
        hasRested.notify()
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

    private static func cost(_ batch: IndexBatch) -> Int {
        let entries = batch.files.reduce(256) { sum, file in
            sum + 256 + file.name.utf8.count + 48 * file.blocks.count + file.carriedFields.count
                + file.symlinkTarget.count
        }
        return min(entries, byteLimit)
    }
}
