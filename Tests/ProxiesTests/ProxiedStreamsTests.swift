import NIOCore
import NIOPosix
import SyncTestKit
import Synchronization
import Testing
import Transport
import TransportTCP

@testable import Proxies

/// Notes where is connected to.
final class RecordingStreams: StreamDialing {
    private let base = DirectStreams()
    private let asked = Mutex<[String]>([])

    var hosts: [String] { asked.withLock { $0 } }

    func connect<Output: Sendable>(
        to host: String, port: UInt16, timeout: Duration,
        install: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> Output {
        asked.withLock { $0.append("\(host):\(port)") }
        return try await base.connect(to: host, port: port, timeout: timeout, install: install)
    }
}

typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>

@Sendable func stream(_ channel: any Channel) -> EventLoopFuture<Stream> {
    channel.eventLoop.makeCompletedFuture { try Stream(wrappingChannelSynchronously: channel) }
}

@Suite struct ProxiedStreamsTests {
    struct Proxy: Sendable, CustomTestStringConvertible {
        var scheme: String
        var user = ""
        var serve: Serving
        var testDescription: String { scheme + " " + user }
    }

    static let proxies = [
        Proxy(scheme: "socks5", serve: socksProxy()),
        Proxy(scheme: "socks5", user: "joan:hunter2@", serve: socksProxy()),
        Proxy(scheme: "socks5", user: "joan:hunter2@", serve: socksProxy(credentials: ("joan", "hunter2"))),
        Proxy(scheme: "http", serve: connectProxy()),
        Proxy(scheme: "http", user: "joan:hunter2@", serve: connectProxy(authorization: "am9hbjpodW50ZXIy")),
        // TLS is the caller's; here it is none.
        Proxy(scheme: "https", serve: connectProxy()),
    ]
    static let closedBeforeAnswer: Serving = { _ in }
    static let silent: Serving = { try await $0.wait() }
    static func says(_ bytes: [UInt8]) -> Serving {
        { conversation in
            try await conversation.write(bytes)
            try await conversation.wait()
        }
    }

    let direct = RecordingStreams()

    func streams(
        _ proxy: String, exceptions: String = "", fallsBack: Bool, clock: ManualClock = ManualClock(),
        secure: @escaping ProxiedStreams.Securing = { channel, _ in channel.eventLoop.makeSucceededVoidFuture() }
    ) throws -> ProxiedStreams {
        var settings = try ProxySettings(configuration: proxy, isOnly: !fallsBack, source: "test", environment: [:])
        settings.exceptions = try ProxyExceptions(parsing: exceptions, source: "test")
        return ProxiedStreams(settings: settings, use: .streams, direct: direct, secure: secure, clock: clock)
    }

