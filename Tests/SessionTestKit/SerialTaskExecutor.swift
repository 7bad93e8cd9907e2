import Dispatch
import Foundation
import NIOEmbedded
import Synchronization

/// One thread that runs all that is started on it, one job after the other in the order in which they came, and an event loop
/// beside them: if nothing else resumes their tasks, what is done follows from what is handed in.
final class SerialTaskExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// Jobs before it are done.
        var head = 0
        /// Those who wait until there is no job, the last of them first.
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
        var isAsleep = false
        var isFinished = false
        var loop: EmbeddedEventLoop?
    }

    private enum Next {
        case job(UnownedJob)
        case idle(CheckedContinuation<Void, Never>)
        case nothing
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// Runs `body`, and all that it starts, on a thread of its own.
    static func run<Result: Sendable>(
        _ body: @escaping @Sendable (SerialTaskExecutor) async throws -> Result
    ) async throws -> Result {
        let executor = SerialTaskExecutor()
        executor.start()
        defer { executor.finish() }
        let task = Task(executorPreference: executor) { try await body(executor) }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// For channels whose owners run on this executor.
    var loop: EmbeddedEventLoop {
        guard let loop = state.withLock({ $0.loop }) else { preconditionFailure("the executor was not started") }
        return loop
    }

    /// Returns when nobody can go on: every other task on this executor waits for something.
    func idle() async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.idleWaiters.append(continuation) }
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let wasAsleep = state.withLock { state in
            state.jobs.append(job)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if wasAsleep { wake.signal() }
    }

    // MARK: the thread

    private func start() {
        let hasLoop = DispatchSemaphore(value: 0)
        let thread = Thread { [self] in
            // It belongs to the thread that makes it.
            let loop = EmbeddedEventLoop()
            state.withLock { $0.loop = loop }
            hasLoop.signal()
            work(loop)
        }
        thread.stackSize = 8 << 20
        thread.start()
        hasLoop.wait()
    }

    /// Ends the thread once nothing is to be done.
    private func finish() {
        let wasAsleep = state.withLock { state in
            state.isFinished = true
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if wasAsleep { wake.signal() }
    }

    private func work(_ loop: EmbeddedEventLoop) {
        while let next = next() {
            switch next {
            case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .idle(let continuation): continuation.resume()
            case .nothing: wake.wait()
            }
            loop.run()
        }
        state.withLock { $0.loop = nil }
    }

    /// Nil at the end.
    private func next() -> Next? {
        state.withLock { state in
            if state.head < state.jobs.count {
                state.head += 1
                let job = state.jobs[state.head - 1]
                if state.head == state.jobs.count {
                    state.jobs.removeAll(keepingCapacity: true)
                    state.head = 0
                }
                return .job(job)
            }
            if let waiter = state.idleWaiters.popLast() { return .idle(waiter) }
            if state.isFinished { return nil }
            state.isAsleep = true
            return .nothing
        }
    }
}
