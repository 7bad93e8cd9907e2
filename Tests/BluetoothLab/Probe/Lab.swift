import Glibc
import Logging
import NIOCore
import NIOPosix
import Transport
import TransportBluetooth

typealias RawLink = Endpoint

/// Two transports of one process, one on each adapter: the first listens, the second dials.
struct Lab: Sendable {
    let listening: BluetoothTransport
    let dialling: BluetoothTransport

    static let install: LinkInstaller<RawLink> = { channel, information in
        channel.eventLoop.makeCompletedFuture {
            let inlet = Inlet()
            try channel.pipeline.syncOperations.addHandler(inlet)
            return Endpoint(
                kind: information.kind, channel: channel, inlet: NIOLoopBound(inlet, eventLoop: channel.eventLoop))
        }
    }

    /// What the scenario wants of the listening side.
    static func with(
        offersL2CAP: Bool = true, usesValueSockets: Bool = true, _ body: @escaping @Sendable (Lab) async throws -> Void
    ) async throws {
        var first = BluetoothConfiguration(adapter: "hci0")
        first.offersL2CAP = offersL2CAP
        var second = BluetoothConfiguration(adapter: "hci1")
        second.usesValueSockets = usesValueSockets
        let lab = Lab(
            listening: try BluetoothTransport(configuration: first, logger: Logger(label: "listening")),
            dialling: try BluetoothTransport(configuration: second, logger: Logger(label: "dialling")))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await lab.listening.run() }
            group.addTask { await lab.dialling.run() }
            defer { group.cancelAll() }
            try await body(lab)
        }
    }

    /// Waits until the transport's state fits; the state that it was in when the time was over is the failure.
    static func wait(
        _ what: String, _ transport: BluetoothTransport, within limit: Duration = .seconds(40),
        _ fits: (BluetoothState) -> Bool
    ) async throws {
        let start = ContinuousClock.now
        while !fits(transport.state) {
            guard ContinuousClock.now - start < limit else {
                throw Probe.Failure("\(what) took too long; the state is \(transport.state.code): \(transport.state)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        say("  \(what): \(transport.state.code) after \(Report.seconds(since: start)): \(transport.state)")
    }

    /// The address of the listening adapter, once it can be found.
    func address() async throws -> LinkAddress {
        try await Self.wait("listening", listening) { $0.code == .ready && $0.isAdvertising }
        try await Self.wait("dialling", dialling) { $0.code == .ready }
        guard let address = listening.state.address else { throw Probe.Failure("no address") }
        return address.linkAddress
    }

    /// Runs `body` with a listener's links.
    func listen(
        _ body: (LinkAddress, inout LinkListener<RawLink>.Iterator) async throws -> Void
    ) async throws {
        let listener = try await listening.listen(on: BluetoothAddress.any.linkAddress, install: Self.install)
        do {
            var links = listener.makeAsyncIterator()
            try await body(try await address(), &links)
            await listener.close()
        } catch {
            await listener.close()
            throw error
        }
    }

    /// Both ends of a new link: the dialled one has said its first byte.
    func link(
        to address: LinkAddress, by transport: BluetoothTransport? = nil,
        _ links: inout LinkListener<RawLink>.Iterator
    ) async throws -> (dialled: Endpoint, accepted: Endpoint) {
        let start = ContinuousClock.now
        let dialled = try await (transport ?? dialling).dial(address, timeout: .seconds(45), install: Self.install)
        say("  dialled \(dialled.kind) in \(Report.seconds(since: start))")
        dialled.write([0x16])
        guard let accepted = await links.next() else { throw Probe.Failure("nothing was accepted") }
        guard accepted.kind == dialled.kind else {
            throw Probe.Failure("one end is \(dialled.kind), the other \(accepted.kind)")
        }
        return (dialled, accepted)
    }

    /// Runs a program of the machine.
    static func shell(_ command: String) throws {
        let status = system(command)
        guard status == 0 else { throw Probe.Failure("`\(command)` gave \(status)") }
    }
}

/// One end of a link.
struct Endpoint: Sendable {
    let kind: LinkKind
    let channel: any Channel
    let inlet: NIOLoopBound<Inlet>

    func write(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    func close() async {
        channel.close(promise: nil)
        try? await channel.closeFuture.get()
    }
}

/// Hands what arrives to one receipt after the other, on the channel's event loop: a task for each piece would cost an
/// emulated processor more than the piece does.
final class Inlet: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var early: [ByteBuffer] = []
    private var receipt: Receipt?
    private var hasEnded = false

    /// Has `receipt` take what came since the last one had all of its own, and what comes.
    func begin(_ receipt: Receipt) {
        self.receipt = receipt
        let pieces = early
        early = []
        for piece in pieces { take(piece) }
        if hasEnded { self.receipt?.end() }
    }

    private func take(_ piece: ByteBuffer) {
        guard let receipt else { return early.append(piece) }
        if receipt.take(piece) { self.receipt = nil }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { take(unwrapInboundIn(data)) }

    func channelInactive(context: ChannelHandlerContext) {
        hasEnded = true
        receipt?.end()
        receipt = nil
    }
}

/// Bytes that tell where in the stream they are: a block of random ones over and over, of a length that no packet has.
///
/// They are compared in whole pieces, for an emulated processor is slow.
struct Pattern: Sendable {
    private static let period = 65_521
    private let twice: ByteBuffer

    init(seed: UInt64) {
        var state = seed
        var block: [UInt8] = []
        while block.count < Self.period {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            block.append(UInt8(truncatingIfNeeded: state >> 56))
        }
        twice = ByteBuffer(bytes: block + block)
    }

    /// At most one period of them.
    func bytes(at offset: Int, count: Int) -> ByteBuffer {
        twice.getSlice(at: offset % Self.period, length: min(count, Self.period)) ?? ByteBuffer()
    }
}
