import NIOCore
import NIOPosix
import Transport

/// Opens TCP streams without a proxy.
///
/// A name is resolved outside the event loops; its IPv6 and IPv4 addresses are tried with staggered starts (RFC 8305) and
/// the first that connects is taken. The channels have TCP_NODELAY and keep-alive on.
package struct DirectStreams: StreamDialing {
    private let group: any EventLoopGroup
    private let localAddress: IPAddress?
    private let sharedPort: SharedPort?

    /// - Parameters:
    ///   - group: the event loops that carry the streams; the caller shuts them down.
    ///   - localAddress: the address of this machine to connect from; nil leaves the choice to the routing table.
    ///     Destinations of the other family are unreachable then.
    ///   - sharedPort: the port that this device listens on, to connect from where that can be; a third of the time is for that.
    package init(
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, localAddress: IPAddress? = nil,
        sharedPort: SharedPort? = nil
    ) {
        self.sharedPort = sharedPort
        self.group = group
        self.localAddress = localAddress
    }

    /// Connects to `host` as `StreamDialing` says, from the shared port or the chosen address.
    ///
    /// - Throws: `LinkError`, or what `install` failed with; nothing is left open then. `CancellationError`.
    package func connect<Output: Sendable>(
        to host: String, port: UInt16, timeout: Duration,
        install: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> Output {
        let address = LinkAddress.tcp(host: host, port: port)
        guard address.isDialable else {
            throw LinkError(
                .invalidAddress,
                "“\(host)”, port \(port) is not a destination; enter a host and a port from 1 to 65535",
                isTransient: false)
        }
        try Task.checkCancellation()
        let attempt = LinkAttempt<Output>()
        let loop = group.next()
        let bootstrap = { @Sendable (timeout: Duration) in
            ClientBootstrap(group: loop)
                .channelOption(.autoRead, value: false)
                .channelOption(.socketOption(.so_keepalive), value: 1)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connectTimeout(TimeAmount(timeout))
                .channelInitializer { attempt.opened($0) }
        }
        let connect = { @Sendable (bootstrap: ClientBootstrap) in
            bootstrap.connect(toNameOrNumber: host, port: port)
        }
        let connecting: EventLoopFuture<any Channel>
        if let localAddress {
            do {
                // The C library turns the interface's name into its index; a number asks no name server.
                let origin = try SocketAddress.makeAddressResolvingHost(localAddress.description, port: 0)
                connecting = connect(bootstrap(timeout).bind(to: origin))
            } catch {
                throw LinkError(
                    .addressUnavailable,
                    "cannot connect from \(localAddress): no interface of this machine has that address",
                    isTransient: true, cause: String(describing: error))
            }
        } else if let origin = sharedPort?.origin(forHost: host) {
            // A connection to the same place that has just ended still holds the port.
            connecting = connect(bootstrap(timeout / 3).bind(sharing: origin))
                .flatMapError { _ in connect(bootstrap(timeout)) }
        } else {
            connecting = connect(bootstrap(timeout))
        }
        let output = connecting.flatMapErrorThrowing { error in
            throw LinkError(dialing: address, error)
        }.flatMap { channel in
            Self.start(channel, at: address, install: install)
        }
        return try await attempt.output(of: output)
    }

    /// Runs `install` on a connected channel, which reads from then on; to be called on its event loop.
    private static func start<Output: Sendable>(
        _ channel: any Channel, at address: LinkAddress, install: (any Channel) -> EventLoopFuture<Output>
    ) -> EventLoopFuture<Output> {
        // What is added to a channel that has closed meanwhile would never hear of the end.
        guard channel.isActive else {
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(
                LinkError(.failed, "\(address) closed the connection at once; try again later", isTransient: true))
        }
        let output = install(channel)
        output.whenFailure { _ in channel.close(promise: nil) }
        // Fails only on a channel that has closed meanwhile, which the installer's handlers have seen.
        _ = channel.setOption(.autoRead, value: true)
        return output
    }
}
