import Arithmetic
import ControlAPI
import Phrases
import Synchronization

/// `fetch` without a path: has every folder sync now, and waits until none needs anything.
struct SelectedFetch: Sendable {
    let context: CommandContext
    let report: FetchReport

    func run() async throws {
        let agent = try context.agent()
        try await agent.call(Endpoints.syncNow, SyncRequest())
        let course = Mutex(SelectedFetchCourse())
        _ = try await StatusWatch(agent: agent).first { status in
            let (events, isDone) = try course.withLock { course in
                let now = ContinuousClock.now
                let isDone = try WaitCommand.judge(status, folder: nil) == nil
                return (try course.observe(status, isDone: isDone, now: now), isDone)
            }
            for event in events { try report.take(event) }
            return isDone ? true : nil
        }
    }
}

/// How far the folders are, from one look at the status to the next. Pure.
struct SelectedFetchCourse {
    /// How long nothing may happen before it is said that nothing will.
    static let patience = Duration.seconds(10)

    private struct Pace: Equatable {
        var need: [FolderStatus.Totals]
        var transferred: Int64
    }

    private var start: ContinuousClock.Instant?
    private var files: Int64 = 0
    private var bytes: Int64 = 0
    private var leftFiles: Int64 = 0
    private var leftBytes: Int64 = 0
    private var pace: Pace?
    private var lastChange: ContinuousClock.Instant?

    /// What is to be said after this look. Throws `noHolder` or `someFailed` when nothing has moved for too long.
    mutating func observe(
        _ status: AgentStatus, isDone: Bool, now: ContinuousClock.Instant
    ) throws(ControlError) -> [FetchEvent] {
        let folders = status.folders.filter { $0.condition != .paused }
        let left = folders.reduce(into: FolderStatus.Totals()) { sum, folder in
            sum.files.addClamped(folder.need.files)
            sum.bytes.addClamped(folder.need.bytes)
        }
        var events: [FetchEvent] = []
        // What is announced on the way makes the whole larger.
        files.addClamped(max(0, left.files.subtractingClamped(leftFiles)))
        bytes.addClamped(max(0, left.bytes.subtractingClamped(leftBytes)))
        (leftFiles, leftBytes) = (left.files, left.bytes)
        let start = start ?? now
        if self.start == nil {
            self.start = start
            events.append(.plan(files: files, bytes: bytes))
        }
        let milliseconds = max(1, Int64((now - start) / .milliseconds(1)))
        guard !isDone else {
            events.append(.done(files: files, bytes: bytes, failed: 0, seconds: Double(milliseconds) / 1000))
            return events
        }
        try checkPace(status, folders, now)
        let done = bytes.subtractingClamped(leftBytes)
        let transfer = status.transfers.first
        let names = transfer?.holders.map { id in status.devices.first { $0.id == id }?.name ?? id } ?? []
        events.append(
            .progress(
                path: transfer.map { "\($0.folder):\($0.path)" } ?? "", bytesDone: done, bytesTotal: bytes,
                bytesPerSecond: Int64(nearest: Double(done) * 1000 / Double(milliseconds)), holders: names))
        return events
    }

    private mutating func checkPace(
        _ status: AgentStatus, _ folders: [FolderStatus], _ now: ContinuousClock.Instant
    ) throws(ControlError) {
        let pace = Pace(need: folders.map(\.need), transferred: status.transfers.reduce(0) { $0 &+ $1.bytesDone })
        let isWorking = folders.contains { !$0.condition.isAtRest && $0.condition != .syncing }
        let last = lastChange ?? now
        if pace != self.pace || isWorking {
            self.pace = pace
            lastChange = now
            return
        }
        guard now - last >= Self.patience else { return }
        guard let folder = folders.first(where: { !$0.need.isZero }) else {
            guard let folder = folders.first(where: { $0.indexWait != nil }), let reason = folder.indexWait else {
                return
            }
            throw ControlError(
                .noHolder, "\(folder.id): \(reason); see `synctrain ready`", isRetryable: true, path: folder.id)
        }
        let isLinked = status.devices.contains { folder.devices.contains($0.id) && $0.isConnected }
        if isLinked, let problem = folder.problems.first {
            throw ControlError(
                .someFailed,
                "\(folder.id) cannot sync \(Quantity.names(folder.errors)): \(problem.path): \(problem.phrase)",
                isRetryable: true, path: "\(folder.id):\(problem.path)")
        }
        if isLinked, let waiting = folder.waiting {
            let isPolicy = ["metered", "battery"].contains(waiting.reason)
            let code: ControlError.Code = isPolicy ? .heldByPolicy : .keptOffBluetooth
            throw ControlError(
                code, "\(folder.id) needs \(Quantity.need(folder.need)): \(waiting.phrase)", isRetryable: true,
                path: folder.id)
        }
        let need = Quantity.need(folder.need)
        throw ControlError(
            .noHolder,
            isLinked
                ? "\(folder.id) needs \(need), and no connected device has it. It is downloaded as soon as one does."
                : "\(folder.id) needs \(need), and none of its devices are connected; see `synctrain device list`. "
                    + "It is downloaded as soon as one does.", isRetryable: true, path: folder.id)
    }
}
