import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import PortMapping
import Transport

/// Maps a port at the routers of this machine and prints every change, for tests from outside.
///
/// Lines on standard input: `changed` says that networks changed; the end of input deletes what was mapped.
///
///     PortMapProbe PORT [--methods PCP,NAT-PMP,UPnP] [--renewal SECONDS] [--lease SECONDS] [--listen]
///
/// Lines: `announce ADDRESS…`, `state SENTENCE`, `ended`. With --listen it accepts TCP connections on the port and answers with
/// `mapped` and a line feed.
@main
enum PortMapProbe {
    static func main() async throws {
        var settings = MappingSettings()
        var port: UInt16 = 22000
        var listens = false
        var arguments = CommandLine.arguments.dropFirst()
        while let argument = arguments.popFirst() {
            switch argument {
            case "--methods":
                let names = (arguments.popFirst() ?? "").split(separator: ",")
                settings.methods = Set(names.compactMap { MappingMethod(rawValue: String($0)) })
            case "--renewal": settings.renewal = .seconds(Int(arguments.popFirst() ?? "") ?? 600)
            case "--lease": settings.lease = .seconds(Int(arguments.popFirst() ?? "") ?? 3600)
            case "--listen": listens = true
            default: port = UInt16(argument) ?? port
            }
        }
        if listens { try await answer(on: port) }
        let mapper = PortMapper(
            identity: MappingIdentity(secret: Array("port-map-probe".utf8)), settings: settings,
            http: { try await PlainHTTP.exchange($0) })
        await mapper.listen(on: [ListenedPort(.tcp, port)])
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await mapper.run() }
            group.addTask {
                for await addresses in mapper.addresses {
                    say("announce " + addresses.compactMap { $0.linkAddress?.description }.joined(separator: " "))
                }
            }
            group.addTask { await obey(mapper) }
            group.addTask {
                var last: [String] = []
                while !Task.isCancelled {
                    let now = await mapper.summaries
                    if now != last { for sentence in now { say("state " + sentence) } }
                    last = now
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
            // The mapper is the first to end.
            await group.next()
            say("ended")
            group.cancelAll()
            exit(0)
        }
    }

    private static func obey(_ mapper: PortMapper) async {
        let (lines, input) = AsyncStream<String>.makeStream()
        NIOThreadPool.singleton.submit { _ in
            while let line = readLine() { input.yield(line) }
            input.finish()
        }
        for await line in lines where line == "changed" { await mapper.networkChanged() }
        mapper.stop()
        // The mapper ends first.
        try? await Task.sleep(for: .seconds(60))
    }

    /// Writes a line at once; print would keep it while the output is a pipe.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(1, bytes, bytes.count)
    }

    private static func answer(on port: UInt16) async throws {
        _ = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.writeAndFlush(ByteBuffer(string: "mapped\n"), promise: nil)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "0.0.0.0", port: Int(port)).get()
    }
}

/// One HTTP request on a connection of its own, good enough for a test.
enum PlainHTTP {
    static func exchange(_ request: GatewayHTTPRequest) async throws -> GatewayHTTPAnswer {
        let promise = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: GatewayHTTPAnswer.self)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(TimeAmount(request.timeout))
                .bind(to: SocketAddress(ipAddress: request.localAddress.description, port: 0))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        try channel.pipeline.syncOperations.addHandler(
                            Collector(promise, limit: request.maximumBodyByteCount))
                    }
                }
                .connect(host: request.url.host.description, port: Int(request.url.port)).get()
        } catch {
            promise.fail(error)
            return try await promise.futureResult.get()
        }
        var headers = HTTPHeaders([("Host", request.url.authority), ("Connection", "close")])
        for header in request.headers { headers.add(name: header.name, value: header.value) }
        if request.method == .post { headers.add(name: "Content-Length", value: "\(request.body.count)") }
        let head = HTTPRequestHead(
            version: .http1_1, method: request.method == .post ? .POST : .GET, uri: request.url.path, headers: headers)
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: request.body))), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        return try await promise.futureResult.get()
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart
        struct Failure: Error {}

        private let promise: EventLoopPromise<GatewayHTTPAnswer>
        private let limit: Int
        private var answer = GatewayHTTPAnswer(status: 0, body: [])

        init(_ promise: EventLoopPromise<GatewayHTTPAnswer>, limit: Int) {
            self.promise = promise
            self.limit = limit
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): answer.status = Int(head.status.code)
            case .body(let bytes):
                answer.body += bytes.readableBytesView
                if answer.body.count > limit { context.close(promise: nil) }
            case .end:
                promise.succeed(answer)
                context.close(promise: nil)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            promise.fail(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { promise.fail(Failure()) }
    }
}
