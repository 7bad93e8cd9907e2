import BlockExchange
import Cryptography
import SyncTestKit
import Testing

@testable import SyncDecisions

@Suite struct BlockSchedulerTests {
    static let alice = device(1)
    static let bob = device(2)
    static let carol = device(3)

    static func device(_ number: UInt8) -> DeviceID { DeviceID(digest: SHA256.digest([number])) }

    func scheduler(_ count: Int, window: Int = 1 << 30, requests: Int = 64, done: Set<Int> = []) -> Subject {
        var settings = BlockScheduler.Settings()
        settings.windowByteCount = window
        settings.windowRequestCount = requests
        return Subject(
            BlockScheduler(blockSizes: Array(repeating: 100, count: count), done: done, settings: settings))
    }

    @Test func asksInOrderWithinTheWindow() throws {
        let scheduler = scheduler(5, window: 300)
        scheduler.setHolders([Self.alice])
        let asked = (0..<5).compactMap { _ in scheduler.next(at: .zero) }
        #expect(asked.map(\.block) == [0, 1, 2])
        #expect(scheduler.succeeded(asked[1], at: .seconds(1)))
        #expect(scheduler.next(at: .seconds(1))?.block == 3)
        #expect(scheduler.next(at: .seconds(1)) == nil)
    }

    @Test func oneBlockLargerThanTheWindowStillGoes() throws {
        let scheduler = scheduler(2, window: 10)
        scheduler.setHolders([Self.alice])
        #expect(scheduler.next(at: .zero)?.block == 0)
        #expect(scheduler.next(at: .zero) == nil)
    }

    @Test func spreadsOverHolders() throws {
        let scheduler = scheduler(10)
        scheduler.setHolders([Self.alice, Self.bob])
        var counts: [DeviceID: Int] = [:]
        while let assignment = scheduler.next(at: .zero) { counts[assignment.holder, default: 0] += 1 }
        #expect(counts == [Self.alice: 5, Self.bob: 5])
    }

    @Test func theFasterHolderGetsMore() throws {
        let scheduler = scheduler(1000, requests: 8)
        scheduler.setHolders([Self.alice, Self.bob])
        // Alice answers in 1 s, Bob in 4 s: a small simulation with a queue of answers.
        var answers: [(time: Int, assignment: BlockScheduler.Assignment)] = []
        var counts: [DeviceID: Int] = [:]
        var now = 0
        while !scheduler.isComplete {
            while let assignment = scheduler.next(at: .milliseconds(now)) {
                answers.append((now + (assignment.holder == Self.alice ? 1000 : 4000), assignment))
            }
            answers.sort { ($0.time, $0.assignment.block) < ($1.time, $1.assignment.block) }
            let answer = answers.removeFirst()
            now = answer.time
            counts[answer.assignment.holder, default: 0] += 1
            _ = scheduler.succeeded(answer.assignment, at: .milliseconds(now))
        }
        let ratio = Double(counts[Self.alice] ?? 0) / Double(counts[Self.bob] ?? 1)
        #expect(ratio > 2.5)
        #expect(counts.values.reduce(0, +) == 1000)
    }

    @Test func aLiarIsOutForGood() throws {
        let scheduler = scheduler(3)
        scheduler.setHolders([Self.alice, Self.bob])
        let first = try #require(scheduler.next(at: .zero))
        scheduler.failed(first, .wrongBytes)
        #expect(scheduler.liars == [first.holder])
        scheduler.setHolders([Self.alice, Self.bob])
        var holders: Set<DeviceID> = []
        var blocks: Set<Int> = []
        while let assignment = scheduler.next(at: .zero) {
            holders.insert(assignment.holder)
            blocks.insert(assignment.block)
        }
        #expect(holders == [Self.alice, Self.bob].filter { $0 != first.holder }.reduce(into: []) { $0.insert($1) })
        #expect(blocks == [0, 1, 2])
    }

    @Test func aHolderWithAnotherLinkIsAskedAgainButNoLiar() throws {
        let scheduler = scheduler(3)
        scheduler.setHolders([Self.alice])
        let first = try #require(scheduler.next(at: .zero))
        scheduler.failed(first, .linkLost)
        scheduler.relinked(Self.alice)
        let again = try #require(scheduler.next(at: .zero))
        #expect(again.block == first.block)
        scheduler.failed(again, .wrongBytes)
        scheduler.relinked(Self.alice)
        #expect(scheduler.availableHolders.isEmpty)
    }

