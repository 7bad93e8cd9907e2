import CLinux
import Glibc
import LocalSocket
import Logging
import MountProtocol
import ServiceLifecycle
import Threads

/// Listens on the socket that mounts connect to, for this user alone.
package final class MountServer: Service, Sendable {
    /// Closed once neither who accepts nor who ends that uses its number any more.
    private final class Listening: Sendable {
        let number: CInt

        init(_ number: CInt) { self.number = number }

        deinit { close(number) }
    }

    private let path: String
    /// Begins a session of a folder.
    private let begin: @Sendable (MountGreeting) async throws(MountFailure) -> any MountSession
    private let logger: Logger
    private let connections = Guarded<[Int: LocalSocket]>([:])
    private let sleep: MountSleep
    private let followSleep: @Sendable (MountSleep) async -> Void
    private let acceptNext: @Sendable (CInt) -> CInt

    /// - Parameters:
    ///   - followSleep: says when the machine is about to sleep and when it has woken, until its task is cancelled.
    ///   - acceptNext: as accept(2).
    package init(
        path: String, logger: Logger,
        followSleep: @escaping @Sendable (MountSleep) async -> Void = { _ in },
        acceptNext: @escaping @Sendable (CInt) -> CInt = { clinux_accept($0) },
        begin: @escaping @Sendable (MountGreeting) async throws(MountFailure) -> any MountSession
    ) {
        self.path = path
        self.logger = logger
        self.followSleep = followSleep
        self.acceptNext = acceptNext
        self.begin = begin
        sleep = MountSleep()
    }

    /// Runs until the service group shuts down. What fails is logged, and the agent goes on without mounts.
    package func run() async {
        let descriptor = LocalSocket.listen(at: path)
        guard descriptor >= 0 else {
            logger.error(
                "\(path) cannot be listened on, so folders cannot be mounted: \(String(cString: strerror(errno)))")
            // What holds the machine awake is let go here, too.
            await cancelWhenGracefulShutdown { await self.followSleep(self.sleep) }
            try? await gracefulShutdown()
            return
        }
        let listening = Listening(descriptor)
        if !OwnedThread.start("mount-accept", { [self] in accept(listening) }) {
            logger.error("no thread is left to listen for mounts")
        }
        await cancelWhenGracefulShutdown {
            let (over, continuation) = AsyncStream.makeStream(of: Void.self)
            await withTaskCancellationHandler {
                async let following: Void = self.followSleep(self.sleep)
                for await _ in over {}
                await following
            } onCancel: {
                continuation.finish()
            }
        }
        unlink(path)
        _ = withExtendedLifetime(listening) { shutdown(listening.number, Int32(SHUT_RDWR)) }
        for connection in connections.with({ Array($0.values) }) { connection.end() }
    }

    private func accept(_ listening: Listening) {
        var number = 0
        // Whether the last one was refused because there were too many.
        var isFull = false
        while true {
            let (descriptor, failure) = withExtendedLifetime(listening) { (acceptNext(listening.number), errno) }
            if descriptor < 0 {
                switch failure {
                case EINTR, ECONNABORTED: continue
                // Descriptors and memory become free when others let go of theirs.
                case EMFILE, ENFILE, ENOMEM, ENOBUFS:
                    usleep(100_000)
                    continue
                // `run` is over.
                case EINVAL: return
                default:
                    return logger.error(
                        "\(path) takes no mounts any more: \(String(cString: strerror(failure))); restart the agent")
                }
            }
            let socket = LocalSocket(owning: descriptor)
            number += 1
            let id = number
            guard socket.isOwnUser else {
                logger.warning("a mount was refused: it belongs to another user")
                continue
            }
            guard connections.with({ $0.count < MountLimits.mountCount }) else {
                // One that goes on without the agent tries again every two seconds.
                if !isFull { logger.warning("a mount was refused: there are \(MountLimits.mountCount) already") }
                isFull = true
                // It is read although the connection ends.
                socket.send(MountAnswer.failed(.tooMany).frame(number: 0).bytes)
                continue
            }
            isFull = false
            connections.with { $0[id] = socket }
            let isStarted =
                socket.startSending("mount-send")
                && OwnedThread.start("mount-receive") { [self] in
                    receive(socket)
                    _ = connections.with { $0.removeValue(forKey: id) }
                }
            if !isStarted { _ = connections.with { $0.removeValue(forKey: id) } }
        }
    }

    /// Reads requests until the connection ends.
    private func receive(_ socket: LocalSocket) {
        let (frames, continuation) = AsyncStream.makeStream(
            of: MountFrame.self, bufferingPolicy: .bufferingOldest(MountConnection.requestLimit))
        let connection = MountConnection(socket: socket, begin: begin, logger: logger)
        let number = sleep.add(connection)
        defer { sleep.remove(number) }
        // Ends with the stream, which ends with the socket.
        Task { await connection.run(frames) }
        FrameTaking(socket: socket, connection: connection, others: continuation, logger: logger).run()
    }
}
