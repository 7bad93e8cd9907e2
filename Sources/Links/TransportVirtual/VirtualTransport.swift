import GhostDrop
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
package struct VirtualTransport: LegacyTransport, RadioTransport {
    static let socketByteCount = 8 * 1024
    static let outboundHighWatermark = 16 * 1024
    private static let readByteCount = 16 * 1024
    /// The most that a device which was heard a moment ago is waited for.
    private static let connectingLimit = Duration.seconds(10)
    /// How often a search asks who is in range.
    private static let searchPause = Duration.milliseconds(250)

    private let path: String
    private let name: String?
    private let modes: [VirtualConnection.Mode]
    private let group: any EventLoopGroup
    private let setUpLimit: Int
    package let legacyDoor = LegacyDoor()

    /// - Parameters:
    ///   - path: the air's socket.
    ///   - name: what this device is called when it dials; nil for a name of the air's choice.
    ///   - modes: what it speaks, best first.
    ///   - setUpLimit: how many accepted links of one listener may be set up or wait to be taken at the same time.
    package init(
        air path: String, name: String? = nil, modes: [VirtualConnection.Mode] = [.l2cap, .gatt, .values],
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, setUpLimit: Int = 16
    ) {
        self.path = path
        self.name = name
        self.modes = modes
        self.group = group
        self.setUpLimit = setUpLimit
    }

    package func serves(_ address: LinkAddress) -> Bool {
        if case .virtual = address { true } else { false }
    }

    /// Connects to a device on the air, waiting for it to advertise and come into range until the timeout.
    ///
    /// - Throws: `LinkError` (`unreachable` if the connection to the air breaks before there is a link), or what `install`
    ///   failed with; nothing is left open then. `CancellationError`.
    package func dial<Output: Sendable>(
        _ address: LinkAddress, timeout: Duration, install: @escaping LinkInstaller<Output>
    ) async throws -> Output {
        let streams = modes.filter { $0 != .values }
        return try await dial(address, modes: streams, timeout: timeout) { channel, link in
            link.information.start(on: channel, install: install)
        }
    }

    /// Connects as `dial` does; without a search it waits a shorter time.
    ///
    /// - Throws: as the other `dial`.
    package func dial<Output: Sendable>(
        _ address: LinkAddress, _ effort: RadioEffort, timeout: Duration, install: @escaping LinkInstaller<Output>
    ) async throws -> Output {
        let limit = effort == .searching ? timeout : min(timeout, Self.connectingLimit)
        return try await dial(address, timeout: limit, install: install)
    }

    /// Asks the air for the devices until one of them is in range.
    ///
    /// - Throws: `LinkError` without an air; `CancellationError`.
    package func search(for addresses: Set<LinkAddress>, within limit: Duration) async throws -> Set<LinkAddress> {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            let heard = addresses.intersection(try await nearby().map { .virtual($0.name) })
            guard heard.isEmpty else { return heard }
            try await Task.sleep(for: Self.searchPause)
        }
        return []
    }

    /// Reads the device's capabilities, and connects by L2CAP if it offers that, else by single GATT values.
    ///
    /// - Throws: `LinkError` (`refused` if the capabilities cannot be read), or what `install` failed with; nothing is
    ///   left open then. `CancellationError`.
    package func dialLegacy<Output: Sendable>(
        _ address: LinkAddress, timeout: Duration, install: @escaping LegacyInstaller<Output>
    ) async throws -> Output {
        guard case .virtual(let target) = address else { throw Self.unsupported(address) }
        let text = try await ask(.capabilities(name: target), address)
        let bytes = Array(text.utf8)
        let offer: CapabilitiesValue
        do throws(GhostDropError) {
            offer = try CapabilitiesValue(parsing: bytes)
        } catch {
            throw LinkError(
                .refused, "\(address) does not say what it can; see that it runs a GhostDrop app", isTransient: true,
                cause: "\(error)")
        }
        let hasChannel = offer.capabilities.supportsL2CAP && offer.psm != nil && modes.contains(.l2cap)
        let wanted: [VirtualConnection.Mode] = hasChannel ? [.l2cap, .values] : [.values]
        return try await dial(address, modes: wanted, timeout: timeout) { channel, link in
            Self.start(link, on: channel) { install($0, $1, bytes) }
        }
    }

    /// Starts a v1 link, which on GATT needs its frames cut to values.
    static func start<Output: Sendable>(
        _ link: AirLink, on channel: any Channel, install: @escaping LinkInstaller<Output>
    ) -> EventLoopFuture<Output> {
        if let valueLimit = link.valueLimit {
            do {
                try channel.pipeline.syncOperations.addHandler(
                    LegacyValueHandler(isCentral: link.information.isInitiator, valueLimit: valueLimit))
            } catch {
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(error)
            }
        }
        return link.information.start(on: channel, install: install)
    }

    /// What the characteristic of capabilities says.
    var capabilities: CapabilitiesValue {
        let hasChannel = modes.contains(.l2cap)
        return CapabilitiesValue(
            capabilities: Capabilities(supportsL2CAP: hasChannel), psm: hasChannel ? Self.psm : nil)
    }

    /// Of the dynamic range; the air has one channel to a device and needs no number for it.
    private static let psm: UInt16 = 0x80

    private func dial<Output: Sendable>(
        _ address: LinkAddress, modes: [VirtualConnection.Mode], timeout: Duration,
        start: @escaping @Sendable (any Channel, AirLink) -> EventLoopFuture<Output>
    ) async throws -> Output {
        guard case .virtual(let target) = address else { throw Self.unsupported(address) }
        try Task.checkCancellation()
        let attempt = LinkAttempt<Output>()
        let eventLoop = group.next()
        let promise = eventLoop.makePromise(of: Output.self)
        let isOver = eventLoop.scheduleTask(in: TimeAmount(timeout)) {
            promise.fail(
                LinkError(
                    .timedOut,
                    "no answer from \(address); check that the device is on, nearby and on the same virtual radio",
                    isTransient: true))
        }
        let request = AirRequest.dial(target: target, source: name, modes: modes)
        connect(
            request, address: address, isInitiator: true,
            start: { channel, link in
                // What is made of the link has limits of its own.
                isOver.cancel()
                return start(channel, link)
            }, promise: promise, on: eventLoop
        ) { attempt.opened($0) }
        defer { isOver.cancel() }
        return try await attempt.output(of: promise.futureResult)
    }

    /// Advertises on the air under the address's name, and accepts links.
    ///
    /// - Throws: `LinkError`.
    package func listen<Output: Sendable>(
        on address: LinkAddress, install: @escaping LinkInstaller<Output>
    ) async throws -> LinkListener<Output> {
        guard case .virtual(let name) = address else { throw Self.unsupported(address) }
        let advertiser = VirtualAdvertiser(
            transport: self, name: name, modes: modes, limit: setUpLimit, eventLoop: group.next(), install: install)
        try await advertiser.start()
        return LinkListener(address: address, accepted: advertiser.accepted) { await advertiser.stop() }
    }

    /// The devices that advertise on the air and are in range of this one, strongest first.
    ///
    /// - Throws: `LinkError` without an air.
    package func nearby() async throws -> [NearbyDevice] {
        try await ask(.nearby(name: name)).devices
    }

    private func ask(_ request: AirRequest, _ address: LinkAddress) async throws -> String {
        do {
            return try await ask(request).text
        } catch let error as LinkError where error.code == .refused {
            throw LinkError(
                .unreachable, "\(address) is not in range; bring it closer, and check that it is waiting",
                isTransient: true,
                cause: error.message)
        }
    }

    private func ask(_ request: AirRequest) async throws -> AirReply {
        let promise = group.next().makePromise(of: AirReply.self)
        let connecting = bootstrap(on: promise.futureResult.eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(QuestionHandler(request, promise: promise))
                }
            }
            .connect(unixDomainSocketPath: path)
        connecting.whenFailure { promise.fail(noAir($0)) }
        return try await promise.futureResult.get()
    }

    /// Makes a connection to the air that becomes a link; the promise gets what `start` makes of it.
    func connect<Output: Sendable>(
        _ request: AirRequest, address: LinkAddress, isInitiator: Bool,
        start: @escaping @Sendable (any Channel, AirLink) -> EventLoopFuture<Output>,
        promise: EventLoopPromise<Output>, on eventLoop: any EventLoop,
        opened: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) {
        bootstrap(on: eventLoop)
            .channelInitializer { channel in
                opened(channel).flatMapThrowing {
                    try channel.pipeline.syncOperations.addHandler(
                        LinkRequestHandler(
                            request, address: address, isInitiator: isInitiator, start: start, promise: promise))
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
            .unsupportedAddress, "\(address) is not a virtual radio address; use virtual://NAME",
            isTransient: false)
    }
}

/// What the air answers to a question.
private struct AirReply: Sendable {
    var devices: [NearbyDevice] = []
    var text = ""
}

/// Asks the air once.
private final class QuestionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// No air has that many devices: whoever sends more is none.
    private static let limit = 10_000

    private let request: AirRequest
    private let promise: EventLoopPromise<AirReply>
    private var reader = LineReader(limit: AirRequest.lineLimit)
    private var reply = AirReply()

    init(_ request: AirRequest, promise: EventLoopPromise<AirReply>) {
        self.request = request
        self.promise = promise
    }

    func channelActive(context: ChannelHandlerContext) {
        let line = request.line + "\n"
        context.writeAndFlush(NIOAny(ByteBuffer(string: line)), promise: nil)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reader.append(unwrapInboundIn(data))
        while let line = reader.next() {
            switch AirAnswer(line: line) {
            case .device(let device) where reply.devices.count < Self.limit: reply.devices.append(device)
            case .done(let text):
                reply.text = text
                promise.succeed(reply)
                return context.close(promise: nil)
            case .refused(_, let text):
                promise.fail(LinkError(.refused, "\(text)", isTransient: true))
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
