import AsyncTools
import ControlAPI
import SyncTestKit
import Synchronization
import Testing

@testable import FileDrop

/// A request to the sender of a file that may never be answered.
@Suite(.timeLimit(.minutes(1))) struct SenderWatchTests {
    private let clock = ManualClock()
    private let cancellation = IncomingDrop.Cancellation()

    private var watch: SenderWatch { SenderWatch(cancellation: cancellation, clock: clock) }

    @Test func anAnswerEndsTheWait() async throws {
        #expect(try await watch.run(received: { 0 }) { 7 } == 7)
        #expect(clock.sleeperCount == 0)
    }

    @Test func aSenderThatGivesUpIsNotWaitedFor() async throws {
        let cancellation = cancellation
        let error = await #expect(throws: ControlError.self) {
            try await watch.run(received: { 0 }) {
                cancellation.cancel()
                await Signal().wait()
            }
        }
        #expect(error?.code == .dropRefused)
    }

    /// Of what comes each minute, pings count for nothing.
    @Test(arguments: [([], 1), ([200], 1), ([5000, 100], 2), ([1024, 1024, 1024], 4)] as [([Int64], Int)])
    func aSilentSenderIsNotWaitedFor(_ arrivals: [Int64], _ minutes: Int) async throws {
        let received = Atomic<Int64>(0)
        async let ended = #expect(throws: ControlError.self) {
            try await watch.run(received: { received.load(ordering: .relaxed) }) { await Signal().wait() }
        }
        for minute in 0..<minutes {
            while clock.sleeperCount == 0 { await Task.yield() }
            if minute < arrivals.count { received.add(arrivals[minute], ordering: .relaxed) }
            await clock.advance(whenAsleep: 1)
        }
        #expect(await ended?.code == .timeout)
        #expect(clock.now.offset == .seconds(60) * minutes)
    }

    @Test func aCancelledTaskIsNoWordOfTheSender() async throws {
        let watch = watch
        let waiting = Task {
            try await watch.run(received: { 0 }) {
                await Signal().wait()
                try Task.checkCancellation()
            }
        }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
