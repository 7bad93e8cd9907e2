import NIOCore
import NIOPosix
import SyncTestKit
import Synchronization
import Testing
import Transport

@testable import PortMapping

/// The whole thing over real sockets, with a router on a loopback address.
@Suite(.timeLimit(.minutes(1))) struct PortMapperTests {
    /// Answers datagrams as `FakeRouter` does, from 127.77.0.1:5351.
    private final class LoopbackRouter: ChannelInboundHandler, Sendable {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>
        typealias OutboundOut = AddressedEnvelope<ByteBuffer>

        let router = Mutex(FakeRouter())

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let envelope = unwrapInboundIn(data)
            let answers = router.withLock { $0.answer(.toGateway(Array(envelope.data.readableBytesView)), at: .zero) }
            for case .datagram(let bytes, _, _) in answers {
                let answer = AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: ByteBuffer(bytes: bytes))
                context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
            }
        }
    }

    @Test func mapsWithdrawsAndDeletes() async throws {
        let server = LoopbackRouter()
        let socket = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { $0.pipeline.addHandler(server) }
            .bind(host: "127.77.0.1", port: 5351).get()
        let route = RouteTable.DefaultRoute(gateway: address("127.77.0.1"), interface: "lo", metric: 0)
        let interface = NetworkView.Interface(
            name: "lo", addresses: [LocalAddress(address("127.77.0.2"), prefixLength: 24)])
        let view = Mutex(NetworkView(interfaces: [interface], defaultRoutes: [route]))
        let mapper = PortMapper(
            identity: MappingIdentity(secret: [9]), http: { _ in throw CancellationError() }, clock: ManualClock(),
            networks: { view.withLock { $0 } })
        await mapper.listen(on: [ListenedPort(.tcp, 22000)])
        async let running: Void = mapper.run()
        var changes = mapper.addresses.makeAsyncIterator()

        let first = try #require(await changes.next())
        let expected = try #require(server.router.withLock { $0.mappings.first?.key })
        #expect(first.map(\.linkAddress?.description) == ["tcp://11.7.0.10:\(expected)"])
        #expect(await mapper.reports.count == 1)

        // The network goes, with it the address; and comes back.
        view.withLock { $0.defaultRoutes = [] }
        await mapper.networkChanged()
        #expect(await changes.next() == [])
        #expect(
            await mapper.summaries == ["No router to ask for a port: this machine has no default route through one."])
        view.withLock { $0.defaultRoutes = [route] }
        server.router.withLock { $0.external = address("11.7.0.44") }
        await mapper.networkChanged()
        #expect(await changes.next()?.map(\.externalAddress) == [address("11.7.0.44")])

        // A port that is not listened on any longer is not mapped any longer.
        await mapper.listen(on: [])
        #expect(await changes.next() == [])
        await mapper.listen(on: [ListenedPort(.tcp, 22001)])
        #expect(await changes.next()?.map(\.port.number) == [22001])
        #expect(server.router.withLock { Array($0.mappings.values) } == [22001])

        mapper.stop()
        await running
        #expect(server.router.withLock { $0.mappings } == [:])
        try await socket.close()
    }

    /// Below those that Linux gives to whoever names none: a test beside this one cannot get it in between.
    private static func freePort() async throws -> UInt16 {
        for port in (20_000..<32_000).shuffled() {
            guard
                let free = try? await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .bind(host: "0.0.0.0", port: port).get()
            else { continue }
            try await free.close()
            return UInt16(port)
        }
        throw CancellationError()
    }

    /// A router announces its restart to all hosts of a link: at 224.0.0.1 by IPv4, at ff02::1 by IPv6.
    @Test(arguments: ["127.0.0.1", "::1"]) func announcementsOfBothFamiliesAreHeard(host: String) async throws {
        let port = try await Self.freePort()
        let (heard, hear) = AsyncStream<MappingMachine.Event>.makeStream()
        let sockets = await AnnouncementSockets.open(port: port, on: MultiThreadedEventLoopGroup.singleton) {
            hear.yield($0)
        }
        let router = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: host, port: 0).get()
        let from = try #require(router.localAddress?.port.flatMap { UInt16(exactly: $0) })
        let target = try SocketAddress(ipAddress: host, port: Int(port))
        try await router.writeAndFlush(
            AddressedEnvelope(remoteAddress: target, data: ByteBuffer(bytes: [2, 0x80, 0, 0])))
        var events = heard.makeAsyncIterator()
        #expect(await events.next() == .announcement([2, 0x80, 0, 0], from: address(host), port: from))
        for socket in sockets + [router] { try await socket.close() }
    }
}
