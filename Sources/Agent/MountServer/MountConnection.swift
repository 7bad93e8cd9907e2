import LocalSocket
import Logging
import MountProtocol
import Synchronization

/// The requests of one mount. Those that only read index and disk are answered by the thread that took them from the socket, since
/// programs wait for each of them, one after the other; all others have tasks of their own.
final class MountConnection: Sendable {
    /// Under way at once; the kernel sends a mount fewer.
    static let requestLimit = 1024

    private struct State {
        /// Nil until the mount was greeted.
        var session: (any MountSession)?
        var running: [UInt64: Running] = [:]
        /// Nobody is to wait for other devices: the machine goes to sleep.
        var isAsleep = false
        /// Requests that a thread answers, and whether their answers are not wanted any more.
        var taken: [UInt64: Bool] = [:]
    }

    private struct Running {
        let task: Task<Void, Never>
        let waitsForDevices: Bool
        /// Who waits for it is told that no device has it.
        var isRefused = false
    }

    /// A request that the thread which took it is to answer.
    struct Taken {
        let number: UInt64
        let request: MountRequest
        fileprivate let session: any MountSession
    }

    private let socket: LocalSocket
    private let begin: @Sendable (MountGreeting) async throws(MountFailure) -> any MountSession
    private let logger: Logger
    private let state = Mutex(State())

    init(
        socket: LocalSocket, begin: @escaping @Sendable (MountGreeting) async throws(MountFailure) -> any MountSession,
        logger: Logger
    ) {
        self.socket = socket
        self.begin = begin
        self.logger = logger
    }

    /// Greets the mount with the first frame, and answers those that follow until they end. Then no thread answers any.
    func run(_ frames: AsyncStream<MountFrame>) async {
        defer { socket.end() }
        var iterator = frames.makeAsyncIterator()
        guard let first = await iterator.next(), let session = await greet(first) else { return }
        await withDiscardingTaskGroup { group in
            let socket = socket
            group.addTask { await session.follow { socket.send($0.frame(number: 0).bytes) } }
            while let frame = await iterator.next() {
                guard let request = try? MountRequest(frame) else {
                    logger.warning("a mount sent a request of another version")
                    // Ends the frames, and so what is being answered.
                    socket.end()
                    continue
                }
                if !settle(frame.number, request) { answer(frame.number, request, session) }
            }
            for running in state.withLock({ Array($0.running.values) }) { running.task.cancel() }
            await session.end()
            group.cancelAll()
        }
    }

    private func greet(_ frame: MountFrame) async -> (any MountSession)? {
        guard case .hello(let version, let folder, let origin)? = try? MountRequest(frame) else { return nil }
        guard version == MountLimits.version else {
            reply(frame.number, MountReply(.failed(.wrongVersion)))
            return nil
        }
        do throws(MountFailure) {
            let session = try await begin(MountGreeting(folder: folder, origin: origin, process: socket.process))
            state.withLock { $0.session = session }
            if case .space(let space) = await session.answer(.space).answer {
                reply(frame.number, MountReply(.welcome(space: space, session.access)))
            } else {
                let unknown = MountSpace(total: 0, free: 0)
                reply(frame.number, MountReply(.welcome(space: unknown, session.access)))
            }
            return session
        } catch {
            reply(frame.number, MountReply(.failed(error)))
            return nil
        }
    }

    // MARK: by the thread that takes frames from the socket

    /// What is to be done with a frame.
    enum Work {
        /// `run` handles it: the mount was not greeted yet, or it is not a request.
        case forRun
        case done
        case now(Taken)
    }

    /// Called with one frame after the other, in their order.
    func take(_ frame: MountFrame) -> Work {
        guard let session = state.withLock({ $0.session }), let request = try? MountRequest(frame) else {
            return .forRun
        }
        if settle(frame.number, request) { return .done }
        let isTaken = state.withLock { state in
            guard state.taken[frame.number] == nil, state.running[frame.number] == nil else { return false }
            state.taken[frame.number] = false
            return true
        }
        guard isTaken else {
            reply(frame.number, MountReply(.failed(.tooMany)))
            return .done
        }
        return .now(Taken(number: frame.number, request: request, session: session))
    }

    /// Waits for index and disk.
    func answer(_ taken: Taken) {
        let (number, answered) = (taken.number, taken.session.answerNow(taken.request))
        let isUnwanted = state.withLock { $0.taken.removeValue(forKey: number) ?? true }
        switch (answered, isUnwanted) {
        case (nil, true): break
        case (nil, false): answer(number, taken.request, taken.session)
        // Also where nobody waits any more: who asked closes what was opened for it.
        case (let answered?, _): reply(number, to: taken.request, answered)
        }
    }

    // MARK: -

    /// Answers at once what is about the connection alone. False for all else.
    private func settle(_ number: UInt64, _ request: MountRequest) -> Bool {
        switch request {
        case .hello: reply(number, MountReply(.failed(.wrongVersion)))
        case .ping: reply(number, MountReply(.done))
        // Before the connection is seen to end, which says nothing of why.
        case .goodbye: _ = state.withLock { $0.session }?.answerNow(.goodbye)
        case .cancel(let number):
            let task = state.withLock { state in
                if state.taken[number] != nil { state.taken[number] = true }
                return state.running[number]?.task
            }
            task?.cancel()
        default: return false
        }
        return true
    }

    private func answer(_ number: UInt64, _ request: MountRequest, _ session: any MountSession) {
        state.withLock { state in
            guard state.running.count < Self.requestLimit, state.running[number] == nil else {
                return reply(number, MountReply(.failed(.tooMany)))
            }
            let waitsForDevices = request.waitsForDevices
            guard !state.isAsleep || !waitsForDevices else { return reply(number, MountReply(.failed(.noHolder))) }
            let task = Task {
                let answer = await session.answer(request)
                let isRefused = self.state.withLock { $0.running.removeValue(forKey: number)?.isRefused ?? false }
                guard Task.isCancelled else { return self.reply(number, to: request, answer) }
                // Nobody waits for it any more, so nobody would close it.
                if let handle = answer.answer.openedHandle { _ = await session.answer(.close(handle: handle)) }
                if isRefused { self.reply(number, MountReply(.failed(.noHolder))) }
            }
            state.running[number] = Running(task: task, waitsForDevices: waitsForDevices)
        }
    }

    /// Whether the machine goes to sleep: then who waits for other devices hears that none has it, now and until it is awake.
    ///
    /// - Returns: what ends in a moment for that.
    @discardableResult
    func setAsleep(_ isAsleep: Bool) -> [Task<Void, Never>] {
        state.withLock { state in
            state.isAsleep = isAsleep
            guard isAsleep else { return [] }
            var ending: [Task<Void, Never>] = []
            for (number, running) in state.running where running.waitsForDevices {
                state.running[number]?.isRefused = true
                running.task.cancel()
                ending.append(running.task)
            }
            return ending
        }
    }

    private func reply(_ number: UInt64, to request: MountRequest, _ answer: MountReply) {
        // Somebody would be woken for it.
        if case .close = request { return }
        reply(number, answer)
    }

    private func reply(_ number: UInt64, _ reply: MountReply) {
        socket.send(reply.answer.frame(number: number).bytes, reply.enclosed)
    }
}
