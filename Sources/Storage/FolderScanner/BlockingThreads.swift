import Glibc
import Synchronization

/// A few threads for calls that wait for the disk, so that they do not hold up the tasks of the whole process, whose
/// threads are as many as there are processors.
///
/// Started when there is work, at most `count`; with 0 the caller does the work itself. What is queued is bounded by
/// whoever queues it.
final class BlockingThreads: Sendable {
    /// What a thread reads into: its own, and nobody else's while work is done.
    typealias Buffer = UnsafeMutableRawBufferPointer
    typealias Work = @Sendable (Buffer) -> Void

    private struct State {
        /// Taken from the end.
        var next: [Work] = []
        /// Taken when `next` is empty: first in, first out.
        var queued: [Work] = []
        var firstQueued = 0
        var waiting = 0
        var running = 0
        var isStopped = false
        var whenStopped: CheckedContinuation<Void, Never>?

        mutating func take() -> Work? {
            if let work = next.popLast() { return work }
            guard firstQueued < queued.count else { return nil }
            let work = queued[firstQueued]
            firstQueued += 1
            if firstQueued == queued.count || firstQueued == 1024 {
                queued.removeFirst(firstQueued)
                firstQueued = 0
            }
            return work
        }

        var count: Int { next.count + queued.count - firstQueued }
    }

    let count: Int
    private let bufferByteCount: Int
    private let state = Mutex(State())
    /// One for each piece of work, and for each thread one to end by.
    private let semaphore = Semaphore()

    init(count: Int, bufferByteCount: Int) {
        self.count = count
        self.bufferByteCount = bufferByteCount
    }

    /// Does `work` after what was queued before, or at once in the calling thread if there are no threads.
    ///
    /// - Parameter isNext: Before everything queued, as a part of what is being done.
    /// - Throws: `noThread` if there is not a single thread to do it.
    func enqueue(isNext: Bool = false, _ work: @escaping Work) throws(NoThread) {
        guard count > 0 else {
            let buffer = Self.makeBuffer(bufferByteCount)
            defer { buffer.deallocate() }
            return work(buffer)
        }
        let isThreadWanted = state.withLock { state in
            if isNext { state.next.append(work) } else { state.queued.append(work) }
            let isWanted = state.running < count && state.count > state.waiting
            if isWanted { state.running += 1 }
            return isWanted
        }
        if isThreadWanted, !startThread() {
            let isHopeless = state.withLock { state in
                state.running -= 1
                return state.running == 0
            }
            // With another thread at work the only loss is speed.
            if isHopeless { throw NoThread() }
        }
        semaphore.signal()
    }

    /// Does `work` in one of the threads and gives what it gives.
    func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async throws(NoThread) -> Value {
        guard count > 0 else { return work() }
        let result: Result<Value, NoThread> = await withCheckedContinuation { continuation in
            do throws(NoThread) {
                try enqueue { _ in continuation.resume(returning: .success(work())) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// Forgets what is queued and returns when all threads have ended; nothing may be queued after.
    func stop() async {
        await withCheckedContinuation { continuation in
            let running = state.withLock { state in
                state.isStopped = true
                state.next = []
                state.queued = []
                state.firstQueued = 0
                if state.running > 0 { state.whenStopped = continuation }
                return state.running
            }
            guard running > 0 else { return continuation.resume() }
            for _ in 0..<running { semaphore.signal() }
        }
    }

    private func startThread() -> Bool {
        var thread = pthread_t()
        let threads = Unmanaged.passRetained(self)
        let failure = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<BlockingThreads>.fromOpaque(argument).takeRetainedValue().work()
                return nil
            }, threads.toOpaque())
        guard failure == 0 else {
            threads.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private func work() {
        let buffer = Self.makeBuffer(bufferByteCount)
        defer { buffer.deallocate() }
        while true {
            state.withLock { $0.waiting += 1 }
            semaphore.wait()
            let (work, isStopped) = state.withLock { state in
                state.waiting -= 1
                return (state.take(), state.isStopped)
            }
            if isStopped { break }
            work?(buffer)
        }
        let whenStopped = state.withLock { state in
            state.running -= 1
            return state.running == 0 ? state.whenStopped.take() : nil
        }
        whenStopped?.resume()
    }

    private static func makeBuffer(_ byteCount: Int) -> Buffer {
        Buffer.allocate(byteCount: byteCount, alignment: Int(sysconf(CInt(_SC_PAGESIZE))))
    }
}

/// The system gave no thread.
struct NoThread: Error {}

/// A counting semaphore (sem_overview(7)).
private final class Semaphore: Sendable {
    // Safe: a semaphore is made to be used by several threads, and the place does not change.
    private nonisolated(unsafe) let place: UnsafeMutablePointer<sem_t>

    init() {
        place = .allocate(capacity: 1)
        sem_init(place, 0, 0)
    }

    deinit {
        sem_destroy(place)
        place.deallocate()
    }

    func signal() { sem_post(place) }

    func wait() {
        // Only a signal handler ends a wait early.
        while sem_wait(place) != 0 {}
    }
}
