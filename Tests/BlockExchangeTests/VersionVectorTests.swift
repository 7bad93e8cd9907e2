import BlockExchange
import SyncTestKit
import Testing

struct VersionVectorTests {
    static func vector(_ counters: [UInt64: UInt64]) -> VersionVector {
        VersionVector(counters.map { VersionVector.Counter(id: ShortID(rawValue: $0), value: $1) })
    }

    typealias Row = (left: [UInt64: UInt64], right: [UInt64: UInt64], ordering: VersionVector.Ordering)

    static let rows: [Row] = [
        ([:], [:], .equal),
        ([1: 1], [1: 1], .equal),
        ([1: 0], [:], .equal),
        ([1: 0, 2: 3], [2: 3, 9: 0], .equal),
        ([1: 2], [1: 1], .greater),
        ([1: 1], [:], .greater),
        ([1: 1, 2: 1], [1: 1], .greater),
        ([1: 1, 2: 1], [2: 1], .greater),
        ([1: 2, 2: 2], [1: 2, 2: 1], .greater),
        ([1: 1, 2: 1, 3: 1], [2: 1], .greater),
        ([UInt64.max: UInt64.max], [UInt64.max: UInt64.max - 1], .greater),
        // Concurrent: the larger value at the lowest id in which they differ decides.
        ([1: 2, 2: 1], [1: 1, 2: 2], .concurrentGreater),
        ([1: 1], [2: 1], .concurrentGreater),
        ([1: 1], [2: 1000], .concurrentGreater),
        ([1: 1, 2: 5], [1: 1, 2: 4, 3: 1], .concurrentGreater),
        ([5: 1, 7: 1], [5: 1, 6: 0, 8: 9], .concurrentGreater),
        ([1: 3, 2: 1], [1: 2, 2: 2, 3: 2], .concurrentGreater),
    ]

    static let inverse: [VersionVector.Ordering: VersionVector.Ordering] = [
        .equal: .equal, .greater: .lesser, .lesser: .greater, .concurrentGreater: .concurrentLesser,
        .concurrentLesser: .concurrentGreater,
    ]

    @Test(arguments: rows)
    func `compares both ways`(row: Row) {
        let (left, right) = (Self.vector(row.left), Self.vector(row.right))
        #expect(left.compare(right) == row.ordering)
        #expect(right.compare(left) == Self.inverse[row.ordering])
    }

    @Test func `only concurrent orderings are concurrent`() {
        let concurrent = Self.inverse.keys.filter(\.isConcurrent)
        #expect(Set(concurrent) == [.concurrentGreater, .concurrentLesser])
    }

    @Test(arguments: [UInt64(11), 12, 13])
    func `comparing backwards gives the opposite, and only equal vectors compare equal`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var seen: Set<VersionVector.Ordering> = []
        for _ in 0..<5000 {
            let (left, right) = (random.version(), random.version())
            let ordering = left.compare(right)
            seen.insert(ordering)
            #expect(right.compare(left) == Self.inverse[ordering])
            #expect((ordering == .equal) == (left == right))
            #expect(left.compare(left) == .equal)
        }
        #expect(seen.count == 5)
    }

    @Test func `merging gives the least vector that has seen both`() {
        var random = SeededGenerator(seed: 21)
        for _ in 0..<5000 {
            let (left, right) = (random.version(), random.version())
            let merged = left.merged(with: right)
            #expect([.equal, .greater].contains(merged.compare(left)))
            #expect([.equal, .greater].contains(merged.compare(right)))
            #expect(merged == right.merged(with: left))
            for id in Set((left.counters + right.counters).map(\.id)) {
                #expect(merged.value(of: id) == max(left.value(of: id), right.value(of: id)))
            }
        }
    }

    @Test func `counters are sorted, unique and not zero however they are given`() {
        var random = SeededGenerator(seed: 31)
        for _ in 0..<5000 {
            let given = (0..<random.int(0...8)).map { _ in
                VersionVector.Counter(
                    id: ShortID(rawValue: UInt64(random.int(0...4))), value: UInt64(random.int(0...3)))
            }
            let vector = VersionVector(given)
            for (counter, next) in zip(vector.counters, vector.counters.dropFirst()) { #expect(counter.id < next.id) }
            #expect(vector.counters.allSatisfy { $0.value > 0 })
            for id in Set(given.map(\.id)) {
                #expect(vector.value(of: id) == given.filter { $0.id == id }.map(\.value).max())
            }
            #expect(vector.counters.allSatisfy { given.contains($0) })
            #expect(vector.isEmpty == given.allSatisfy { $0.value == 0 })
        }
    }

    @Test func `a change makes a greater vector that is not behind the clock`() {
        var random = SeededGenerator(seed: 41)
        for _ in 0..<5000 {
            let old = random.version()
            let id = ShortID(rawValue: UInt64(random.int(0...5)))
            let clock = UInt64(random.int(0...6))
            let new = old.updated(by: id, unixSeconds: clock)
            #expect(new.compare(old) == .greater)
            #expect(new.value(of: id) >= clock)
            #expect(new.value(of: id) == max(old.value(of: id) + 1, clock))
            #expect(new.counters.filter { $0.id != id } == old.counters.filter { $0.id != id })
            #expect(new.counters.map(\.id) == new.counters.map(\.id).sorted())
        }
    }

    @Test func `a counter that is as large as it gets stays`() {
        let id = ShortID(rawValue: 1)
        let largest = Self.vector([1: .max])
        #expect(largest.updated(by: id, unixSeconds: 5) == largest)
        #expect(Self.vector([1: .max - 1]).updated(by: id, unixSeconds: 0) == largest)
        #expect(Self.vector([:]).updated(by: id, unixSeconds: .max) == largest)
    }

    @Test func `shows ids as conflict copies do`() {
        #expect(Self.vector([0x4170_4766_a683_1ef3: 7]).description == "{IFYEOZV:7}")
    }
}
