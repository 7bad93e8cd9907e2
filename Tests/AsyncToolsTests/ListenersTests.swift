import Synchronization
import Testing
import Threads

@testable import AsyncTools

@Suite(.timeLimit(.minutes(2))) struct ListenersTests {
    private final class Feed: Sendable {
        let listeners = Mutex(Listeners<Int>())
        let isOver = Atomic(false)

        func listen() -> AsyncStream<Int> { listeners.withLock { $0.add(bufferingPolicy: .bufferingNewest(10)) } }
        func send(_ number: Int) { listeners.withLock { $0.send(number) } }
        var isEmpty: Bool { listeners.withLock { $0.isEmpty } }
    }

    @Test func allGetEachElementInOrder() async {
        let feed = Feed()
        let streams = [feed.listen(), feed.listen()]
        for number in 1...3 { feed.send(number) }
        for stream in streams {
            var iterator = stream.makeAsyncIterator()
            for number in 1...3 { #expect(await iterator.next() == number) }
        }
    }

    @Test func whoLostSomethingIsToldSo() async {
        let listeners = Mutex(Listeners<Int>())
        let stream = listeners.withLock { $0.add(bufferingPolicy: .bufferingOldest(1)) }
        for number in [1, 2] { listeners.withLock { $0.send(number, afterLoss: 100) } }
        var iterator = stream.makeAsyncIterator()
        #expect(await iterator.next() == 1)
        for number in [3, 4] {
            listeners.withLock { $0.send(number, afterLoss: 100) }
            #expect(await iterator.next() == (number == 3 ? 100 : 4))
        }
    }

    @Test func whoReadsNoMoreIsForgotten() async {
        let feed = Feed()
        let reader = Task { for await _ in feed.listen() {} }
        while feed.isEmpty { await Task.yield() }
        reader.cancel()
        await reader.value
        #expect(feed.isEmpty)
    }

    /// Who sends wakes the reading task and who cancels it ends its stream, both at once: neither may wait for the other's lock.
    /// Both are threads of their own, so that the test's time limit still has one to run on.
    @Test func aReaderIsCancelledWhileSomethingIsSent() async throws {
        let feed = Feed()
        let sender = Signal()
        let started = OwnedThread.start("sender") {
            var number = 0
            while !feed.isOver.load(ordering: .acquiring) {
                feed.send(number)
                number &+= 1
            }
            sender.notify()
        }
        try #require(started)
        for _ in 0..<2000 {
            let reader = Task { for await _ in feed.listen() {} }
            let cancelled = Signal()
            try #require(
                OwnedThread.start("canceller") {
                    reader.cancel()
                    cancelled.notify()
                })
            await cancelled.wait()
            await reader.value
        }
        feed.isOver.store(true, ordering: .releasing)
        await sender.wait()
        #expect(feed.isEmpty)
    }
}
