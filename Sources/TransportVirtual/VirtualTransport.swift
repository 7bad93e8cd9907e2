import Glibc
import NIOCore
import NIOPosix
import Transport

/// Links over a `VirtualAir`: a radio for machines without one.
///
/// A link is of the kind that it plays, L2CAP or GATT. It is slow by nature, so little is buffered on the way: its
/// channel is writable while less than `outboundHighWatermark` bytes wait, and the socket to the air takes about
/// `socketByteCount` more. Bytes that were written when the link was lost may not have arrived. Closing one direction
/// closes the link, behind what was written.
public struct VirtualTransport: LinkTransport {
    static let socketByteCount = 8 * 1024
    static let outboundHighWatermark = 16 * 1024
    private static let readByteCount = 16 * 1024

    private let path: String
    private let name: String?
    private let modes: [VirtualConnection.Mode]
    private let group: any EventLoopGroup
    private let setUpLimit: Int

    /// - Parameters:
    ///   - path: the air's socket.
    ///   - name: what this device is called when it dials; nil for a name of the air's choice.
    ///   - modes: what it speaks, best first.
    ///   - setUpLimit: how many accepted links of one listener may be set up or wait to be taken at the same time.
    public init(
        air path: String, name: String? = nil, modes: [VirtualConnection.Mode] = [.l2cap, .gatt],
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, setUpLimit: Int = 16
    ) {
        self.path = path
        self.name = name
        self.modes = modes
        self.group = group
        self.setUpLimit = setUpLimit
    }

    public func serves(_ address: LinkAddress) -> Bool {
        if case .virtual = address { true } else { false }
    }

    /// Connects to a device on the air, waiting for it to advertise and come into range until the timeout.
    public func dial<Output: Sendable>(
        _ address: LinkAddress, timeout: Duration, install: @escaping LinkInstaller<Output>
    ) async throws -> Output {
        guard case .virtual(let target) = address else { throw Self.unsupported(address) }
        try Task.checkCancellation()
        let attempt = LinkAttempt<Output>()
        let eventLoop = group.next()
        let promise = eventLoop.makePromise(of: Output.self)
        let isOver = eventLoop.scheduleTask(in: TimeAmount(timeout)) {
            promise.fail(
                LinkError(
                    .timedOut, "no answer from \(address); check that the device is on, near-by and on the same air",
                    isTransient: true))
        }
        let request = AirRequest.dial(target: target, source: name, modes: modes)
        connect(
            request, address: address, isInitiator: true, install: { channel, information in
                // The installer has limits of its own.
                isOver.cancel()
                return install(channel, information)
            }, promise: promise, on: eventLoop
        ) { attempt.opened($0) }
        defer { isOver.cancel() }
        return try await attempt.output(of: promise.futureResult)
    }

    public func listen<Output: Sendable>(
        on address: LinkAddress, install: @escaping LinkInstaller<Output>
    ) async throws -> LinkListener<Output> {
        guard case .virtual(let name) = address else { throw Self.unsupported(address) }
        let advertiser = VirtualAdvertiser(
            transport: self, name: name, modes: modes, limit: setUpLimit, eventLoop: group.next(), install: install)
        try await advertiser.start()
        return LinkListener(address: address, accepted: advertiser.accepted) { await advertiser.stop() }
    }

    /// The devices that advertise on the air and are in range of this one, strongest first.
    public func nearby() async throws -> [NearbyDevice] {
        let promise = group.next().makePromise(of: [NearbyDevice].self)
        let connecting = bootstrap(on: promise.futureResult.eventLoop)
            .channelInitializer { [name] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NearbyHandler(name: name, promise: promise))
                }
            }
            .connect(unixDomainSocketPath: path)
        connecting.whenFailure { promise.fail(noAir($0)) }
        return try await promise.futureResult.get()
    }

    /// Makes a connection to the air that becomes a link; the promise gets what the installer makes of it.
    func connect<Output: Sendable>(
        _ request: AirRequest, address: LinkAddress, isInitiator: Bool, install: @escaping LinkInstaller<Output>,
        promise: EventLoopPromise<Output>, on eventLoop: any EventLoop,
        opened: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) {
        bootstrap(on: eventLoop)
            .channelInitializer { channel in
                opened(channel).flatMapThrowing {
                    try channel.pipeline.syncOperations.addHandler(
                        LinkRequestHandler(
                            request, address: address, isInitiator: isInitiator, install: install, promise: promise))
                }
            }
            .connect(unixDomainSocketPath: path)
            .whenFailure { error in promise.fail(error is CancellationError ? error : noAir(error)) }
    }

    func bootstrap(on eventLoop: any EventLoop) -> ClientBootstrap {
        ClientBootstrap(group: eventLoop)
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.socketOption(.so_sndbuf), value: Self.socketByteCount)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readByteCount))
            .channelOption(
                .writeBufferWaterMark,
                value: .init(low: Self.outboundHighWatermark / 2, high: Self.outboundHighWatermark))
    }

    var airPath: String { path }

    func noAir(_ error: any Error) -> LinkError {
        LinkError(
            .unreachable, "there is no virtual air at \(path); start it there, or correct the path", isTransient: true,
            cause: String(describing: error))
    }

    private static func unsupported(_ address: LinkAddress) -> LinkError {
        LinkError(
            .unsupportedAddress, "\(address) is no address on the virtual radio; write virtual://NAME",
            isTransient: false)
    }
}

/// Asks once who is there.
private final class NearbyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// No air has that many devices: whoever sends more is none.
    private static let limit = 10_000

    private let name: String?
    private let promise: EventLoopPromise<[NearbyDevice]>
    private var reader = LineReader(limit: AirRequest.lineLimit)
    private var devices: [NearbyDevice] = []

    init(name: String?, promise: EventLoopPromise<[NearbyDevice]>) {
        self.name = name
        self.promise = promise
    }

    func channelActive(context: ChannelHandlerContext) {
        let line = AirRequest.nearby(name: name).line + "\n"
        context.writeAndFlush(NIOAny(ByteBuffer(string: line)), promise: nil)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reader.append(unwrapInboundIn(data))
        while let line = reader.next() {
            switch AirAnswer(line: line) {
            case .device(let device) where devices.count < Self.limit: devices.append(device)
            case .done:
                promise.succeed(devices)
                return context.close(promise: nil)
            default: return context.close(promise: nil)
            }
        }
        if reader.isTooLong { context.close(promise: nil) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { context.read() }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(LinkError(.failed, "the virtual air gave no answer", isTransient: true))
    }
}
