import BlockExchange
import SyncTestKit
import Testing

@testable import SyncDecisions

/// A file whose blocks some have only in part: who is asked for what.
@Suite struct PartialHolderTests {
    private static let (alice, bob, carol) = (
        BlockSchedulerTests.alice, BlockSchedulerTests.bob, BlockSchedulerTests.carol
    )

    private func scheduler(_ count: Int, requests: Int = 64) -> Subject {
        var settings = BlockScheduler.Settings()
        settings.windowRequestCount = requests
        return Subject(BlockScheduler(blockSizes: Array(repeating: 100, count: count), settings: settings))
    }

    private func all(_ scheduler: Subject) -> [BlockScheduler.Assignment] {
        var assignments: [BlockScheduler.Assignment] = []
        while let assignment = scheduler.next(at: .zero) { assignments.append(assignment) }
        return assignments
    }

    @Test func isAskedForWhatItHasAndNothingElse() {
        let scheduler = scheduler(10, requests: 2)
        scheduler.setHolders([Self.alice], partial: [Self.bob: BlockSet([7, 8])])
        let asked = all(scheduler)
        #expect(Set(asked.filter { $0.holder == Self.bob }.map(\.block)) == [7, 8])
        #expect(asked.allSatisfy { $0.isFromTemporary == ($0.holder == Self.bob) })
        #expect(asked.filter { $0.holder == Self.alice }.map(\.block) == [0, 1])
        #expect(scheduler.next(at: .zero) == nil)
    }

    @Test func isTriedWithAFewBlocksFirst() {
        let scheduler = scheduler(100)
        scheduler.setHolders([], partial: [Self.bob: BlockSet(0..<100)])
        let first = all(scheduler)
        #expect(first.map(\.block) == [0, 1, 2, 3])
        _ = scheduler.succeeded(first[0], at: .milliseconds(5))
        #expect(all(scheduler).count == 61)
    }

    @Test func whoIsSlowIsAskedForFewBlocksWhileOthersDownloadThemToo() {
        let scheduler = scheduler(100)
        scheduler.isShared = true
        scheduler.setHolders([Self.alice])
        var underWay = all(scheduler)
        #expect(underWay.count == 8)
        _ = scheduler.succeeded(underWay.removeFirst(), at: .seconds(2))
        #expect(all(scheduler).count == 1)
        for assignment in underWay { _ = scheduler.succeeded(assignment, at: .milliseconds(10)) }
        #expect(all(scheduler).count == 63, "it is fast now")
    }

    @Test func aFasterHolderOfTheWholeFileIsAsked() throws {
        let scheduler = scheduler(100)
        scheduler.setHolders([Self.alice], partial: [Self.bob: BlockSet(50..<100)])
        let first = all(scheduler)
        for assignment in first {
            let time = assignment.holder == Self.bob ? MonotonicTime.seconds(2) : .milliseconds(1)
            _ = scheduler.succeeded(assignment, at: time)
        }
        #expect(try #require(scheduler.next(at: .seconds(2))).holder == Self.alice)
    }

    @Test func whatItRefusesIsAskedOfOthersAndTheRestStillOfIt() throws {
        let scheduler = scheduler(10, requests: 2)
        scheduler.setHolders([Self.alice], partial: [Self.bob: BlockSet([7, 8, 9])])
        let asked = all(scheduler)
        let refused = try #require(asked.first { $0.holder == Self.bob })
        scheduler.failed(refused, .notThere)
        let next = try #require(scheduler.next(at: .zero))
        #expect(next.holder == Self.bob && next.block == 9)
        // What it says again does not count for more.
        scheduler.setHolders([Self.alice], partial: [Self.bob: BlockSet([7, 8, 9])])
        for assignment in asked where assignment.holder == Self.alice {
            #expect(scheduler.succeeded(assignment, at: .zero))
        }
        #expect(all(scheduler).contains { $0.block == refused.block && $0.holder == Self.alice })
        #expect(scheduler.liars.isEmpty)
    }