    @Test(arguments: [BlockScheduler.Failure.notThere, .linkLost])
    func aHolderThatCannotServeIsLeftUntilItComesBack(failure: BlockScheduler.Failure) throws {
        let scheduler = scheduler(2)
        scheduler.setHolders([Self.alice])
        let first = try #require(scheduler.next(at: .zero))
        scheduler.failed(first, failure)
        #expect(scheduler.availableHolders.isEmpty)
        #expect(scheduler.next(at: .zero) == nil)
        scheduler.setHolders([])
        scheduler.setHolders([Self.alice])
        #expect(scheduler.next(at: .zero)?.block == 0)
    }

    /// A device goes and comes back by another link: what was asked for over the old one ends later.
    @Test(arguments: [BlockScheduler.Failure.linkLost, .other, nil])
    func aRequestThatWasGivenBackMayEndLate(failure: BlockScheduler.Failure?) throws {
        let scheduler = scheduler(2)
        scheduler.setHolders([Self.alice])
        let first = try #require(scheduler.next(at: .zero))
        scheduler.setHolders([])
        scheduler.setHolders([Self.alice])
        let second = try #require(scheduler.next(at: .zero))
        #expect(first.block == second.block)
        if let failure {
            for _ in 0..<5 { scheduler.failed(first, failure) }
            #expect(scheduler.availableHolders == [Self.alice])
            // Neither is the block asked for a third time.
            #expect(scheduler.next(at: .zero)?.block == 1)
            #expect(scheduler.succeeded(second, at: .zero))
        } else {
            #expect(scheduler.succeeded(first, at: .zero))
            #expect(!scheduler.succeeded(second, at: .zero))
        }
    }

    @Test func aHolderIsLeftAfterThreeFailuresInARow() throws {
        let scheduler = scheduler(10)
        scheduler.setHolders([Self.alice])
        for _ in 0..<2 {
            let assignment = try #require(scheduler.next(at: .zero))
            scheduler.failed(assignment, .other)
        }
        let good = try #require(scheduler.next(at: .zero))
        _ = scheduler.succeeded(good, at: .zero)
        for _ in 0..<3 {
            let assignment = try #require(scheduler.next(at: .zero))
            scheduler.failed(assignment, .other)
        }
        #expect(scheduler.availableHolders.isEmpty)
    }

    @Test func blocksOfALostHolderAreAskedOfAnother() throws {
        let scheduler = scheduler(4, requests: 2)
        scheduler.setHolders([Self.alice, Self.bob])
        var byHolder: [DeviceID: [BlockScheduler.Assignment]] = [:]
        while let assignment = scheduler.next(at: .zero) {
            byHolder[assignment.holder, default: []].append(assignment)
        }
        for assignment in byHolder[Self.bob] ?? [] { _ = scheduler.succeeded(assignment, at: .zero) }
        scheduler.setHolders([Self.bob])
        var again: Set<Int> = []
        while let assignment = scheduler.next(at: .zero) {
            #expect(assignment.holder == Self.bob)
            again.insert(assignment.block)
        }
        #expect(again == byHolder[Self.alice].map { Set($0.map(\.block)) })
    }

    @Test func aLateBlockIsAskedOfAnotherAndTheFirstAnswerCounts() throws {
        let scheduler = scheduler(1)
        scheduler.setHolders([Self.alice, Self.bob])
        let first = try #require(scheduler.next(at: .zero))
        #expect(scheduler.nextDeadline == .seconds(3))
        #expect(scheduler.hedges(at: .seconds(2)).isEmpty)
        let hedges = scheduler.hedges(at: .seconds(3))
        #expect(hedges.count == 1)
        guard let second = hedges.first else { return }
        #expect(second.holder != first.holder)
        #expect(scheduler.hedges(at: .seconds(4)).isEmpty)
        #expect(scheduler.succeeded(second, at: .seconds(4)))
        #expect(!scheduler.succeeded(first, at: .seconds(5)))
        #expect(scheduler.isComplete)
        #expect(!scheduler.hasRequestsUnderWay)
    }

    @Test func aLateHolderGetsNothingNewUntilItAnswers() throws {
        let scheduler = scheduler(3, requests: 1)
        scheduler.setHolders([Self.alice])
        let first = try #require(scheduler.next(at: .zero))
        #expect(scheduler.hedges(at: .seconds(10)).isEmpty)
        scheduler.setHolders([Self.alice, Self.bob])
        #expect(scheduler.hedges(at: .seconds(11)).map(\.holder) == [Self.bob])
        _ = scheduler.succeeded(first, at: .seconds(12))
        #expect(scheduler.next(at: .seconds(12))?.holder == Self.alice)
    }

