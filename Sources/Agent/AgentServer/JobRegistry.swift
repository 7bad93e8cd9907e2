import ControlAPI
import Synchronization

/// The jobs that run and those that have ended, with what came of them.
final class JobRegistry: Sendable {
    typealias Work = @Sendable (_ progress: @escaping @Sendable (FetchEvent) -> Void) async throws -> [UInt8]?

    private struct Kept {
        var job: Job
        /// JSON.
        var result: [UInt8]?
        var cancellation: AsyncStream<Void>.Continuation?
        var isCancelled = false
    }

    private struct Order: Sendable {
        var id: Int
        var cancellation: AsyncStream<Void>
        var work: Work
    }

    private struct State {
        var jobs: [Int: Kept] = [:]
        var lastID = 0
    }

    struct Limits: Sendable {
        var running = 16
        var ended = 100
        /// Bytes of the results of ended jobs, all together; the newest is kept whatever it has.
        var resultBytes = 16 << 20
    }

    private let limits: Limits
    private let state = Mutex(State())
    private let orders: AsyncStream<Order>
    private let addOrder: AsyncStream<Order>.Continuation
    private let now: @Sendable () -> Int64
    private let announce: @Sendable (Job) -> Void

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - announce: told of each change of a job.
    init(
        limits: Limits = Limits(), now: @escaping @Sendable () -> Int64, announce: @escaping @Sendable (Job) -> Void
    ) {
        self.limits = limits
        self.now = now
        self.announce = announce
        // No more wait than may run.
        (orders, addOrder) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(limits.running))
    }

    /// Runs what is ordered until cancelled; then what runs is, too.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await order in orders { group.addTask { await self.perform(order) } }
            group.cancelAll()
        }
    }

    /// Orders a job. Throws `busy` if too many run.
    func begin(_ kind: String, _ work: @escaping Work) throws(ControlError) -> Job {
        let (cancellation, cancel) = AsyncStream.makeStream(of: Void.self)
        let job: Job? = state.withLock { state in
            guard state.jobs.values.count(where: { $0.job.state == .running }) < limits.running else { return nil }
            state.lastID += 1
            let job = Job(id: state.lastID, kind: kind, begun: now())
            state.jobs[job.id] = Kept(job: job, cancellation: cancel)
            return job
        }
        guard let job else {
            throw ControlError(
                .busy, "\(limits.running) jobs are already running. Wait for one to finish, or cancel it.",
                isRetryable: true)
        }
        announce(job)
        addOrder.yield(Order(id: job.id, cancellation: cancellation, work: work))
        return job
    }

    /// By their ids.
    func all() -> [[UInt8]] {
        state.withLock { $0.jobs.values.sorted { $0.job.id < $1.job.id } }.compactMap { try? Self.json($0) }
    }

    func json(_ id: Int) throws(ControlError) -> [UInt8] { try Self.json(try find(id)) }

    /// Cancels a job that runs; forgets one that has ended.
    func end(_ id: Int) throws(ControlError) {
        let kept = try find(id)
        guard kept.job.state == .running else { return state.withLock { $0.jobs[id] = nil } }
        state.withLock { $0.jobs[id]?.isCancelled = true }
        kept.cancellation?.finish()
    }

    private func find(_ id: Int) throws(ControlError) -> Kept {
        guard let kept = state.withLock({ $0.jobs[id] }) else {
            throw ControlError(.notFound, "Job \(id): not found, or no longer kept; /v1/jobs lists the jobs.")
        }
        return kept
    }

    private func perform(_ order: Order) async {
        // The first to end says how it was: a cancelled one that ends well all the same has been done.
        let outcome: Result<[UInt8]?, any Error> = await withTaskGroup(of: Result<[UInt8]?, any Error>?.self) { group in
            group.addTask {
                do {
                    return .success(try await order.work { event in self.change(order.id) { $0.progress = event } })
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                for await _ in order.cancellation {}
                return nil
            }
            var outcome: Result<[UInt8]?, any Error>?
            for await ended in group {
                group.cancelAll()
                if let ended { outcome = ended }
            }
            return outcome ?? .failure(CancellationError())
        }
        finish(order.id, outcome)
    }

    private func finish(_ id: Int, _ outcome: Result<[UInt8]?, any Error>) {
        let job: Job? = state.withLock { state in
            guard var kept = state.jobs[id] else { return nil }
            kept.job.ended = now()
            kept.cancellation = nil
            switch outcome {
            case .success(let result):
                kept.job.state = .done
                kept.result = result
            case .failure where kept.isCancelled: kept.job.state = .cancelled
            case .failure(let error):
                kept.job.state = .failed
                kept.job.error = ControlError(asControl: error)
            }
            state.jobs[id] = kept
            forgetOldest(&state)
            return kept.job
        }
        // Whoever hears of it finds the result there.
        if let job { announce(job) }
    }

    private func forgetOldest(_ state: inout State) {
        let ended = state.jobs.values.filter { $0.job.state != .running }.sorted { $0.job.id > $1.job.id }
        var bytes = 0
        for (index, kept) in ended.enumerated() {
            bytes += kept.result?.count ?? 0
            if index >= limits.ended || index > 0 && bytes > limits.resultBytes { state.jobs[kept.job.id] = nil }
        }
    }

    private func change(_ id: Int, _ body: (inout Job) -> Void) {
        let job: Job? = state.withLock { state in
            guard var kept = state.jobs[id] else { return nil }
            body(&kept.job)
            state.jobs[id] = kept
            return kept.job
        }
        if let job { announce(job) }
    }

    private static func json(_ kept: Kept) throws(ControlError) -> [UInt8] {
        var json = try ControlJSON.encode(kept.job)
        guard let result = kept.result else { return json }
        json.removeLast()
        return json + #","result":"#.utf8 + result + "}".utf8
    }
}
