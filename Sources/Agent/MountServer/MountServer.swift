import CLinux
import Glibc
import LocalSocket
import Logging
import MountProtocol
import ServiceLifecycle
import Threads

/// Listens on the socket that mounts connect to, for this user alone.
package final class MountServer: Service, Sendable {
    private static let connectionLimit = 16

    private let path: String
    /// Begins a session of a folder.
    private let begin: @Sendable (MountGreeting) async throws(MountFailure) -> any MountSession
    private let logger: Logger
    private let connections = Guarded<[Int: LocalSocket]>([:])
    private let sleep: MountSleep
    private let followSleep: @Sendable (MountSleep) async -> Void

    /// - Parameter followSleep: says when the machine is about to sleep and when it has woken, until its task is cancelled.
    package init(
        path: String, logger: Logger,
        followSleep: @escaping @Sendable (MountSleep) async -> Void = { _ in },
        begin: @escaping @Sendable (MountGreeting) async throws(MountFailure) -> any MountSession
    ) {
        self.path = path
        self.logger = logger
        self.followSleep = followSleep
        self.begin = begin
        sleep = MountSleep()
    }

    /// Runs until the service group shuts down. What fails is logged, and the agent goes on without mounts.
    package func run() async {
        let listening = LocalSocket.listen(at: path)
        guard listening >= 0 else {
            logger.error(
                "\(path) cannot be listened on, so folders cannot be mounted: \(String(cString: strerror(errno)))")
            // What holds the machine awake is let go here, too.
            await cancelWhenGracefulShutdown { await self.followSleep(self.sleep) }
            try? await gracefulShutdown()
            return
        }
        let isAccepting = OwnedThread.start("mount-accept") { [self] in accept(listening) }
        if !isAccepting { logger.error("no thread is left to listen for mounts") }
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
        shutdown(listening, Int32(SHUT_RDWR))
        if !isAccepting { close(listening) }
        for connection in connections.with({ Array($0.values) }) { connection.end() }
    }

    private func accept(_ listening: CInt) {
        defer { close(listening) }
        var number = 0
        while true {
            let descriptor = clinux_accept(listening)
            if descriptor < 0, errno == EINTR || errno == ECONNABORTED || errno == EMFILE || errno == ENFILE {
                // Descriptors become free when others close theirs.
                if errno == EMFILE || errno == ENFILE { usleep(100_000) }
                continue
            }
            guard descriptor >= 0 else { return }
            let socket = LocalSocket(owning: descriptor)
            number += 1
            let id = number
            guard socket.isOwnUser, connections.with({ $0.count < Self.connectionLimit }) else {
                logger.warning("a mount was refused: it belongs to another user, or there are too many")
                continue
            }
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
