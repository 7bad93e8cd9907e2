import BlockExchange

/// Decides which holder is asked for which block of one file: in order, over all holders by how fast each has been, each
/// with a bounded number of bytes under way; a block that is late is asked of another as well. A device that is downloading the
/// file itself is asked for blocks that it has. Pure.
package struct BlockScheduler {
    package struct Settings: Sendable {
        /// Bytes under way per holder.
        package var windowByteCount = 32 << 20
        /// Requests under way per holder.
        var windowRequestCount = 64
        /// An answer is late after this, or after four times what this holder's answers take, whichever is longer.
        package var minimumPatience: MonotonicTime = .seconds(3)
        /// A holder that failed so many blocks of a file in a row is asked for no more of it.
        package var failureLimit = 3

        package init(
            windowByteCount: Int = 32 << 20, windowRequestCount: Int = 64,
            minimumPatience: MonotonicTime = .seconds(3), failureLimit: Int = 3
        ) {
            self.windowByteCount = windowByteCount
            self.windowRequestCount = windowRequestCount
            self.minimumPatience = minimumPatience
            self.failureLimit = failureLimit
        }
    }

    package struct Assignment: Equatable, Sendable {
        package var block: Int
        package var holder: DeviceID
        /// The holder has it in its temporary file.
        package var isFromTemporary: Bool
        /// Tells requests for the same block apart: one that was given back when its holder went may end after the next one to the
        /// same holder has begun.
        fileprivate var number = 0

        package init(block: Int, holder: DeviceID, isFromTemporary: Bool = false) {
            self.block = block
            self.holder = holder
            self.isFromTemporary = isFromTemporary
        }
    }

    package enum Failure: Equatable, Sendable {
        /// The bytes are not what their hash says.
        case wrongBytes
        /// The holder does not have the file after all.
        case notThere
        /// The link went.
        case linkLost
        /// It did not answer in time or said something else.
        case other
    }

    private struct Holder {
        var isAvailable = true
        var bytesUnderWay = 0
        var requestsUnderWay = 0
        var failuresInARow = 0
        /// Smoothed time from request to answer.
        var responseTime: MonotonicTime?
        /// Has a block under way that is late: gets no new ones until it answers.
        var isLate = false
        /// Of one that is downloading the file itself.
        var partial: Partial?
    }

    private struct Partial {
        /// What it said that it has.
        var announced: BlockSet
        /// Those that it did not refuse.
        var blocks: BlockSet
        /// Blocks before this one are done or under way, or it does not have them.
        var cursor = 0

        init(_ announced: BlockSet) { (self.announced, blocks) = (announced, announced) }
    }

    /// Requests that a device gets for blocks of its temporary file before it has answered one.
    private static let untriedRequestCount = 4
    /// Requests that one with the whole file gets while others download it, too, until it answers faster than this: what it is asked
    /// for early cannot come from the others any more.
    private static let sharedRequestCount = 8
    private static let sharedResponseTime = MonotonicTime.seconds(1)

    private struct Request {
        var holder: DeviceID
        var number: Int
        var since: MonotonicTime
        var isLate = false
    }

    private let blockSizes: [Int]
    private let settings: Settings
    private var holders: [DeviceID: Holder] = [:]
    private var isDone: [Bool]
    private var underWay: [Int: [Request]] = [:]
    private var lastNumber = 0
    /// Blocks that came back, smallest first in line before the untouched ones.
    private var returned: [Int] = []
    /// The first block that was never looked at.
    package private(set) var cursor = 0
    /// Blocks from here on are not asked for yet: they are looked for on this disk first, or an ordered reader is behind.
    package var horizon: Int
    /// The same for blocks that only devices have that download the file themselves.
    package var partialHorizon: Int
    /// Whether other devices may be downloading the file at the same time.
    package var isShared = false
    private(set) var missingCount: Int
    /// Holders that gave bytes that are not the file's; they are out of this file for good.
    package private(set) var liars: Set<DeviceID> = []

    /// - Parameter done: indexes of blocks that are here already.
    package init(blockSizes: [Int], done: Set<Int> = [], settings: Settings = Settings()) {
        self.blockSizes = blockSizes
        self.settings = settings
        horizon = blockSizes.count
        partialHorizon = blockSizes.count
        isDone = blockSizes.indices.map { done.contains($0) }
        missingCount = isDone.count { !$0 }
    }

    package var isComplete: Bool { missingCount == 0 }
    package var hasRequestsUnderWay: Bool { !underWay.isEmpty }
    /// Holders that may still be asked.
    package var availableHolders: [DeviceID] {
        holders.filter { _, holder in
            holder.isAvailable && (holder.partial.map { $0.blocks.indexes.contains { !isDone($0) } } ?? true)
        }.map(\.key).sorted()
    }

    /// Whether the block has come. True for one that there is not.
    package func isDone(_ block: Int) -> Bool { !isDone.indices.contains(block) || isDone[block] }

    /// Says which holders are connected now. One that was lost and is back starts again; a liar stays out.
    ///
    /// - Parameters:
    ///   - present: those that have the whole file.
    ///   - partial: those that are downloading it, and the blocks that they have.
    package mutating func setHolders(_ present: Set<DeviceID>, partial: [DeviceID: BlockSet] = [:]) {
        for id in present where !liars.contains(id) && (holders[id] == nil || holders[id]?.partial != nil) {
            // What it is asked for from its temporary file is still to come.
            holders[id] = holders[id] ?? Holder()
            holders[id]?.partial = nil
            holders[id]?.isAvailable = true
        }
        for (id, blocks) in partial where !present.contains(id) && !liars.contains(id) {
            guard holders[id]?.partial?.announced != blocks else { continue }
            holders[id] = holders[id] ?? Holder()
            holders[id]?.partial = Partial(blocks)
            holders[id]?.isAvailable = true
            holders[id]?.failuresInARow = 0
        }
        for id in holders.keys where !present.contains(id) && partial[id] == nil {
            giveBackBlocks(of: id)
            holders[id] = nil
        }
    }

    /// The next request to send; nil when all windows are full, all is under way, or nobody can be asked.
    package mutating func next(at now: MonotonicTime) -> Assignment? {
        // What others have spares those that everybody asks.
        if let assignment = nextPartial(at: now) { return assignment }
        guard let block = nextBlock() else { return nil }
        guard let holder = bestHolder(for: block) else {
            returned.insert(block, at: 0)
            return nil
        }
        return start(block, at: holder, now)
    }

    /// Blocks that are late and another holder that has room: each is to be asked of that one too.
    package mutating func hedges(at now: MonotonicTime) -> [Assignment] {
        var assignments: [Assignment] = []
        for (block, requests) in underWay.sorted(by: { $0.key < $1.key }) {
            var requests = requests
            for index in requests.indices where !requests[index].isLate && now >= deadline(of: requests[index]) {
                requests[index].isLate = true
                holders[requests[index].holder]?.isLate = true
            }
            underWay[block] = requests
            guard requests.count < 2, requests.allSatisfy(\.isLate),
                let holder = bestHolder(for: block, except: Set(requests.map(\.holder)))
            else { continue }
            assignments.append(start(block, at: holder, now))
        }
        return assignments
    }

    /// When `hedges` may have something to say; nil if nothing is under way that could become late.
    package var nextDeadline: MonotonicTime? {
        underWay.values.joined().filter { !$0.isLate }.map { deadline(of: $0) }.min()
    }

    /// A block has come and is verified. False if it was here already.
    package mutating func succeeded(_ assignment: Assignment, at now: MonotonicTime) -> Bool {
        let since = finish(assignment)
        if var holder = holders[assignment.holder] {
            holder.failuresInARow = 0
            holder.isLate = false
            if let since {
                let sample = now - since
                holder.responseTime = holder.responseTime.map { ($0 * 7 + sample) / 8 } ?? sample
            }
            holders[assignment.holder] = holder
        }
        guard !isDone[assignment.block] else { return false }
        isDone[assignment.block] = true
        missingCount -= 1
        return true
    }

    package mutating func failed(_ assignment: Assignment, _ failure: Failure) {
        // One that was given back already says nothing of the link that the holder has now, but a liar stays one.
        guard finish(assignment) != nil || failure == .wrongBytes else { return }
        if !isDone[assignment.block], underWay[assignment.block] == nil { giveBack(assignment.block) }
        guard var holder = holders[assignment.holder] else { return }
        // It has the whole file meanwhile, and no temporary one.
        if assignment.isFromTemporary, holder.partial == nil, failure == .notThere || failure == .other { return }
        holder.failuresInARow += 1
        holder.partial?.blocks.remove(assignment.block)
        switch failure {
        case .wrongBytes:
            liars.insert(assignment.holder)
            holder.isAvailable = false
        case .linkLost: holder.isAvailable = false
        case .notThere where holder.partial == nil: holder.isAvailable = false
        case .notThere, .other: if holder.failuresInARow >= settings.failureLimit { holder.isAvailable = false }
        }
        holders[assignment.holder] = holder
    }

    /// The holder can be asked again, by another link than the one that was lost.
    package mutating func relinked(_ id: DeviceID) {
        guard !liars.contains(id) else { return }
        holders[id]?.isAvailable = true
        holders[id]?.isLate = false
    }

    // MARK: -

    private mutating func nextBlock() -> Int? {
        while let block = returned.first {
            returned.removeFirst()
            if !isDone[block] { return block }
        }
        while cursor < min(horizon, isDone.count) {
            defer { cursor += 1 }
            if !isDone[cursor], underWay[cursor] == nil { return cursor }
        }
        return nil
    }

    /// The next block of those that devices have which download the file themselves, unless one that has it whole should answer
    /// sooner.
    private mutating func nextPartial(at now: MonotonicTime) -> Assignment? {
        let partial = holders.filter { $0.value.partial != nil }.sorted {
            (load($0.value), $0.key) < (load($1.value), $1.key)
        }
        for (id, holder) in partial {
            guard let block = nextBlock(of: id), hasRoom(holder, for: block) else { continue }
            let whole = holders.values.filter { $0.partial == nil && hasRoom($0, for: block) }.map(load).min()
            if let whole, whole < load(holder) { return nil }
            return start(block, at: id, now)
        }
        return nil
    }

    private mutating func nextBlock(of id: DeviceID) -> Int? {
        guard let partial = holders[id]?.partial else { return nil }
        var cursor = partial.cursor
        defer { holders[id]?.partial?.cursor = cursor }
        while cursor < min(partialHorizon, isDone.count) {
            if partial.blocks.contains(cursor), !isDone[cursor], underWay[cursor] == nil { return cursor }
            cursor += 1
        }
        return nil
    }

    /// Of the holders with room the one that should answer first: the least bytes under way for its speed.
    private func bestHolder(for block: Int, except: Set<DeviceID> = []) -> DeviceID? {
        holders.filter { id, holder in
            !except.contains(id) && holder.partial?.blocks.contains(block) != false && hasRoom(holder, for: block)
        }.min { left, right in
            (load(left.value), left.key) < (load(right.value), right.key)
        }?.key
    }

    private func hasRoom(_ holder: Holder, for block: Int) -> Bool {
        let isFast = holder.responseTime.map { $0 < Self.sharedResponseTime } ?? false
        let requestCount =
            switch holder.partial {
            case .some where holder.responseTime == nil:
                min(Self.untriedRequestCount, settings.windowRequestCount)
            case nil where isShared && !isFast: min(Self.sharedRequestCount, settings.windowRequestCount)
            default: settings.windowRequestCount
            }
        return holder.isAvailable && !holder.isLate && holder.requestsUnderWay < requestCount
            && (holder.requestsUnderWay == 0
                || holder.bytesUnderWay + blockSizes[block] <= settings.windowByteCount)
    }

    private func load(_ holder: Holder) -> Double {
        let time = holder.responseTime ?? .milliseconds(1)
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        return seconds * Double(holder.requestsUnderWay + 1)
    }

    private func deadline(of request: Request) -> MonotonicTime {
        let usual = holders[request.holder]?.responseTime ?? .zero
        return request.since + max(settings.minimumPatience, usual * 4)
    }

    private mutating func start(_ block: Int, at holder: DeviceID, _ now: MonotonicTime) -> Assignment {
        lastNumber += 1
        underWay[block, default: []].append(Request(holder: holder, number: lastNumber, since: now))
        holders[holder]?.requestsUnderWay += 1
        holders[holder]?.bytesUnderWay += blockSizes[block]
        var assignment = Assignment(block: block, holder: holder, isFromTemporary: holders[holder]?.partial != nil)
        assignment.number = lastNumber
        return assignment
    }

    /// Takes a request off the books; the time it was sent, if it was on them.
    private mutating func finish(_ assignment: Assignment) -> MonotonicTime? {
        guard var requests = underWay[assignment.block],
            let index = requests.firstIndex(where: { $0.number == assignment.number })
        else { return nil }
        let request = requests.remove(at: index)
        underWay[assignment.block] = requests.isEmpty ? nil : requests
        holders[assignment.holder]?.requestsUnderWay -= 1
        holders[assignment.holder]?.bytesUnderWay -= blockSizes[assignment.block]
        return request.since
    }

    private mutating func giveBackBlocks(of holder: DeviceID) {
        for (block, requests) in underWay {
            let rest = requests.filter { $0.holder != holder }
            guard rest.count != requests.count else { continue }
            underWay[block] = rest.isEmpty ? nil : rest
            if rest.isEmpty, !isDone[block] { giveBack(block) }
        }
    }

    private mutating func giveBack(_ block: Int) {
        let place = returned.firstIndex { $0 >= block } ?? returned.count
        if place == returned.count || returned[place] != block { returned.insert(block, at: place) }
    }
}
