import Synchronization
import Testing

@testable import AsyncTools

@Suite(.timeLimit(.minutes(1))) struct SignalTests {
    private final class Count: Sendable {
        let value = Mutex(0)
    }

    private func wait(until condition: () -> Bool) async { while !condition() { await Task.yield() } }

    /// Two tasks that woke each other would go round and round: a link that two tasks wait for kept a processor busy so.
    @Test func allThatWaitAreWokenAndNobodyBefore() async {
        let signal = Signal()
        let woken = Count()
        let tasks = (0..<2).map { _ in
            Task {
                await signal.wait()
                woken.value.withLock { $0 += 1 }
            }
        }
        await wait { signal.waiterCount == 2 }
        #expect(woken.value.withLock { $0 } == 0)
        signal.notify()
        for task in tasks { await task.value }
        #expect(woken.value.withLock { $0 } == 2)
        #expect(signal.waiterCount == 0)
    }

    @Test func whoIsCancelledWakesNobodyElse() async {
        let signal = Signal()
        let other = Task { await signal.wait() }
        await wait { signal.waiterCount == 1 }
        let cancelled = Task { await signal.wait() }
        await wait { signal.waiterCount == 2 }
        cancelled.cancel()
        await cancelled.value
        #expect(signal.waiterCount == 1)
        signal.notify()
        await other.value
    }

    @Test func aNotificationIsRememberedOnce() async {
        let signal = Signal()
        signal.notify()
        signal.notify()
        await signal.wait()
        let next = Task { await signal.wait() }
        await wait { signal.waiterCount == 1 }
        next.cancel()
        await next.value
        // In a task that is cancelled already, nobody waits.
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await signal.wait()
        }.value
    }
}
