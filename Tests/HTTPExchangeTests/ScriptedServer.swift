import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server on the loopback that answers each connection with given bytes, whatever they are.
struct ScriptedServer: Sendable {
    enum Ending: Sendable {
        /// Closes after the script; with TLS, properly.
        case closes
        /// Says no more, and leaves the connection open.
        case hangs
        /// Repeats the script's last piece until the other side goes away.
        case repeats
        /// Closes the socket under TLS, as an attacker in between would.
        case cuts
    }

    final class Log: Sendable {
        private let state = Mutex<[String]>([])

        /// What came, one text per connection.
        var requests: [String] { state.withLock { $0 } }

        func append(_ request: String) { state.withLock { $0.append(request) } }
    }

    let channel: any Channel
    let port: UInt16
    let log = Log()

    init(_ pieces: [String], then ending: Ending = .closes, tls: Bool = false) async throws {
        var context: NIOSSLContext?
        if tls {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(LoopbackCertificate.pem.utf8)).map {
                    .certificate($0)
                },
                privateKey: .privateKey(
                    try NIOSSLPrivateKey(bytes: Array(LoopbackCertificate.keyPEM.utf8), format: .pem)))
            configuration.shutdownTimeout = .milliseconds(100)
            context = try NIOSSLContext(configuration: configuration)
        }
        let log = log
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [context] channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    try channel.pipeline.syncOperations.addHandler(Script(pieces: pieces, ending: ending, log: log))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = UInt16(channel.localAddress?.port ?? 0)
    }

    /// Runs `body` with a server, and closes it.
    static func with<Output>(
        _ pieces: [String], then ending: Ending = .closes, tls: Bool = false,
        _ body: (ScriptedServer) async throws -> Output
    ) async throws -> Output {
        let server = try await ScriptedServer(pieces, then: ending, tls: tls)
        do {
            let output = try await body(server)
            try await server.channel.close()
            return output
        } catch {
            try await server.channel.close()
            throw error
        }
    }
}

private final class Script: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let pieces: [String]
    private let ending: ScriptedServer.Ending
    private let log: ScriptedServer.Log
    private var request = ""
    private var isAnswered = false

    init(pieces: [String], ending: ScriptedServer.Ending, log: ScriptedServer.Log) {
        self.pieces = pieces
        self.ending = ending
        self.log = log
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        request += String(buffer: unwrapInboundIn(data))
        guard !isAnswered, isComplete else { return }
        isAnswered = true
        log.append(request)
        for piece in pieces { context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: piece)), promise: nil) }
        switch ending {
        case .closes: context.close(promise: nil)
        case .hangs: break
        case .repeats: flood(context)
        case .cuts:
            // Past the TLS handler's own closing.
            context.flush()
            context.channel.pipeline.syncOperations.removeTLS(then: context.channel)
        }
    }

    private var isComplete: Bool {
        let lines = request.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard lines.count == 2 else { return false }
        let length = lines[0].split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length: ") }
        return lines[1].utf8.count >= length.flatMap { Int($0.dropFirst(16)) } ?? 0
    }

    /// A few pieces after the other, and the next when they have left. A task that comes back at once would keep the event
    /// loop from reading, so there is a moment in between.
    private func flood(_ context: ChannelHandlerContext) {
        guard let piece = pieces.last, context.channel.isActive else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let pieces = ByteBuffer(string: String(repeating: piece, count: 16))
        context.writeAndFlush(wrapOutboundOut(pieces)).whenSuccess {
            bound.value.1.eventLoop.scheduleTask(in: .microseconds(100)) { bound.value.0.flood(bound.value.1) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

extension ChannelPipeline.SynchronousOperations {
    /// Takes the TLS handler out, and closes the channel.
    fileprivate func removeTLS(then channel: any Channel) {
        guard let tls = try? context(handlerType: NIOSSLServerHandler.self) else {
            channel.close(promise: nil)
            return
        }
        removeHandler(context: tls).whenComplete { _ in channel.close(promise: nil) }
    }
}
