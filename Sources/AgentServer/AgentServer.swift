public import ControlAPI
public import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
public import ServiceLifecycle
import Synchronization

/// Carries an `AgentControl` over HTTP/1.1 on a Unix socket, as docs/control-api.md says.
///
/// NIOHTTP1 and not Hummingbird, for three reasons. A Hummingbird response has its status before its body's closure
/// runs, so a read that fails before its first byte could not be answered with its error; its body writer is not
/// Sendable, so `AgentControl`'s `emit` could not write to it; and its application wakes up every second to keep a date.
///
/// A connection carries one request: who closes it cancels the request's work, and nothing idle stays open.
public struct AgentServer: Service {
    public struct Limits: Sendable {
        /// Requests at once; further ones are answered `busy`.
        public var requests: Int
        /// Time for a request to arrive whole.
        public var requestTime: TimeAmount
        /// Time that requests have to end in when the server is told to.
        public var shutdownTime: TimeAmount

        public init(requests: Int = 64, requestTime: TimeAmount = .seconds(10), shutdownTime: TimeAmount = .seconds(1))
        {
            self.requests = requests
            self.requestTime = requestTime
            self.shutdownTime = shutdownTime
        }
    }

    private let responder: ControlResponder
    private let socket: ControlSocket
    private let limits: Limits
    private let logger: Logger
    private let onListening: @Sendable () async -> Void

    /// - Parameters:
    ///   - socketPath: absolute; its directory is made with mode 0700 if it is not there.
    ///   - onListening: called once when connections are taken.
    public init(
        control: any AgentControl, socketPath: String, limits: Limits = Limits(), logger: Logger,
        onListening: @escaping @Sendable () async -> Void = {}
    ) {
        responder = ControlResponder(control: control, logger: logger)
        socket = ControlSocket(path: socketPath)
        self.limits = limits
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until cancelled or told to shut down gracefully: then streams end with an error line, and what has not
    /// ended after `shutdownTime` is cut. The socket's file is gone on return.
    ///
    /// Throws `busy` if a live agent has the socket, `noPermission` or `failed` if it cannot be made.
    public func run() async throws {
        let claim = try socket.claim()
        defer { claim.release() }
        let server: NIOAsyncChannel<Connection, Never>
        do {
            server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 128)
                .bind(unixDomainSocketPath: socket.provisionalPath) { [limits] channel in
                    channel.eventLoop.makeCompletedFuture { try Connection(channel: channel, limits: limits) }
                }
        } catch {
            throw ControlError(
                .failed, "The control socket cannot be bound: \(error). Choose a shorter --home.", path: socket.path)
        }
        try await server.executeThenClose { connections in
            try socket.publish()
            defer { socket.retract() }
            // The channel is closed rather than the loop left: connections that wait in it are still served.
            await withTaskCancellationOrGracefulShutdownHandler {
                await serve(connections)
            } onCancelOrGracefulShutdown: {
                server.channel.close(promise: nil)
            }
        }
    }

    private func serve(_ connections: NIOAsyncChannelInboundStream<Connection>) async {
        let active = RequestCount()
        await withDiscardingTaskGroup { group in
            await onListening()
            do {
                for try await connection in connections {
                    let number = active.increment()
                    group.addTask {
                        await serve(connection, isBusy: number > limits.requests)
                        active.decrement()
                    }
                }
            } catch {
                logger.error("The control socket takes no more connections: \(error)")
            }
        }
    }

    /// Reads the request, answers it, closes.
    private func serve(_ connection: Connection, isBusy: Bool) async {
        let channel = connection.channel
        await withTaskCancellationOrGracefulShutdownHandler {
            let sink = ResponseSink(channel: channel)
            do {
                let request = try await connection.request.get()
                if isBusy {
                    throw ControlError(
                        .busy, "The agent answers \(limits.requests) requests already. Try again.", isRetryable: true)
                }
                await connection.untilClosed { await responder.respond(to: request, through: sink) }
            } catch {
                let error = ControlError(asControl: error)
                logger.debug("A control request was refused: \(error)")
                await sink.answer(error)
                // The client may still be writing what is too large: if it could not, it would not read the answer.
                if error.code == .tooLarge {
                    try? await channel.close(mode: .output)
                    try? await channel.closeFuture.get()
                }
            }
            try? await channel.close()
        } onCancelOrGracefulShutdown: {
            // Streams end by themselves now; this is for who does not read.
            channel.eventLoop.scheduleTask(in: limits.shutdownTime) { channel.close(promise: nil) }
        }
    }
}

/// How many requests are being answered.
private final class RequestCount: Sendable {
    private let count = Mutex(0)

    /// The count with this one.
    func increment() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    func decrement() { count.withLock { $0 -= 1 } }
}
