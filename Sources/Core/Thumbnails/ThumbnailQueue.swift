/// Who is waiting for which thumbnail and what is made next: what was asked for last, since that is what somebody looks at
/// while scrolling. Each content is made once for all who ask for it. Pure.
package struct ThumbnailQueue<Key: Hashable & Sendable>: Sendable {
    package enum Step: Equatable, Sendable {
        /// Make it; `ended` says when that is over.
        case start(Key)
        /// Nobody waits for it any more: end it. `ended` is still to be called.
        case stop(Key)
        /// There are too many, and this one waited longest.
        case turnAway(waiter: Int)
    }

    private let runningLimit: Int
    private let waitingLimit: Int
    private var running: [Key: Set<Int>] = [:]
    /// The newest last; at most `waitingLimit`.
    private var waiting: [(key: Key, waiters: Set<Int>)] = []

    /// - Parameters:
    ///   - runningLimit: contents that are made at once, at least 1.
    ///   - waitingLimit: contents that wait, at least 1.
    package init(runningLimit: Int, waitingLimit: Int) {
        self.runningLimit = max(1, runningLimit)
        self.waitingLimit = max(1, waitingLimit)
    }

    /// - Parameter waiter: a number of its own for each call.
    package mutating func ask(_ key: Key, waiter: Int) -> [Step] {
        // What is being stopped has no waiters: it is begun again when it has ended.
        if let waiters = running[key], !waiters.isEmpty {
            running[key] = waiters.union([waiter])
            return []
        }
        var waiters: Set = [waiter]
        if let index = waiting.firstIndex(where: { $0.key == key }) {
            waiters.formUnion(waiting.remove(at: index).waiters)
        }
        waiting.append((key, waiters))
        var steps = startMore()
        if waiting.count > waitingLimit {
            steps += waiting.removeFirst().waiters.sorted().map { .turnAway(waiter: $0) }
        }
        return steps
    }

    /// A waiter has gone.
    package mutating func leave(_ waiter: Int) -> [Step] {
        if let index = waiting.firstIndex(where: { $0.waiters.contains(waiter) }) {
            waiting[index].waiters.remove(waiter)
            if waiting[index].waiters.isEmpty { waiting.remove(at: index) }
            return []
        }
        guard let (key, waiters) = running.first(where: { $0.value.contains(waiter) }) else { return [] }
        running[key] = waiters.subtracting([waiter])
        return waiters.count == 1 ? [.stop(key)] : []
    }

    /// Whether somebody waits for it.
    package func isWanted(_ key: Key) -> Bool {
        running[key]?.isEmpty == false || waiting.contains { $0.key == key }
    }

    /// What was started is over, in whatever way; gives those who are to be told.
    package mutating func ended(_ key: Key) -> (waiters: Set<Int>, steps: [Step]) {
        let waiters = running.removeValue(forKey: key) ?? []
        return (waiters, startMore())
    }

    private mutating func startMore() -> [Step] {
        var steps: [Step] = []
        while running.count < runningLimit,
            let index = waiting.lastIndex(where: { running[$0.key] == nil })
        {
            let (key, waiters) = waiting.remove(at: index)
            running[key] = waiters
            steps.append(.start(key))
        }
        return steps
    }
}

/// Contents that give no thumbnail, remembered for a while so that they are not tried over and over.
/// Pure.
package struct FailureMemory<Key: Hashable & Sendable>: Sendable {
    private let limit: Int
    private let lifetime: Duration
    /// Until when, in time since some beginning.
    private var ends: [Key: Duration] = [:]
    /// The oldest first.
    private var order: [Key] = []

    package init(limit: Int, lifetime: Duration) {
        self.limit = max(1, limit)
        self.lifetime = lifetime
    }

    package mutating func note(_ key: Key, at now: Duration) {
        if ends.updateValue(now + lifetime, forKey: key) != nil { order.removeAll { $0 == key } }
        order.append(key)
        while order.count > limit { ends[order.removeFirst()] = nil }
    }

    package func holds(_ key: Key, at now: Duration) -> Bool { ends[key].map { now < $0 } ?? false }
}
