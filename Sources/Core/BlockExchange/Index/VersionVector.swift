/// What each device had seen when it last changed a file: counters by short device id, sorted by id (BEP v1, Vector).
public struct VersionVector: Hashable, Sendable, CustomStringConvertible {
    public struct Counter: Hashable, Sendable {
        public var id: ShortID
        public var value: UInt64

        public init(id: ShortID, value: UInt64) {
            self.id = id
            self.value = value
        }
    }

    /// How two vectors stand to each other. Concurrent ones are ordered too, by the larger value at the first id in
    /// which they differ, so that every device breaks a tie alike.
    public enum Ordering: Hashable, Sendable {
        case equal, greater, lesser, concurrentGreater, concurrentLesser

        public var isConcurrent: Bool { self == .concurrentGreater || self == .concurrentLesser }
    }

    /// Sorted by id, no id twice, no value zero: two vectors that say the same are equal.
    public private(set) var counters: [Counter]

    public init() { counters = [] }

    /// Takes counters in any order; of an id that comes twice the larger value stays, and zeros say nothing.
    public init(_ counters: [Counter]) {
        var isNormal = counters.first.map { $0.value > 0 } ?? true
        for index in counters.indices.dropFirst() {
            if counters[index - 1].id >= counters[index].id || counters[index].value == 0 { isNormal = false }
        }
        if isNormal {
            self.counters = counters
            return
        }
        self.counters = []
        for counter in counters.sorted(by: { ($0.id, $0.value) < ($1.id, $1.value) }) where counter.value > 0 {
            if self.counters.last?.id == counter.id { self.counters.removeLast() }
            self.counters.append(counter)
        }
    }

    public var isEmpty: Bool { counters.isEmpty }

    /// The counter of `id`; zero if there is none.
    public func value(of id: ShortID) -> UInt64 { counters.first { $0.id == id }?.value ?? 0 }

    /// Compares with `other`; a counter that is missing counts as zero.
    public func compare(_ other: VersionVector) -> Ordering {
        var isGreater = false
        var isLesser = false
        var firstDifferenceIsGreater: Bool?
        var left = 0
        var right = 0
        while left < counters.count || right < other.counters.count {
            let leftValue: UInt64
            let rightValue: UInt64
            if right == other.counters.count || (left < counters.count && counters[left].id < other.counters[right].id)
            {
                (leftValue, rightValue) = (counters[left].value, 0)
                left += 1
            } else if left == counters.count || other.counters[right].id < counters[left].id {
                (leftValue, rightValue) = (0, other.counters[right].value)
                right += 1
            } else {
                (leftValue, rightValue) = (counters[left].value, other.counters[right].value)
                left += 1
                right += 1
            }
            guard leftValue != rightValue else { continue }
            if leftValue > rightValue { isGreater = true } else { isLesser = true }
            if firstDifferenceIsGreater == nil { firstDifferenceIsGreater = leftValue > rightValue }
        }
        return switch (isGreater, isLesser) {
        case (false, false): .equal
        case (true, false): .greater
        case (false, true): .lesser
        case (true, true): firstDifferenceIsGreater == true ? .concurrentGreater : .concurrentLesser
        }
    }

    /// The vector that has seen all that both have seen.
    public func merged(with other: VersionVector) -> VersionVector {
        VersionVector(counters + other.counters)
    }

    /// The vector after a change by `id` at `unixSeconds`: its counter becomes one more, and no less than the clock.
    /// At the largest value it stays.
    public func updated(by id: ShortID, unixSeconds: UInt64) -> VersionVector {
        let old = value(of: id)
        let next = max(old == .max ? .max : old + 1, unixSeconds)
        return VersionVector(counters.filter { $0.id != id } + [Counter(id: id, value: next)])
    }

    public var description: String {
        "{" + counters.map { "\($0.id):\($0.value)" }.joined(separator: ", ") + "}"
    }
}
