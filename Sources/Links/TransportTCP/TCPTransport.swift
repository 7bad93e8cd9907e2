import Glibc
import NIOCore
import NIOPosix
import Transport

/// Links over TCP.
///
/// A link's channel has TCP_NODELAY and keep-alive on, reads at most `readByteCount` at a time and is writable while
/// less than `outboundHighWatermark` bytes wait to be sent.
package struct TCPTransport: LinkTransport {
    /// Largest piece that one read gives. The buffer starts small and grows with what arrives.
    static let readByteCount = 256 * 1024
    static let outboundHighWatermark = 512 * 1024

    private static let receiveAllocator = AdaptiveRecvByteBufferAllocator(
        minimum: 2048, initial: 16 * 1024, maximum: readByteCount)
    private static let writeBufferWaterMark = ChannelOptions.Types.WriteBufferWaterMark(
        low: outboundHighWatermark / 2, high: outboundHighWatermark)

    private let group: any EventLoopGroup
    private let setUpLimit: Int
    private let setUpLimitPerAddress: Int?
    private let sharedPort: SharedPort

    /// - Parameters:
    ///   - group: the event loops that carry the links; the caller shuts them down.
    ///   - setUpLimit: how many accepted links of one listener may be set up or wait to be taken at the same time.
    ///   - setUpLimitPerAddress: how many of them one address may have; see `AcceptedLinks`.
    ///   - sharedPort: is told the port that is listened on, and used where dialling from it is of use.
    package init(
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, setUpLimit: Int = 64,
        setUpLimitPerAddress: Int? = nil, sharedPort: SharedPort = SharedPort()
    ) {
        self.setUpLimitPerAddress = setUpLimitPerAddress
        self.sharedPort = sharedPort
        self.group = group
        self.setUpLimit = setUpLimit
    }

    package func serves(_ address: LinkAddress) -> Bool {
        if case .tcp = address { true } else { false }
    }

    /// Connects to a host and port; to a public IP address from the port that this device listens on, too.
    ///
    /// - Throws: `LinkError`, or what `install` failed with; nothing is left open then. `CancellationError`.
    package func dial<Output: Sendable>(
        _ address: LinkAddress, timeout: Duration, install: @escaping LinkInstaller<Output>
    ) async throws -> Output {
        guard case .tcp(let host, let port) = address else { throw Self.unsupported(address) }
        guard address.isDialable else {
            throw LinkError(
                .invalidAddress,
                "\(address) is not the address of one device; dial a host and a port, as "
                    + "tcp://HOST:22000",
                isTransient: false)
        }
        try Task.checkCancellation()
        let attempt = LinkAttempt<Output>()
        let loop = group.next()
        let bootstrap = { @Sendable in
            ClientBootstrap(group: loop)
                .channelOption(.autoRead, value: false)
                .channelOption(.socketOption(.so_keepalive), value: 1)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .channelOption(.recvAllocator, value: Self.receiveAllocator)
                .channelOption(.maxMessagesPerRead, value: 1)
                .channelOption(.writeBufferWaterMark, value: Self.writeBufferWaterMark)
                .connectTimeout(TimeAmount(timeout))
                .channelInitializer { attempt.opened($0) }
        }
        let connecting: EventLoopFuture<any Channel>
        if let literal = try? SocketAddress(ipAddress: host, port: Int(port)),
            let origin = sharedPort.origin(for: literal)
        {
            connecting = SharedPort.connect(literal, from: origin, on: loop, bootstrap)
        } else {
            connecting = bootstrap().connect(toNameOrNumber: host, port: port)
        }
        let output = connecting.flatMapErrorThrowing { error in
            throw LinkError(dialing: address, error)
        }.flatMap { channel in
            Self.information(of: channel, isInitiator: true).start(on: channel, install: install)
        }
        return try await attempt.output(of: output)
    }

    /// Listens at a port of all interfaces, or of the one with an IP address.
    ///
    /// - Throws: `LinkError` (`unsupportedAddress`; `invalidAddress` for a name; `addressInUse`, `addressUnavailable`,
    ///   `permissionDenied` or `failed` as the system says).
    package func listen<Output: Sendable>(
        on address: LinkAddress, install: @escaping LinkInstaller<Output>
    ) async throws -> LinkListener<Output> {
        guard case .tcp(let host, let port) = address else { throw Self.unsupported(address) }
        let accepted = AcceptedLinks<Output>(limit: setUpLimit, limitPerAddress: setUpLimitPerAddress)
        let bootstrap = ServerBootstrap(group: group)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.recvAllocator, value: Self.receiveAllocator)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.writeBufferWaterMark, value: Self.writeBufferWaterMark)
            .serverChannelOption(.backlog, value: 128)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // One at a time, so that the gate below sees each before the next is accepted.
            .serverChannelOption(.maxMessagesPerRead, value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // Out of descriptors, accepting pauses instead of spinning.
                    try channel.pipeline.syncOperations.addHandlers([
                        AcceptBackoffHandler(shouldForwardIOErrorCaught: false), AcceptGate(accepted: accepted),
                    ])
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        LinkStart { channel in
                            let information = Self.information(of: channel, isInitiator: false)
                            accepted.settle(channel, information.start(on: channel, install: install))
                        })
                }
            }
        do {
            let server = try await Self.bind(bootstrap, host: host, port: Int(port), address: address)
            if address.isUnspecified { await sharedPort.share(server) }
            return LinkListener(
                address: server.localAddress.flatMap { Self.boundAddress($0, asked: host) } ?? address,
                accepted: accepted
            ) {
                server.close(promise: nil)
                try? await server.closeFuture.get()
            }
        } catch {
            accepted.close()
            throw LinkError(listeningOn: address, error)
        }
    }

    private static func bind(
        _ bootstrap: ServerBootstrap, host: String, port: Int, address: LinkAddress
    ) async throws -> any Channel {
        switch host {
        case "":
            do {
                return try await bootstrap.bind(to: SocketAddress(ipAddress: "::", port: port)).get()
            } catch let error as IOError where error.errnoCode == EAFNOSUPPORT || error.errnoCode == EADDRNOTAVAIL {
                // A kernel without IPv6.
                return try await bootstrap.bind(to: SocketAddress(ipAddress: "0.0.0.0", port: port)).get()
            }
        case "localhost":
            return try await bootstrap.bind(to: SocketAddress(ipAddress: "127.0.0.1", port: port)).get()
        default:
            // A number only: a name may change its meaning under a listener, and looking it up blocks.
            guard let ip = IPAddress(host) else {
                throw LinkError(
                    .invalidAddress,
                    "cannot listen on \(address): use an IP address of this machine, or tcp://:\(port) for all of them",
                    isTransient: false)
            }
            let literal =
                if ip.zone == nil {
                    try SocketAddress(ipAddress: ip.description, port: port)
                } else {
                    // The C library turns the interface's name into its index; a number asks no name server.
                    try SocketAddress.makeAddressResolvingHost(ip.description, port: port)
                }
            return try await bootstrap.bind(to: literal).get()
        }
    }

    /// An address of all interfaces stays one without a host, as `::` would read as IPv6 only.
    private static func boundAddress(_ bound: SocketAddress, asked host: String) -> LinkAddress? {
        guard let address = LinkAddress(bound), case .tcp(_, let port) = address else { return nil }
        return host.isEmpty ? .tcp(host: "", port: port) : address
    }

    private static func information(of channel: any Channel, isInitiator: Bool) -> LinkInformation {
        LinkInformation(
            kind: .tcp,
            remoteAddress: channel.remoteAddress.flatMap { LinkAddress($0) }?.description ?? "tcp",
            isInitiator: isInitiator)
    }

    private static func unsupported(_ address: LinkAddress) -> LinkError {
        LinkError(.unsupportedAddress, "\(address) is not a TCP address; use tcp://HOST:PORT", isTransient: false)
    }
}
