import AgentConfiguration
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

@Suite(.timeLimit(.minutes(1))) struct BlockFetchTests {
    /// Time that stands still; who sleeps for as long as a lost holder is waited for is woken by hand.
    private final class PatienceClock: Clock {
        struct Instant: InstantProtocol {
            var offset: Swift.Duration

            func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }
            func duration(to other: Instant) -> Swift.Duration { other.offset - offset }
            static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
        }

        static let patience = Swift.Duration.seconds(30)

        private let ends = Mutex<[Signal]>([])
        private let began = Signal()

        var now: Instant { Instant(offset: .zero) }
        var minimumResolution: Swift.Duration { .zero }

        func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
            let end = Signal()
            if deadline.offset == Self.patience {
                ends.withLock { $0.append(end) }
                began.notify()
            }
            await end.wait()
            try Task.checkCancellation()
        }

        /// Returns when somebody has begun to wait for the `number`th time.
        func waitForPatience(_ number: Int) async {
            while !Task.isCancelled, ends.withLock({ $0.count < number }) { await began.wait() }
        }

        func endPatience(_ number: Int) { ends.withLock { $0.dropFirst(number - 1).first }?.notify() }
    }

    /// Has three blocks and loses its link when it is asked for the second and the third of them for the first time.
    private final class Holder: BlockSource {
        private struct State {
            var isHere = true
            var asked: Set<Int64> = []
            var changes: [AsyncStream<Void>.Continuation] = []
            var lookCount = 0
        }

        let contents: [[UInt8]] = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
        let kind = LinkKind.l2cap
        let route = LinkRoute.radio
        private let state = Mutex(State())
        /// Notified when the fetch has looked for holders, and when it is over.
        let looked = Signal()

        var isOpen: Bool { state.withLock { $0.isHere } }
        var lookCount: Int { state.withLock { $0.lookCount } }

        var file: FileInfo {
            FileInfo(
                name: "a", size: 12, blockSize: 4,
                blocks: contents.enumerated().map {
                    BlockInfo(offset: Int64($0 * 4), size: 4, hash: SHA256.digest($1))
                })
        }

        func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
            let isLost = state.withLock { state in
                let isFirst = state.asked.insert(request.offset).inserted
                if isFirst, request.offset > 0 { state.isHere = false }
                return !state.isHere
            }
            guard !isLost else {
                tellOfChange()
                throw RequestError.linkLost
            }
            return ByteBuffer(bytes: contents[Int(request.offset / 4)])
        }

        func look(as id: DeviceID) -> [DeviceID: any BlockSource] {
            defer { looked.notify() }
            return state.withLock { state in
                state.lookCount += 1
                return state.isHere ? [id: self] : [:]
            }
        }

        func changes() -> AsyncStream<Void> {
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            state.withLock { $0.changes.append(continuation) }
            return stream
        }

        func comeBack() {
            state.withLock { $0.isHere = true }
            tellOfChange()
        }

        private func tellOfChange() {
            for continuation in state.withLock({ $0.changes }) { continuation.yield() }
        }
    }

    /// Answers one request, and has a policy hold from then on.
    private final class HeldHolder: BlockSource {
        let whole = Holder()
        let kind = LinkKind.tcp
        let route = LinkRoute.internet
        let isOpen = true
        private let isHeld = Mutex(false)

        var held: HeldTransfers {
            let policies = TransferPolicies(onMetered: isHeld.withLock { $0 } ? .onDemandOnly : .nothing)
            return HeldTransfers(policies, in: MachineConditions(isMetered: true), isIgnored: false)
        }

        func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
            isHeld.withLock { $0 = true }
            return ByteBuffer(bytes: whole.contents[Int(request.offset / 4)])
        }
    }

    /// What is under way when a policy begins to hold ends at once, with what came before; the device is still there, so
    /// there is nobody to wait for. What somebody asks for goes on.
    @Test(arguments: [SlowLinkPolicy.Purpose.kept(byteCount: 12), .onDemand])
    func aPolicyThatBeginsToHoldEndsWhatIsKept(_ purpose: SlowLinkPolicy.Purpose) async throws {
        let holder = HeldHolder()
        let (changes, changed) = AsyncStream.makeStream(of: Void.self)
        let environment = FetchEnvironment(
            sessions: { _ in [Self.alice: holder] }, held: { holder.held }, linksChanged: { changes },
            dialNow: { _ in }, localBlock: { _, _ in nil }, budget: SharedFetchBudget(limit: 1 << 20),
            threads: NIOThreadPool.singleton,
            time: AgentTime(
                clock: PatienceClock(), monotonic: { .zero }, wall: { WallTime(seconds: 0) }, random: { 0.5 }),
            settings: BlockScheduler.Settings(windowRequestCount: 1))
        let fetch = BlockFetch(
            folder: FolderID("f"), file: holder.whole.file, holders: [Self.alice], environment: environment,
            purpose: purpose)
        var delivered: [Int] = []
        do {
            try await fetch.run([0, 1, 2]) { block, _, _ in
                delivered.append(block)
                changed.yield()
            }
            #expect(purpose == .onDemand)
            #expect(delivered.sorted() == [0, 1, 2])
        } catch .held(let obstacle, let file, let folder) as FetchError {
            #expect(purpose != .onDemand)
            #expect(obstacle == .policy(.init(.metered, .onDemandOnly)))
            #expect(file == holder.whole.file.name && folder == FolderID("f"))
            #expect(delivered.count < 3)
        }
    }

    /// The radio searches for holders that a person waits for, and may get the file from; that takes longer than a network.
    @Test(arguments: [
        (SlowLinkPolicy.Purpose.onDemand, true, 15), (.onDemand, false, 5), (.kept(byteCount: 12), true, 5),
    ])
    func aPersonHasAbsentHoldersSearchedFor(
        _ purpose: SlowLinkPolicy.Purpose, _ hasRadio: Bool, _ seconds: Int
    ) async throws {
        let (clock, holder, bob) = (ManualClock(), Holder(), DeviceID(digest: SHA256.digest([2])))
        let sought = Mutex<[DeviceID]>([])
        let environment = FetchEnvironment(
            sessions: { _ in [:] },
            slowLinkPolicy: { _, device in
                SlowLinkPolicy(use: device == bob ? .indexOnly : .all, byteLimit: 1, mode: .selective)
            }, linksChanged: { holder.changes() }, dialNow: { _ in },
            seek: { devices in
                sought.withLock { $0 += devices }
                return hasRadio
            }, localBlock: { _, _ in nil },
            budget: SharedFetchBudget(limit: 1 << 20), threads: NIOThreadPool.singleton,
            time: AgentTime(
                clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) }, random: { 0.5 }),
            settings: BlockScheduler.Settings(windowRequestCount: 1))
        let fetch = BlockFetch(
            folder: FolderID("f"), file: holder.file, holders: [Self.alice, bob], environment: environment,
            purpose: purpose)
        async let fetched: Void = fetch.run([0, 1, 2]) { _, _, _ in }
        await clock.advance(whenAsleep: 1)
        do {
            try await fetched
            Issue.record("nobody has the file")
        } catch .unavailable(let refusal, _, holders: let holders) as FetchError {
            #expect(refusal == .disconnected && holders == 2)
        }
        #expect(sought.withLock { $0 } == (purpose == .onDemand ? [Self.alice] : []))
        #expect(clock.now.offset == .seconds(seconds))
    }

    private struct HonestHolder: BlockSource {
        let whole = Holder()
        let kind = LinkKind.tcp
        let route = LinkRoute.internet
        let isOpen = true

        func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
            ByteBuffer(bytes: whole.contents[Int(request.offset / 4)])
        }
    }

    /// Answers nothing, while its link lives.
    private struct SilentHolder: BlockSource {
        let asked = Signal()
        let kind = LinkKind.tcp
        let route = LinkRoute.internet
        let isOpen = true

        func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
            asked.notify()
            await Signal().wait()
            throw CancellationError()
        }
    }

    /// More is wanted of a device that answers nothing than may be under way at all: what others have comes all the same.
    @Test(.timeLimit(.minutes(1))) func aDeviceThatAnswersNothingKeepsNothingOfOthersFromComing() async throws {
        let (silent, honest, bob) = (SilentHolder(), HonestHolder(), DeviceID(digest: SHA256.digest([2])))
        let time = AgentTime(
            clock: ManualClock(), monotonic: { .zero }, wall: { WallTime(seconds: 0) }, random: { 0.5 })
        let budget = SharedFetchBudget(limit: 8)
        func fetch(_ id: DeviceID, _ source: any BlockSource) -> BlockFetch {
            let environment = FetchEnvironment(
                sessions: { _ in [id: source] }, linksChanged: { AsyncStream { _ in } }, dialNow: { _ in },
                localBlock: { _, _ in nil }, budget: budget, threads: NIOThreadPool.singleton, time: time,
                settings: BlockScheduler.Settings())
            return BlockFetch(
                folder: FolderID("f"), file: honest.whole.file, holders: [id], environment: environment,
                purpose: .kept(byteCount: 12))
        }
        let stuck = fetch(Self.alice, silent)
        let first = Task { try await stuck.run([0, 1, 2]) { _, _, _ in } }
        await silent.asked.wait()
        while budget.waitingCount == 0 { await Task.yield() }
        var delivered: [Int] = []
        try await fetch(bob, honest).run([0, 1, 2]) { block, _, _ in delivered.append(block) }
        #expect(delivered.sorted() == [0, 1, 2])
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(budget.waitingCount == 0)
    }

    private static let alice = DeviceID(digest: SHA256.digest([1]))

    /// The holder is lost twice. The time that the first loss was given ends while the second lasts, which has a time of its
    /// own; before, the fetch ended there.
    @Test(arguments: [true, false]) func eachLossHasItsOwnPatience(comesBack: Bool) async throws {
        let (clock, holder) = (PatienceClock(), Holder())
        let environment = FetchEnvironment(
            sessions: { _ in holder.look(as: Self.alice) }, linksChanged: { holder.changes() }, dialNow: { _ in },
            localBlock: { _, _ in nil }, budget: SharedFetchBudget(limit: 1 << 20), threads: NIOThreadPool.singleton,
            time: AgentTime(
                clock: clock, monotonic: { .zero }, wall: { WallTime(seconds: 0) }, random: { 0.5 }),
            settings: BlockScheduler.Settings(windowRequestCount: 1), lostHolderPatience: PatienceClock.patience)
        let fetch = BlockFetch(
            folder: FolderID("f"), file: holder.file, holders: [Self.alice], environment: environment)
        let isOver = Mutex(false)
        async let bytes = {
            defer {
                isOver.withLock { $0 = true }
                holder.looked.notify()
            }
            var bytes: [UInt8] = []
            try await fetch.runInOrder([0, 1, 2], readAhead: ReadAhead(limit: 3)) { bytes += $1.readableBytesView }
            return bytes
        }()
        await clock.waitForPatience(1)
        holder.comeBack()
        await clock.waitForPatience(2)
        let before = holder.lookCount
        clock.endPatience(1)
        while !Task.isCancelled, holder.lookCount == before, !isOver.withLock({ $0 }) { await holder.looked.wait() }
        if comesBack {
            holder.comeBack()
            #expect(try await bytes == holder.contents.flatMap(\.self))
        } else {
            #expect(isOver.withLock { !$0 })
            clock.endPatience(2)
            do {
                Issue.record("the fetch gave \(try await bytes)")
            } catch .unavailable(let refusal, _, holders: let holders) as FetchError {
                #expect(refusal == .disconnected && holders == 1)
            }
        }
    }
}
