import NIOCore
import NIOPosix
import Synchronization
import Transport

/// A device that can be dialled on the air: says so, and takes the links that are offered while there is room.
///
/// An air that has gone is joined again when it is back.
final class VirtualAdvertiser<Output: Sendable>: Sendable {
    private struct State {
        /// Offers that no link was made of yet. The air takes back what was not taken for long.
        var offers: [UInt64] = []
        var control: (any Channel)?
        var isStopped = false
    }

    /// Between attempts to join an air that has gone.
    private static var rejoinPause: TimeAmount { .seconds(1) }
    /// Offers that are kept; the air has as many dials at most.
    private static var offerLimit: Int { 1024 }

    let accepted: AcceptedLinks<Output>
    private let transport: VirtualTransport
    private let name: String
    private let modes: [VirtualConnection.Mode]
    private let eventLoop: any EventLoop
    private let install: LinkInstaller<Output>
    private let state = Mutex(State())
    private let room: Room

    /// Breaks the circle of the queue of links, which tells of room, and this, which fills it.
    private final class Room: Sendable {
        let onFree = Mutex<(@Sendable () -> Void)?>(nil)
    }

    init(
        transport: VirtualTransport, name: String, modes: [VirtualConnection.Mode], limit: Int,
        eventLoop: any EventLoop, install: @escaping LinkInstaller<Output>
    ) {
        self.transport = transport
        self.name = name
        self.modes = modes
        self.eventLoop = eventLoop
        self.install = install
        let room = Room()
        self.room = room
        accepted = AcceptedLinks(limit: limit) { room.onFree.withLock { $0 }?() }
    }

    /// Joins the air. Throws `LinkError`.
    func start() async throws {
        room.onFree.withLock { free in free = { [weak self] in self?.acceptOffers() } }
        do {
            try await join().get()
        } catch {
            accepted.close()
            throw error
        }
    }

    /// Leaves the air; returns when the name is free there.
    func stop() async {
        let control = state.withLock { state in
            state.isStopped = true
            return state.control
        }
        room.onFree.withLock { $0 = nil }
        control?.close(promise: nil)
        try? await control?.closeFuture.get()
    }

    private func join() -> EventLoopFuture<Void> {
        let promise = eventLoop.makePromise(of: Void.self)
        let request = AirRequest.advertise(
            name: name, modes: modes, capabilities: String(decoding: transport.capabilities.bytes, as: UTF8.self))
        let address = LinkAddress.virtual(name)
        transport.bootstrap(on: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = AdvertisementHandler(request, address: address, promise: promise) { [weak self] in
                        self?.offered($0)
                    }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(unixDomainSocketPath: transport.airPath)
            .whenComplete { result in
                switch result {
                case .failure(let error): promise.fail(self.transport.noAir(error))
                case .success(let channel): self.joined(channel, promise.futureResult)
                }
            }
        return promise.futureResult
    }

    private func joined(_ control: any Channel, _ isAdvertising: EventLoopFuture<Void>) {
        let isStopped = state.withLock { state in
            if !state.isStopped { state.control = control }
            return state.isStopped
        }
        if isStopped { return control.close(promise: nil) }
        // Only what has worked once is tried again.
        isAdvertising.whenSuccess {
            control.closeFuture.whenComplete { [weak self] _ in self?.rejoin() }
        }
    }

    private func rejoin() {
        let isStopped = state.withLock { state in
            state.offers = []
            state.control = nil
            return state.isStopped
        }
        guard !isStopped else { return }
        eventLoop.scheduleTask(in: Self.rejoinPause) { [weak self] in
            guard let self, !state.withLock({ $0.isStopped }) else { return }
            join().whenFailure { [weak self] _ in self?.rejoin() }
        }
    }

    private func offered(_ token: UInt64) {
        state.withLock { state in
            if state.offers.count < Self.offerLimit { state.offers.append(token) }
        }
        acceptOffers()
    }

    private func acceptOffers() {
        // On the loop, so that of several callers each sees the places that the others have taken.
        guard eventLoop.inEventLoop else { return eventLoop.execute { self.acceptOffers() } }
        while !accepted.isFull {
            let token = state.withLock { state in
                state.isStopped || state.offers.isEmpty ? nil : state.offers.removeFirst()
            }
            guard let token else { return }
            accept(token)
        }
    }

    private func accept(_ token: UInt64) {
        let accepted = accepted
        let promise = eventLoop.makePromise(of: Output.self)
        let (install, door) = (install, transport.legacyDoor)
        transport.connect(
            .accept(token: token), address: .virtual(name), isInitiator: false,
            start: { Self.start($1, on: $0, accepted, door, install) }, promise: promise, on: eventLoop
        ) { channel in
            accepted.admit(channel)
            accepted.settle(channel, promise.futureResult)
            return channel.eventLoop.makeSucceededVoidFuture()
        }
    }

    /// Starts a link, or hands it to whoever takes those of GhostDrop's first version, if it is one.
    private static func start(
        _ link: AirLink, on channel: any Channel, _ accepted: AcceptedLinks<Output>, _ door: LegacyDoor,
        _ install: @escaping LinkInstaller<Output>
    ) -> EventLoopFuture<Output> {
        // While nobody takes v1, what begins as it is for whoever listens, who finds it to be none of his.
        guard let legacy = door.installer else {
            guard link.mode != .values else {
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(LegacyLinkTaken())
            }
            return link.information.start(on: channel, install: install)
        }
        let promise = channel.eventLoop.makePromise(of: Output.self)
        func handOn() {
            promise.fail(LegacyLinkTaken())
            accepted.release(channel)
            _ = VirtualTransport.start(link, on: channel, install: legacy)
        }
        switch link.mode {
        case .gatt: return link.information.start(on: channel, install: install)
        case .values: handOn()
        case .l2cap:
            let handler = FirstByteHandler(limit: .seconds(10)) { first in
                switch first {
                case .legacy: handOn()
                case .link: link.information.start(on: channel, install: install).cascade(to: promise)
                case nil: promise.fail(ChannelError.ioOnClosedChannel)
                }
            }
            do {
                try channel.pipeline.syncOperations.addHandler(handler)
            } catch {
                promise.fail(error)
            }
        }
        return promise.futureResult
    }
}

/// Why an accepted link is none for the listener.
private struct LegacyLinkTaken: Error {}

/// The control connection of a device that can be dialled.
private final class AdvertisementHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let request: AirRequest
    private let address: LinkAddress
    private let promise: EventLoopPromise<Void>
    private let offered: @Sendable (UInt64) -> Void
    private var reader = LineReader(limit: AirRequest.lineLimit)

    init(
        _ request: AirRequest, address: LinkAddress, promise: EventLoopPromise<Void>,
        offered: @escaping @Sendable (UInt64) -> Void
    ) {
        self.request = request
        self.address = address
        self.promise = promise
        self.offered = offered
    }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(NIOAny(ByteBuffer(string: request.line + "\n")), promise: nil)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reader.append(unwrapInboundIn(data))
        while let line = reader.next() {
            switch AirAnswer(line: line) {
            case .done: promise.succeed()
            case .offered(let token): offered(token)
            case .refused(let refusal, let text):
                promise.fail(
                    LinkError(
                        refusal == .nameInUse ? .addressInUse : .failed,
                        "cannot listen on \(address): \(text); choose another name", isTransient: false))
                return context.close(promise: nil)
            default: return context.close(promise: nil)
            }
        }
        if reader.isTooLong { context.close(promise: nil) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { context.read() }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(LinkError(.unreachable, "cannot listen on \(address): the air was closed", isTransient: true))
    }
}
