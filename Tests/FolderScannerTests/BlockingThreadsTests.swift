import Synchronization
import Testing

@testable import FolderScanner

@Suite struct BlockingThreadsTests {
    @Test(arguments: [0, 1, 4]) func everythingIsDone(count: Int) async throws {
        let threads = BlockingThreads(count: count, bufferByteCount: 64)
        let sum = Atomic(0)
        for number in 1...1000 {
            try threads.enqueue { buffer in
                buffer.storeBytes(of: number, as: Int.self)
                sum.add(buffer.load(as: Int.self), ordering: .relaxed)
            }
        }
        if count == 1 {
            // First in, first out.
            #expect(try await threads.run { sum.load(ordering: .relaxed) } == 500_500)
        }
        let results = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<20 { group.addTask { try await threads.run { number } } }
            return try await group.reduce(0, +)
        }
        #expect(results == 190)
        await threads.stop()
        if count < 2 { #expect(sum.load(ordering: .relaxed) == 500_500) }
    }

    @Test func whatIsNextGoesBeforeWhatWasQueued() async throws {
        let threads = BlockingThreads(count: 1, bufferByteCount: 1)
        let order = Mutex<[String]>([])
        try threads.enqueue { _ in
            try? threads.enqueue { _ in order.withLock { $0.append("later") } }
            try? threads.enqueue(isNext: true) { _ in order.withLock { $0.append("next") } }
        }
        try await threads.run {}
        try await threads.run {}
        await threads.stop()
        #expect(order.withLock { $0 } == ["next", "later"])
    }

    @Test func stoppingForgetsWhatIsQueuedAndWaitsForWhatRuns() async throws {
        let threads = BlockingThreads(count: 2, bufferByteCount: 1 << 20)
        let active = Atomic(0)
        for _ in 0..<1000 {
            try threads.enqueue { buffer in
                active.add(1, ordering: .sequentiallyConsistent)
                for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: index) }
                active.subtract(1, ordering: .sequentiallyConsistent)
            }
        }
        await threads.stop()
        #expect(active.load(ordering: .sequentiallyConsistent) == 0)
        await BlockingThreads(count: 2, bufferByteCount: 1).stop()
    }
}