    func expectEcho(_ stream: Stream) async throws {
        try await stream.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: "over and out"))
            var received = ""
            for try await piece in inbound {
                received += String(buffer: piece)
                if received.hasSuffix("over and out") { break }
            }
            #expect(received == greeting + "over and out")
        }
    }

    @Test(arguments: proxies, ["127.0.0.1", targetName])
    func connectsThrough(proxy: Proxy, host: String) async throws {
        try await withServer(echo) { target in
            try await withServer(proxy.serve) { port in
                let streams = try streams("\(proxy.scheme)://\(proxy.user)127.0.0.1:\(port)", fallsBack: false)
                try await expectEcho(streams.connect(to: host, port: target, timeout: .seconds(600), install: stream))
                #expect(direct.hosts == ["127.0.0.1:\(port)"])
            }
        }
    }

    /// The target's first bytes are in the same piece as the proxy's answer.
    @Test(arguments: ["socks5", "http"])
    func losesNoByteBehindTheAnswer(scheme: String) async throws {
        let serve: Serving = { conversation in
            if scheme == "http" {
                _ = try await conversation.readHead()
                try await conversation.write("HTTP/1.1 200 OK\r\n\r\n\(greeting)".utf8)
            } else {
                _ = try await conversation.read(3)
                try await conversation.write([5, 0])
                _ = try await conversation.read(10)
                try await conversation.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0] + Array(greeting.utf8))
            }
            while let piece = try await conversation.inbound.next() { try await conversation.outbound.write(piece) }
        }
        try await withServer(serve) { port in
            let streams = try streams("\(scheme)://127.0.0.1:\(port)", fallsBack: false)
            try await expectEcho(streams.connect(to: "127.0.0.1", port: 1, timeout: .seconds(600), install: stream))
        }
    }

    @Test(
        arguments: [
            ("socks5", "joan:wrong@", socksProxy(credentials: ("joan", "hunter2")), LinkError.Code.permissionDenied),
            ("socks5", "", socksProxy(credentials: ("joan", "hunter2")), .permissionDenied),
            ("http", "joan:wrong@", connectProxy(authorization: "am9hbjpodW50ZXIy"), .permissionDenied),
            ("http", "", connectProxy(authorization: "am9hbjpodW50ZXIy"), .permissionDenied),
            ("http", "", says([5, 0xFF]), .failed),
            ("socks5", "", says(Array("HTTP/1.1 400 No\r\n\r\n".utf8)), .failed),
            ("socks5", "", closedBeforeAnswer, .failed), ("http", "", closedBeforeAnswer, .failed),
            ("socks5", "", says([5, 0, 5, 4]), .unreachable),
            ("http", "", says(Array("HTTP/1.1 503 Busy\r\n\r\n".utf8)), .unreachable),
        ] as [(String, String, Serving, LinkError.Code)])
    func saysWhyNot(scheme: String, user: String, serve: @escaping Serving, code: LinkError.Code) async throws {
        try await withServer(serve) { port in
            let streams = try streams("\(scheme)://\(user)127.0.0.1:\(port)", fallsBack: false)
            let error = await #expect(throws: LinkError.self) {
                try await streams.connect(to: "127.0.0.1", port: 1, timeout: .seconds(600), install: stream)
            }
            #expect(error?.code == code)
            #expect(error?.message.contains("\(scheme)://127.0.0.1:\(port)") == true)
            #expect(error.map { !String(reflecting: $0).contains("wrong") } == true)
        }
    }

    @Test(arguments: ["socks5", "http"])
    func saysThatNothingListensAtTheTarget(scheme: String) async throws {
        let closed = try closedPort()
        try await withServer(scheme == "http" ? connectProxy() : socksProxy()) { port in
            let streams = try streams("\(scheme)://127.0.0.1:\(port)", fallsBack: false)
            let error = await #expect(throws: LinkError.self) {
                try await streams.connect(to: "127.0.0.1", port: closed, timeout: .seconds(600), install: stream)
            }
            #expect(error?.code == (scheme == "http" ? .unreachable : .refused))
            #expect(error?.message.contains("127.0.0.1:\(closed)") == true)
        }
    }

    @Test func saysThatNoProxyListens() async throws {
        let closed = try closedPort()
        let streams = try streams("socks5://127.0.0.1:\(closed)", fallsBack: false)
        let error = await #expect(throws: LinkError.self) {
            try await streams.connect(to: targetName, port: 1, timeout: .seconds(600), install: stream)
        }
        #expect(error?.code == .refused)
        #expect(error?.message.contains("no proxy listens at socks5://127.0.0.1:\(closed)") == true)
        #expect(direct.hosts == ["127.0.0.1:\(closed)"])
    }

    @Test func securesTheConnectionToAnHTTPSProxy() async throws {
        struct BadCertificate: Error {}
        let hosts = Mutex<[String]>([])
        try await withServer(connectProxy()) { port in
            let streams = try streams("https://127.0.0.1:\(port)", fallsBack: false) { channel, host in
                hosts.withLock { $0.append(host) }
                return channel.eventLoop.makeFailedFuture(BadCertificate())
            }
            let error = await #expect(throws: LinkError.self) {
                try await streams.connect(to: "127.0.0.1", port: 1, timeout: .seconds(600), install: stream)
            }
            #expect(error?.cause?.contains("BadCertificate") == true)
            #expect(hosts.withLock { $0 } == ["127.0.0.1"])
        }
    }

    // MARK: fallback

    /// The clock stands still: it is the failure that begins the direct connection.
    @Test func connectsDirectlyOnceTheProxyHasFailed() async throws {
        let closed = try closedPort()
        try await withServer(echo) { target in
            let streams = try streams("socks5://127.0.0.1:\(closed)", fallsBack: true)
            try await expectEcho(
                streams.connect(to: "127.0.0.1", port: target, timeout: .seconds(600), install: stream))
            #expect(direct.hosts == ["127.0.0.1:\(closed)", "127.0.0.1:\(target)"])
        }
    }

    @Test func connectsDirectlyAfterAThirdOfTheTimeout() async throws {
        let clock = ManualClock()
        try await withServer(Self.silent) { port in
            try await withServer(echo) { target in
                let streams = try streams("socks5://127.0.0.1:\(port)", fallsBack: true, clock: clock)
                async let connected = streams.connect(
                    to: "127.0.0.1", port: target, timeout: .seconds(30), install: stream)
                await clock.advance(whenAsleep: 1)
                #expect(clock.now.offset == .seconds(10))
                try await expectEcho(connected)
                #expect(direct.hosts.last == "127.0.0.1:\(target)")
            }
        }
    }

    @Test func neverConnectsDirectlyWithoutFallback() async throws {
        let clock = ManualClock()
        try await withServer(echo) { target in
            for serve in [Self.closedBeforeAnswer, Self.says([5, 0xFF])] as [Serving] {
                try await withServer(serve) { port in
                    let streams = try streams("socks5://127.0.0.1:\(port)", fallsBack: false, clock: clock)
                    await #expect(throws: LinkError.self) {
                        try await streams.connect(
                            to: "127.0.0.1", port: target, timeout: .seconds(600), install: stream)
                    }
                    #expect(direct.hosts.last == "127.0.0.1:\(port)")
                }
            }
        }
        #expect(direct.hosts.count == 2)
    }

    @Test func saysWhyNeitherWayWorks() async throws {
        let (proxy, target) = (try closedPort(), try closedPort())
        let streams = try streams("socks5://127.0.0.1:\(proxy)", fallsBack: true)
        let error = await #expect(throws: LinkError.self) {
            try await streams.connect(to: "127.0.0.1", port: target, timeout: .seconds(600), install: stream)
        }
        #expect(error?.code == .refused)
        #expect(error?.message.contains("127.0.0.1:\(proxy)") == true)
        #expect(error?.message.contains("127.0.0.1:\(target)") == true)
    }

    /// Who answers is wrong through the proxy: the same bytes are not sent again directly.
    @Test(arguments: [true, false])
    func triesNoOtherWayWhenTheInstallerFails(fallsBack: Bool) async throws {
        let installed = Mutex(0)
        try await withServer(echo) { target in
            try await withServer(socksProxy()) { port in
                let streams = try streams("socks5://127.0.0.1:\(port)", fallsBack: fallsBack)
                let error = await #expect(throws: LinkError.self) {
                    try await streams.connect(to: "127.0.0.1", port: target, timeout: .seconds(600)) { channel in
                        installed.withLock { $0 += 1 }
                        return channel.eventLoop.makeFailedFuture(
                            LinkError(.refused, "another device", isTransient: false))
                            as EventLoopFuture<Void>
                    }
                }
                #expect(error == LinkError(.refused, "another device", isTransient: false))
                #expect(direct.hosts == ["127.0.0.1:\(port)"])
            }
        }
        #expect(installed.withLock { $0 } == 1)
    }

    @Test func reachesExceptionsDirectly() async throws {
        let closed = try closedPort()
        try await withServer(echo) { target in
            let streams = try streams("socks5://127.0.0.1:\(closed)", exceptions: "127.0.0.0/8", fallsBack: false)
            try await expectEcho(
                streams.connect(to: "127.0.0.1", port: target, timeout: .seconds(600), install: stream))
            #expect(direct.hosts == ["127.0.0.1:\(target)"])
        }
    }

    @Test(arguments: [true, false])
    func endsWhenCancelled(fallsBack: Bool) async throws {
        let isAsked = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let serve: Serving = { conversation in
            _ = try await conversation.read(3)
            isAsked.withLock { $0 }?.resume()
            try await conversation.wait()
        }
        try await withServer(serve) { port in
            let streams = try streams("socks5://127.0.0.1:\(port)", fallsBack: fallsBack)
            let dial = Mutex<Task<Stream, any Error>?>(nil)
            await withCheckedContinuation { continuation in
                isAsked.withLock { $0 = continuation }
                let task = Task {
                    try await streams.connect(to: "127.0.0.1", port: 1, timeout: .seconds(600), install: stream)
                }
                dial.withLock { $0 = task }
            }
            let task = try #require(dial.withLock { $0 })
            task.cancel()
            await #expect(throws: CancellationError.self) { _ = try await task.value }
        }
    }

    // MARK: links

    @Test func tellsTheTargetNotTheProxy() async throws {
        try await withServer(echo) { target in
            try await withServer(socksProxy()) { port in
                let links = ProxiedLinks(
                    base: TCPTransport(), streams: try streams("socks5://127.0.0.1:\(port)", fallsBack: false))
                let address = LinkAddress.tcp(host: targetName, port: target)
                #expect(links.serves(address))
                let seen = Mutex<LinkInformation?>(nil)
                let link = try await links.dial(address, timeout: .seconds(600)) { channel, information in
                    seen.withLock { $0 = information }
                    return stream(channel)
                }
                try await expectEcho(link)
                #expect(
                    seen.withLock { $0 }
                        == LinkInformation(kind: .tcp, remoteAddress: address.description, isInitiator: true))
            }
        }
    }

    /// The name may have led anywhere, which is to be checked.
    @Test func tellsWhereANameLedWithoutTheProxy() async throws {
        try await withServer(echo) { target in
            // Nothing listens at port 1.
            let links = ProxiedLinks(
                base: TCPTransport(), streams: try streams("socks5://127.0.0.1:1", fallsBack: true))
            let seen = Mutex<LinkInformation?>(nil)
            let link = try await links.dial(.tcp(host: "localhost", port: target), timeout: .seconds(600)) {
                channel, information in
                seen.withLock { $0 = information }
                return stream(channel)
            }
            try await expectEcho(link)
            #expect(seen.withLock { $0 }?.remoteAddress == "tcp://127.0.0.1:\(target)")
        }
    }
}
