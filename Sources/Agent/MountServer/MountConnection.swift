import LocalSocket
import Logging
import MountProtocol
import Synchronization

/// The requests of one mount, each in a task of its own.
final class MountConnection: Sendable {
    /// Under way at once; the kernel sends a mount fewer.
    static let requestLimit = 1024

    private let socket: LocalSocket
    private let begin: @Sendable (MountGreeting) async throws(MountFailure) -> any MountSession
    private let logger: Logger
    private let running = Mutex<[UInt64: Task<Void, Never>]>([:])

    init(
        socket: LocalSocket, begin: @escaping @Sendable (MountGreeting) async throws(MountFailure) -> any MountSession,
        logger: Logger
    ) {
        self.socket = socket
        self.begin = begin
        self.logger = logger
    }

    /// Answers until the frames end.
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
                    break
                }
                switch request {
                case .hello: reply(frame.number, MountReply(.failed(.wrongVersion)))
                case .ping: reply(frame.number, MountReply(.done))
                case .cancel(let number): running.withLock { $0[number] }?.cancel()
                default: answer(frame.number, request, session)
                }
            }
            for task in running.withLock({ Array($0.values) }) { task.cancel() }
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
            if case .space(let space) = await session.answer(.space).answer {
                reply(frame.number, MountReply(.welcome(space: space, session.access)))
            } else {
                let unknown = MountSpace(total: 0, free: 0, names: 0)
                reply(frame.number, MountReply(.welcome(space: unknown, session.access)))
            }
            return session
        } catch {
            reply(frame.number, MountReply(.failed(error)))
            return nil
        }
    }

    private func answer(_ number: UInt64, _ request: MountRequest, _ session: any MountSession) {
        running.withLock { running in
            guard running.count < Self.requestLimit, running[number] == nil else {
                return reply(number, MountReply(.failed(.tooMany)))
            }
            running[number] = Task {
                let answer = await session.answer(request)
                self.running.withLock { $0[number] = nil }
                guard Task.isCancelled else { return self.reply(number, answer) }
                // Nobody waits for it any more, so nobody would close it.
                if let handle = answer.answer.openedHandle { _ = await session.answer(.close(handle: handle)) }
            }
        }
    }

    private func reply(_ number: UInt64, _ reply: MountReply) {
        socket.send(reply.answer.frame(number: number).bytes, reply.enclosed)
    }
}
