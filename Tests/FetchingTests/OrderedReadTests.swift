import BlockExchange
import ControlAPI
import Cryptography
import NIOCore
import NIOPosix
import SyncTestKit
import Synchronization
import Testing
import Transport

@testable import AgentContext
@testable import AsyncTools
@testable import Fetching
@testable import SyncDecisions

/// What an ordered read asks of its holders, and when.
@Suite(.timeLimit(.minutes(1))) struct OrderedReadTests {
    /// Time that moves when a test says so; nobody sleeps for long in it.
    private final class Watch: Sendable {
        private let time = Mutex(MonotonicTime.zero)

        var now: MonotonicTime { time.withLock { $0 } }
        func pass(_ duration: Duration) { time.withLock { $0 += duration } }
    }

    /// Has all blocks of a file, and counts what it is asked for. Each answer takes a while by the watch.
    private final class Holder: BlockSource {
        private struct State {
            var asked: [Int64] = []
            var cancelled = 0
        }

        let kind = LinkKind.tcp
        let route = LinkRoute.localNetwork
        let isOpen = true
        let file: FileInfo
        private let contents: [[UInt8]]
        private let watch: Watch
        private let delay: Duration
        private let state = Mutex(State())
        /// The offset from which on nothing is answered; the request then lasts until it is cancelled.
        private let silentFrom: Int64

        init(blockCount: Int, watch: Watch, delay: Duration, silentFrom: Int64 = .max) {
            contents = (0..<blockCount).map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 4) }
            file = FileInfo(
                name: "a", size: Int64(blockCount * 4), blockSize: 4,
                blocks: contents.enumerated().map {
                    BlockInfo(offset: Int64($0 * 4), size: 4, hash: SHA256.digest($1))
                })
            self.watch = watch
            self.delay = delay
            self.silentFrom = silentFrom
        }

        var asked: [Int] { state.withLock { $0.asked.map { Int($0 / 4) }.sorted() } }
        var cancelledCount: Int { state.withLock { $0.cancelled } }

        func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
            state.withLock { $0.asked.append(request.offset) }
            guard request.offset < silentFrom else {
                let never = Signal()
                await never.wait()
                state.withLock { $0.cancelled += 1 }
                throw CancellationError()
            }
            watch.pass(delay)
            return ByteBuffer(bytes: contents[Int(request.offset / 4)])
        }
    }

    private static let alice = DeviceID(digest: SHA256.digest([1]))

    private func fetch(_ holder: Holder, _ watch: Watch) -> BlockFetch {
        BlockFetch(
            folder: FolderID("f"), file: holder.file, holders: [Self.alice],
            environment: FetchEnvironment(
                sessions: { _ in [Self.alice: holder] }, linksChanged: { AsyncStream { _ in } }, dialNow: { _ in },
                localBlock: { _, _ in nil }, budget: SharedFetchBudget(limit: 1 << 20),
                threads: NIOThreadPool.singleton,
                time: AgentTime(
                    clock: ContinuousClock(), monotonic: { watch.now }, wall: { WallTime(seconds: 0) }, random: { 0.5 }),
                settings: BlockScheduler.Settings(minimumPatience: .seconds(3600))))
    }

    private struct Enough: Error {}

    @Test func theWindowDoublesOnlyWhenTheReaderWaited() {
        var readAhead = ReadAhead(limit: 6)
        #expect(readAhead.window == 1)
        readAhead.came(at: .seconds(1), wantedAt: .seconds(1))
        readAhead.came(at: .seconds(1), wantedAt: .seconds(2))
        #expect(readAhead.window == 1)
        readAhead.came(at: .seconds(3), wantedAt: .seconds(2))
        #expect(readAhead.window == 2)
        for second in 4..<100 { readAhead.came(at: .seconds(second), wantedAt: .seconds(2)) }
        #expect(readAhead.window == 6)
        #expect(ReadAhead(limit: 0).limit == 1)
    }

    /// A range that lies in one block costs one request, wherever it is.
    @Test(arguments: [0, 7, 499]) func aSeekCostsABlock(block: Int) async throws {
        let watch = Watch()
        let holder = Holder(blockCount: 500, watch: watch, delay: .milliseconds(1))
        try await fetch(holder, watch).runInOrder([block], readAhead: ReadAhead(limit: 100)) { _, _ in }
        #expect(holder.asked == [block])
    }

    /// Who leaves after some blocks has had so many asked for in vain, and no more; all of it is asked for once.
    @Test(arguments: [(1, 3), (2, 6), (3, 11), (5, 37), (500, 500)])
    func aReaderThatLeavesHasAskedForLittle(reads: Int, atMost: Int) async throws {
        let watch = Watch()
        let holder = Holder(blockCount: 500, watch: watch, delay: .milliseconds(1))
        let count = Mutex(0)
        do {
            try await fetch(holder, watch).runInOrder(Array(0..<500), readAhead: ReadAhead(limit: 100)) { _, _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number == reads, reads < 500 { throw Enough() }
            }
        } catch is Enough {}
        #expect(count.withLock { $0 } == reads)
        let asked = holder.asked
        #expect(Set(asked).count == asked.count)
        // What was about to be asked for when the reader left is not.
        #expect(asked.allSatisfy { $0 < atMost } && Set(asked).isSuperset(of: 0..<reads))
    }

    /// A reader for which everything is there before it wants it gets no window that it has no use for.
    @Test func aSlowReaderKeepsLittle() async throws {
        let watch = Watch()
        let holder = Holder(blockCount: 200, watch: watch, delay: .zero)
        let furthest = Mutex(0)
        try await fetch(holder, watch).runInOrder(Array(0..<200), readAhead: ReadAhead(limit: 100)) { block, _ in
            watch.pass(.seconds(1))
            furthest.withLock { $0 = max($0, (holder.asked.last ?? 0) - block) }
        }
        #expect(furthest.withLock { $0 } <= 1)
    }

    /// Whoever goes takes the requests along that are under way.
    @Test func leavingCancelsWhatIsUnderWay() async throws {
        let watch = Watch()
        let holder = Holder(blockCount: 100, watch: watch, delay: .milliseconds(1), silentFrom: 40)
        do {
            try await fetch(holder, watch).runInOrder(Array(0..<100), readAhead: ReadAhead(limit: 8)) { block, _ in
                guard block == 9 else { return }
                // What is asked for ahead is under way.
                while !Task.isCancelled, holder.asked.last ?? 0 < 10 { await Task.yield() }
                throw Enough()
            }
        } catch is Enough {}
        let unanswered = holder.asked.filter { $0 >= 10 }.count
        #expect((1...8).contains(unanswered))
        #expect(holder.cancelledCount == unanswered)
    }

    @Test func everyRangeIsItsBytes() async throws {
        for seed in UInt64(1)...20 {
            var generator = SeededGenerator(seed: seed)
            let watch = Watch()
            let holder = Holder(blockCount: 60, watch: watch, delay: .milliseconds(generator.int(0...2)))
            let first = generator.int(0...59)
            let last = generator.int(first...59)
            let got = Mutex<[Int]>([])
            try await fetch(holder, watch).runInOrder(
                Array(first...last), readAhead: ReadAhead(limit: generator.int(1...9))
            ) { block, bytes in
                #expect(Array(bytes.readableBytesView) == [UInt8](repeating: UInt8(block), count: 4))
                got.withLock { $0.append(block) }
            }
            #expect(got.withLock { $0 } == Array(first...last))
            #expect(holder.asked == Array(first...last))
        }
    }
}
