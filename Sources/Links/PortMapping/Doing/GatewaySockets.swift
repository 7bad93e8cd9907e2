import Glibc
import NIOCore
import NIOPosix
import Transport

/// The UDP sockets that one router is spoken with.
struct GatewaySockets: Sendable {
    /// Connected to the router's port 5351 from the gateway's local address, so that the system passes on nothing from others,
    /// and tells when nobody listens there.
    private let control: any Channel
    private let router: SocketAddress
    /// Sends to SSDP's group on the gateway's interface; nil for IPv6.
    private let search: (any Channel)?

    /// Opens both.
    /// - Parameter deliver: takes what arrives; called on the sockets' loop.
    /// - Throws: `exchangeFailed` if the system refuses, for example as the address has just gone.
    static func open(
        for gateway: Gateway, on group: any EventLoopGroup,
        deliver: @escaping @Sendable (MappingMachine.Event) -> Void
    ) async throws(PortMappingError) -> GatewaySockets {
        do {
            let loop = group.next()
            // Takes a zone; a number asks no name server.
            let remote = try SocketAddress.makeAddressResolvingHost(
                gateway.address.description, port: Int(NATPMP.serverPort))
            let descriptor = try connectedSocket(to: remote, from: gateway.local.address)
            let control = try await DatagramBootstrap(group: loop)
                .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 2048))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            DatagramReceiver(
                                received: { bytes, sender, port in
                                    deliver(.datagram(bytes, from: sender, port: port))
                                }, refused: { deliver(.refused) }))
                    }
                }
                .withBoundSocket(descriptor).get()
            guard gateway.address.isIPv4 else {
                return GatewaySockets(control: control, router: remote, search: nil)
            }
            do {
                let search = try await search(gateway, on: loop, deliver: deliver)
                return GatewaySockets(control: control, router: remote, search: search)
            } catch {
                control.close(promise: nil)
                throw error
            }
        } catch {
            throw PortMappingError(.exchangeFailed, "it cannot be asked from \(gateway.local.address): \(error)")
        }
    }

    /// Sends to the router's port 5351.
    func sendToRouter(_ bytes: [UInt8]) {
        control.writeAndFlush(
            AddressedEnvelope(remoteAddress: router, data: ByteBuffer(bytes: bytes)), promise: nil)
    }

    /// Sends to SSDP's group.
    func sendToGroup(_ bytes: [UInt8]) {
        guard let search, let group = try? SocketAddress(ipAddress: SSDP.group, port: Int(SSDP.port)) else { return }
        search.writeAndFlush(AddressedEnvelope(remoteAddress: group, data: ByteBuffer(bytes: bytes)), promise: nil)
    }

    func close() {
        control.close(promise: nil)
        search?.close(promise: nil)
    }

    private static func search(
        _ gateway: Gateway, on loop: any EventLoop, deliver: @escaping @Sendable (MappingMachine.Event) -> Void
    ) async throws -> any Channel {
        let channel = try await DatagramBootstrap(group: loop)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: SSDP.maximumByteCount + 1))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        DatagramReceiver(
                            received: { bytes, sender, _ in deliver(.found(bytes, from: sender)) }, refused: {}))
                }
            }
            .bind(to: SocketAddress(ipAddress: gateway.local.address.description, port: 0)).get()
        if let options = channel as? any SocketOptionProvider {
            let number = gateway.local.address.bytes.withUnsafeBytes { $0.loadUnaligned(as: in_addr_t.self) }
            try await options.setIPMulticastIF(in_addr(s_addr: number)).get()
            try await options.setIPMulticastTTL(2).get()
        }
        return channel
    }

    /// NIO binds or connects; the source address has to be chosen as well, as PCP compares it and IPv6 hosts have several.
    private static func connectedSocket(to remote: SocketAddress, from address: IPAddress) throws -> CInt {
        let local = try SocketAddress(ipAddress: address.description, port: 0)
        let descriptor = socket(
            address.isIPv4 ? AF_INET : AF_INET6,
            CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        let bound = local.withSockAddr { bind(descriptor, $0, socklen_t($1)) }
        let connected = bound == 0 ? remote.withSockAddr { connect(descriptor, $0, socklen_t($1)) } : -1
        guard connected == 0 else {
            let error = IOError(errnoCode: errno, reason: bound == 0 ? "connect" : "bind")
            Glibc.close(descriptor)
            throw error
        }
        return descriptor
    }
}

/// Hears routers announce, to all hosts, that they restarted or have another address: at 224.0.0.1 and, with PCP, ff02::1 (RFC 6886
/// section 3.2.1, RFC 6887 section 14.1). Every host is a member of both groups.
enum AnnouncementSockets {
    /// Opens one socket for each family.
    ///
    /// - Parameter deliver: takes what arrives; called on the sockets' loops.
    /// - Returns: those that could be opened. One is missing where there is no such family, or another program has the port for itself:
    ///   changes are then noticed at the next renewal.
    static func open(
        port: UInt16 = NATPMP.announcementPort, on group: any EventLoopGroup,
        deliver: @escaping @Sendable (MappingMachine.Event) -> Void
    ) async -> [any Channel] {
        var channels: [any Channel] = []
        for host in ["0.0.0.0", "::"] {
            guard let address = try? SocketAddress(ipAddress: host, port: Int(port)) else { continue }
            var bootstrap = DatagramBootstrap(group: group.next())
                .channelOption(.socketOption(.so_reuseaddr), value: 1)
                .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 2048))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            DatagramReceiver(
                                received: { bytes, sender, port in
                                    deliver(.announcement(bytes, from: sender, port: port))
                                }, refused: {}))
                    }
                }
            if case .v6 = address {
                // IPv4 has a socket of its own.
                bootstrap = bootstrap.channelOption(
                    ChannelOptions.Types.SocketOption(level: .ipv6, name: .ipv6_v6only), value: 1)
            }
            if let channel = try? await bootstrap.bind(to: address).get() { channels.append(channel) }
        }
        return channels
    }
}

/// Passes datagrams on. Errors of single datagrams do not end a socket.
private final class DatagramReceiver: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let received: @Sendable ([UInt8], IPAddress, UInt16) -> Void
    private let refused: @Sendable () -> Void

    init(received: @escaping @Sendable ([UInt8], IPAddress, UInt16) -> Void, refused: @escaping @Sendable () -> Void) {
        self.received = received
        self.refused = refused
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        guard let sender = IPAddress(envelope.remoteAddress),
            let port = envelope.remoteAddress.port.flatMap({ UInt16(exactly: $0) })
        else { return }
        received(Array(envelope.data.readableBytesView), sender, port)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if (error as? IOError)?.errnoCode == ECONNREFUSED { refused() }
    }
}
