import Glibc
import NIOCore
import NIOPosix
import Transport

/// Where announcements are listened for and sent to.
package struct DiscoveryNetwork: Sendable {
    /// One socket.
    struct Endpoint: Sendable {
        var name: String
        var bind: SocketAddress
        var group: SocketAddress?
        /// Where to send at this moment, as interfaces come and go.
        var destinations: @Sendable () throws -> [SocketAddress]
    }

    let endpoints: [Endpoint]

    /// Syncthing's port.
    package static let defaultPort = 21027

    /// The local network: IPv4 broadcast and IPv6 multicast on every interface there is at the time of sending.
    ///
    /// - Throws: nothing: its addresses are literals.
    package static func local(port: Int = defaultPort) throws -> DiscoveryNetwork {
        let group = try SocketAddress(ipAddress: "ff12::8384", port: port)
        return DiscoveryNetwork(endpoints: [
            Endpoint(
                name: "IPv4", bind: try SocketAddress(ipAddress: "0.0.0.0", port: port), group: nil,
                destinations: { try broadcastAddresses(port: port) }),
            Endpoint(
                name: "IPv6", bind: try SocketAddress(ipAddress: "::", port: port), group: group,
                destinations: {
                    try multicastInterfaces().compactMap { inScope(group, interface: $0.interfaceIndex) }
                }),
        ])
    }

    /// A single socket that sends to fixed addresses: for networks without broadcast, and for tests.
    package static func unicast(
        bind: SocketAddress, destinations: @escaping @Sendable () -> [SocketAddress]
    ) -> DiscoveryNetwork {
        DiscoveryNetwork(endpoints: [
            Endpoint(name: "unicast", bind: bind, group: nil, destinations: destinations)
        ])
    }

    /// Each interface's broadcast address, or the general one when none has any.
    private static func broadcastAddresses(port: Int) throws -> [SocketAddress] {
        var addresses: [SocketAddress] = []
        for device in try System.enumerateDevices() {
            guard var address = device.broadcastAddress, case .v4 = address else { continue }
            address.port = port
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses.isEmpty ? [try SocketAddress(ipAddress: "255.255.255.255", port: port)] : addresses
    }

    /// One device for each interface with an IPv6 address, without the loopback.
    static func multicastInterfaces() throws -> [NIONetworkDevice] {
        var devices: [Int: NIONetworkDevice] = [:]
        for device in try System.enumerateDevices() where device.multicastSupported {
            guard let address = device.address, case .v6 = address, IPAddress(address)?.isLoopback == false else {
                continue
            }
            devices[device.interfaceIndex] = device
        }
        return devices.values.sorted { $0.interfaceIndex < $1.interfaceIndex }
    }

    /// The group's address on one interface: for a link-local group the scope chooses the interface.
    private static func inScope(_ group: SocketAddress, interface: Int) -> SocketAddress? {
        guard case .v6(let address) = group, let scope = UInt32(exactly: interface) else { return nil }
        var raw = address.address
        raw.sin6_scope_id = scope
        return SocketAddress(raw)
    }

    /// Opens an endpoint's socket such that Syncthing may have its own on the same port.
    static func open(
        _ endpoint: Endpoint, on group: any EventLoopGroup,
        receive: @escaping @Sendable (AddressedEnvelope<ByteBuffer>) -> Void
    ) async throws -> any Channel {
        var bootstrap = DatagramBootstrap(group: group)
            .channelOption(.socketOption(.so_reuseaddr), value: 1)
            .channelOption(.socketOption(NIOBSDSocket.Option(rawValue: SO_REUSEPORT)), value: 1)
            // One byte more than is read, so that a datagram that was cut off is told from one that fits.
            .channelOption(
                .recvAllocator,
                value: FixedSizeRecvByteBufferAllocator(capacity: DiscoveryAnnouncement.maximumByteCount + 1)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DatagramReceiver(receive: receive))
                }
            }
        switch endpoint.bind {
        case .v4: bootstrap = bootstrap.channelOption(.socketOption(.so_broadcast), value: 1)
        case .v6:
            // IPv4 has a socket of its own; without this each IPv4 datagram would come twice.
            bootstrap = bootstrap.channelOption(
                ChannelOptions.Types.SocketOption(level: .ipv6, name: .ipv6_v6only), value: 1)
        case .unixDomainSocket: break
        }
        return try await bootstrap.bind(to: endpoint.bind).get()
    }
}

private final class DatagramReceiver: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let receive: @Sendable (AddressedEnvelope<ByteBuffer>) -> Void

    init(receive: @escaping @Sendable (AddressedEnvelope<ByteBuffer>) -> Void) { self.receive = receive }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { receive(unwrapInboundIn(data)) }

    /// A datagram that could not be sent or received is no reason to stop: the next may pass.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