    @Test func respectsTheHorizonAndWhatIsDone() throws {
        let scheduler = scheduler(10, done: [0, 2])
        scheduler.horizon = 4
        scheduler.setHolders([Self.alice])
        var asked: [Int] = []
        while let assignment = scheduler.next(at: .zero) { asked.append(assignment.block) }
        #expect(asked == [1, 3])
        scheduler.horizon = 5
        #expect(scheduler.next(at: .zero)?.block == 4)
    }

    /// Whatever happens, every block is delivered exactly once and the books balance.
    @Test(arguments: 0..<50) func anyOrderOfEventsDeliversEachBlockOnce(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let all = [Self.alice, Self.bob, Self.carol]
        let scheduler = scheduler(40, window: 800, requests: 5)
        var present = Set(all)
        var underWay: [BlockScheduler.Assignment] = []
        var delivered: [Int: Int] = [:]
        var now = MonotonicTime.zero
        scheduler.setHolders(present)
        for _ in 0..<20_000 where !scheduler.isComplete {
            now += .milliseconds(Int.random(in: 0..<500, using: &random))
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                if let assignment = scheduler.next(at: now) { underWay.append(assignment) }
            case 4:
                underWay += scheduler.hedges(at: now)
            case 5:
                let device = all[Int.random(in: 0..<3, using: &random)]
                if present.contains(device) { present.remove(device) } else { present.insert(device) }
                underWay.removeAll { !present.contains($0.holder) }
                scheduler.setHolders(present)
            case 6:
                guard !underWay.isEmpty else { continue }
                let assignment = underWay.remove(at: Int.random(in: 0..<underWay.count, using: &random))
                scheduler.failed(assignment, [.notThere, .linkLost, .other].randomElement(using: &random) ?? .other)
                // A holder that failed is asked again after it was gone.
                underWay.removeAll { $0.holder == assignment.holder }
                scheduler.setHolders(present.subtracting([assignment.holder]))
                scheduler.setHolders(present)
            default:
                guard !underWay.isEmpty else { continue }
                let assignment = underWay.remove(at: Int.random(in: 0..<underWay.count, using: &random))
                if scheduler.succeeded(assignment, at: now) { delivered[assignment.block, default: 0] += 1 }
            }
            for holder in all { #expect(underWay.count { $0.holder == holder } <= 5) }
        }
        #expect(scheduler.isComplete, "seed \(seed)")
        #expect(delivered == Dictionary(uniqueKeysWithValues: (0..<40).map { ($0, 1) }), "seed \(seed)")
    }
}

/// A scheduler behind a reference, so that its steps can be taken inside `#expect`.
final class Subject {
    private var scheduler: BlockScheduler

    init(_ scheduler: BlockScheduler) { self.scheduler = scheduler }

    var horizon: Int {
        get { scheduler.horizon }
        set { scheduler.horizon = newValue }
    }
    var partialHorizon: Int {
        get { scheduler.partialHorizon }
        set { scheduler.partialHorizon = newValue }
    }
    var isShared: Bool {
        get { scheduler.isShared }
        set { scheduler.isShared = newValue }
    }
    var isComplete: Bool { scheduler.isComplete }
    var hasRequestsUnderWay: Bool { scheduler.hasRequestsUnderWay }
    var availableHolders: [DeviceID] { scheduler.availableHolders }
    var liars: Set<DeviceID> { scheduler.liars }
    var nextDeadline: MonotonicTime? { scheduler.nextDeadline }

    func setHolders(_ present: Set<DeviceID>, partial: [DeviceID: BlockSet] = [:]) {
        scheduler.setHolders(present, partial: partial)
    }
    func next(at now: MonotonicTime) -> BlockScheduler.Assignment? { scheduler.next(at: now) }
    func hedges(at now: MonotonicTime) -> [BlockScheduler.Assignment] { scheduler.hedges(at: now) }
    func succeeded(_ assignment: BlockScheduler.Assignment, at now: MonotonicTime) -> Bool {
        scheduler.succeeded(assignment, at: now)
    }
    func relinked(_ id: DeviceID) { scheduler.relinked(id) }
    func failed(_ assignment: BlockScheduler.Assignment, _ failure: BlockScheduler.Failure) {
        scheduler.failed(assignment, failure)
    }
}