    @Test func aLiarIsOutForGood() throws {
        let scheduler = scheduler(10)
        scheduler.setHolders([], partial: [Self.bob: BlockSet([7, 8])])
        scheduler.failed(try #require(scheduler.next(at: .zero)), .wrongBytes)
        scheduler.setHolders([], partial: [Self.bob: BlockSet([7, 8, 9])])
        #expect(scheduler.next(at: .zero) == nil)
        #expect(scheduler.availableHolders.isEmpty)
    }

    @Test func nobodyIsLeftOnceItHasNothingMore() throws {
        let scheduler = scheduler(3)
        scheduler.setHolders([], partial: [Self.bob: BlockSet([1])])
        #expect(scheduler.availableHolders == [Self.bob])
        _ = scheduler.succeeded(try #require(scheduler.next(at: .zero)), at: .zero)
        #expect(scheduler.availableHolders.isEmpty)
        scheduler.setHolders([], partial: [Self.bob: BlockSet([1, 2])])
        #expect(scheduler.next(at: .zero)?.block == 2)
    }

    /// It had the temporary file when it was asked, and has the file when it answers.
    @Test func whatItRefusesWhenItHasTheWholeFileSaysNothing() throws {
        let scheduler = scheduler(3)
        scheduler.setHolders([], partial: [Self.bob: BlockSet([1])])
        let first = try #require(scheduler.next(at: .zero))
        scheduler.setHolders([Self.bob])
        scheduler.failed(first, .notThere)
        #expect(scheduler.availableHolders == [Self.bob])
        #expect(Set(all(scheduler).map(\.block)) == [0, 1, 2])
    }

    @Test func asksNobodyForWhatTheReaderHasNoRoomFor() {
        let scheduler = scheduler(10)
        scheduler.partialHorizon = 6
        scheduler.horizon = 2
        scheduler.setHolders([Self.alice], partial: [Self.bob: BlockSet([5, 6, 7])])
        #expect(Set(all(scheduler).map(\.block)) == [0, 1, 5])
    }

    /// Two download the same file from a third, which serves one block at a time, and tell each other every 30 blocks: it serves
    /// hardly more than one file.
    @Test(arguments: [1, 2, 3]) func twoThatShareAskTheThirdForLittleMoreThanOneFile(seed: Int) {
        let count = 400
        let devices = [Self.alice, Self.bob]
        let orders = devices.map {
            BlockOrder.shared(
                Array(0..<count), of: count, local: $0, sharers: Set(devices).subtracting([$0]).union([Self.carol]),
                others: Set(devices).subtracting([$0]))
        }
        let schedulers = [scheduler(count, requests: 8), scheduler(count, requests: 8)]
        var have: [Set<Int>] = [[], []]
        var queue: [(who: Int, assignment: BlockScheduler.Assignment)] = []
        var served = 0
        for scheduler in schedulers { scheduler.setHolders([Self.carol]) }
        var turn = 0
        while !schedulers.allSatisfy({ $0.isComplete }), turn < 10_000 {
            turn += 1
            let now = MonotonicTime.milliseconds(turn * 100)
            for who in 0...1 {
                // The other one answers at once.
                while let assignment = schedulers[who].next(at: now) {
                    guard assignment.isFromTemporary else {
                        queue.append((who, assignment))
                        continue
                    }
                    #expect(have[1 - who].contains(orders[who][assignment.block]))
                    _ = schedulers[who].succeeded(assignment, at: now)
                    have[who].insert(orders[who][assignment.block])
                }
            }
            if !queue.isEmpty {
                let (who, assignment) = queue.removeFirst()
                served += 1
                _ = schedulers[who].succeeded(assignment, at: now)
                have[who].insert(orders[who][assignment.block])
            }
            guard turn % (20 + 10 * seed) == 0 else { continue }
            for who in 0...1 {
                let blocks = BlockSet((0..<count).filter { have[1 - who].contains(orders[who][$0]) })
                schedulers[who].setHolders([Self.carol], partial: [devices[1 - who]: blocks])
            }
        }
        #expect(schedulers.allSatisfy { $0.isComplete })
        #expect(have.map(\.count) == [count, count])
        #expect(served < count * 5 / 4, "it served \(served) blocks")
    }
}
