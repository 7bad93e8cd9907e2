import BlockExchange
import Cryptography
import NIOCore
import NIOEmbedded
import SyncTestKit
import Synchronization
import Transport

@testable import LinkSecurity

/// A wire in memory between two devices: messages in order each way, delivered at once, held back, delivered in pieces, or lost
/// when the wire is cut.
final class MemoryWire: Sendable {
    enum Side: Int, Sendable, CaseIterable {
        case dialler, answerer

        var other: Side { self == .dialler ? .answerer : .dialler }
    }

    /// A message that was delivered.
    struct Delivery: Equatable, Sendable {
        var from: Side
        /// Nil for a Hello.
        var type: Int?
        var byteCount: Int
    }

    /// One end of the wire as the wire sees it.
    private struct End {
        var deliver: @Sendable (ByteBuffer) -> Void = { _ in }
        var close: @Sendable () -> Void = {}
        var cutter = MessageCutter()
        var waiting: [MessageCutter.Message] = []
        var isHeld = false
        /// It sends nothing more.
        var hasEnded = false
        var wasClosed = false
    }

    private struct State {
        var ends = [End(), End()]
        var observe: (@Sendable (Side, ByteBuffer) -> Void)?
        var deliveries: [Delivery] = []
        /// Messages that are delivered before the wire is cut.
        var limit: Int?
        var isCut = false
    }

    /// Tells the wires of a test apart.
    let number: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - number: stands in the addresses of its links.
    ///   - limit: cut after so many messages.
    ///   - isHeld: All that is sent waits.
    ///   - observe: told of all that is delivered, in order; it must not use the wire.
    init(
        number: Int = 0, limit: Int? = nil, isHeld: Bool = false,
        observe: (@Sendable (_ from: Side, ByteBuffer) -> Void)? = nil
    ) {
        self.number = number
        state.withLock { state in
            state.limit = limit
            state.observe = observe
            for side in state.ends.indices { state.ends[side].isHeld = isHeld }
        }
    }

    var deliveries: [Delivery] { state.withLock { $0.deliveries } }
    var isCut: Bool { state.withLock { $0.isCut } }

    /// How many messages of a type a side has got through.
    func count(of type: Int?, from side: Side) -> Int { deliveries.count { $0.from == side && $0.type == type } }

    func waitingCount(from side: Side) -> Int { state.withLock { $0.ends[side.rawValue].waiting.count } }

    /// The types of the messages of a side that wait, in order; nil for a Hello.
    func waitingTypes(from side: Side) -> [Int?] { state.withLock { $0.ends[side.rawValue].waiting.map(\.type) } }

    /// Whether both sides may still send.
    var isOpen: Bool { state.withLock { !$0.isCut && !$0.ends.contains(where: \.hasEnded) } }

    /// Whether nothing comes of it any more.
    var isOver: Bool {
        state.withLock { state in
            state.isCut || state.ends.contains(where: \.hasEnded) && state.ends.allSatisfy(\.waiting.isEmpty)
        }
    }

    /// Whether nothing that was sent waits.
    var isEmpty: Bool { state.withLock { $0.ends.allSatisfy(\.waiting.isEmpty) } }

    // MARK: ends

    func attach(_ side: Side, deliver: @escaping @Sendable (ByteBuffer) -> Void, close: @escaping @Sendable () -> Void)
    {
        state.withLock { state in
            state.ends[side.rawValue].deliver = deliver
            state.ends[side.rawValue].close = close
        }
    }

    /// Takes bytes that a side writes; false if they are lost. However many messages wait, the wire takes more.
    @discardableResult
    func send(_ bytes: ByteBuffer, from side: Side) -> Bool {
        let isTaken = state.withLock { state in
            if state.isCut || state.ends[side.rawValue].hasEnded { return false }
            state.ends[side.rawValue].waiting += state.ends[side.rawValue].cutter.cut(bytes)
            return true
        }
        flow()
        return isTaken
    }

    /// Sends bytes as they are, whether they are messages or not.
    func send(raw bytes: ByteBuffer, from side: Side) {
        state.withLock { state in
            guard !state.isCut, !state.ends[side.rawValue].hasEnded else { return }
            state.ends[side.rawValue].waiting.append(MessageCutter.Message(type: nil, bytes: bytes))
        }
        flow()
    }

    /// A side sends nothing more; the other one is closed behind what was sent.
    func end(_ side: Side) {
        state.withLock { $0.ends[side.rawValue].hasEnded = true }
        flow()
    }

    // MARK: what a test does

    /// From now on messages of a side wait.
    func hold(_ side: Side) { state.withLock { $0.ends[side.rawValue].isHeld = true } }

    /// Messages of a side are delivered again, those that waited first.
    func release(_ side: Side) {
        state.withLock { $0.ends[side.rawValue].isHeld = false }
        flow()
    }

    /// Delivers one message that waits; false if none does.
    @discardableResult
    func releaseOne(_ side: Side) -> Bool {
        defer { flow() }
        return state.withLock { deliverFirst(from: side, &$0) }
    }

    /// Delivers the first bytes of what waits, at most to the end of the first message.
    func releaseBytes(_ count: Int, from side: Side) {
        state.withLock { state in
            guard !state.isCut, let first = state.ends[side.rawValue].waiting.first else { return }
            guard count < first.bytes.readableBytes else { return _ = deliverFirst(from: side, &state) }
            guard let piece = state.ends[side.rawValue].waiting[0].bytes.readSlice(length: max(0, count)) else {
                return
            }
            deliver(piece, from: side, &state)
        }
        flow()
    }

    /// Breaks the wire: what waits is lost, and both ends are closed.
    func cut() {
        state.withLock { $0.isCut = true }
        flow()
    }

    // MARK: -

    /// Delivers what may be delivered, and closes what is over.
    private func flow() {
        let closing = state.withLock { state -> [@Sendable () -> Void] in
            for side in Side.allCases where !state.ends[side.rawValue].isHeld {
                while deliverFirst(from: side, &state) {}
            }
            var closing: [@Sendable () -> Void] = []
            for side in Side.allCases {
                if state.isCut { state.ends[side.rawValue].waiting = [] }
                let other = state.ends[side.other.rawValue]
                guard state.isCut || other.hasEnded && other.waiting.isEmpty, !state.ends[side.rawValue].wasClosed
                else {
                    continue
                }
                state.ends[side.rawValue].wasClosed = true
                closing.append(state.ends[side.rawValue].close)
            }
            return closing
        }
        for close in closing { close() }
    }

    private func deliverFirst(from side: Side, _ state: inout State) -> Bool {
        guard !state.isCut, !state.ends[side.rawValue].waiting.isEmpty else { return false }
        if let limit = state.limit, state.deliveries.count >= limit {
            state.isCut = true
            return false
        }
        let first = state.ends[side.rawValue].waiting.removeFirst()
        state.deliveries.append(Delivery(from: side, type: first.type, byteCount: first.bytes.readableBytes))
        deliver(first.bytes, from: side, &state)
        return true
    }

    private func deliver(_ bytes: ByteBuffer, from side: Side, _ state: inout State) {
        state.observe?(side, bytes)
        // In order: an event loop runs what it is given first in, first out.
        state.ends[side.other.rawValue].deliver(bytes)
    }
}

/// Cuts what is written to a wire into BEP's messages.
struct MessageCutter {
    struct Message {
        /// Nil for a Hello.
        var type: Int?
        var bytes: ByteBuffer
    }

    private var bytes = ByteBuffer()
    private var hasHello = false

    mutating func cut(_ more: ByteBuffer) -> [Message] {
        bytes.writeImmutableBuffer(more)
        var messages: [Message] = []
        while let (type, count) = first(), let message = bytes.readSlice(length: count) {
            messages.append(Message(type: type, bytes: message))
            hasHello = true
        }
        return messages
    }

    private func first() -> (type: Int?, byteCount: Int)? {
        let start = bytes.readerIndex
        guard hasHello else {
            return bytes.getInteger(at: start + 4, as: UInt16.self).map { (nil, Int($0) + 6) }
        }
        guard let headerCount = bytes.getInteger(at: start, as: UInt16.self).map(Int.init),
            let header = bytes.getBytes(at: start + 2, length: headerCount),
            let count = bytes.getInteger(at: start + 2 + headerCount, as: UInt32.self)
        else { return nil }
        // Field 1, a small number; a zero is left out.
        let type = header.first == 0x08 && header.count > 1 ? Int(header[1]) : 0
        return (type, 6 + headerCount + Int(count))
    }
}

/// Hands what a channel writes to a wire.
private final class WireTap: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private let wire: MemoryWire
    private let side: MemoryWire.Side

    init(wire: MemoryWire, side: MemoryWire.Side) {
        self.wire = wire
        self.side = side
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let isTaken = wire.send(unwrapOutboundIn(data), from: side)
        if isTaken { promise?.succeed() } else { promise?.fail(ChannelError.ioOnClosedChannel) }
    }

    func flush(context: ChannelHandlerContext) {}

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        wire.end(side)
        context.close(mode: mode, promise: promise)
    }
}

extension MemoryWire {
    private static let names = Result {
        let certificate = try DeviceCertificate.generate(curve: .p256, notBefore: 1_700_000_000)
        return CertificateNames(certificateDER: certificate.certificateDER)
    }

    /// The link that one side of the wire has, with `peer` at the other.
    func link(_ side: Side, to peer: DeviceID, kind: LinkKind = .tcp) async throws -> SecureLink {
        let channel = NIOAsyncTestingChannel()
        return try await channel.testingEventLoop.executeInContext {
            try self.link(side, to: peer, kind: kind, over: channel)
        }
    }

    /// The same on an event loop that this thread runs.
    func link(_ side: Side, to peer: DeviceID, kind: LinkKind = .tcp, on loop: EmbeddedEventLoop) throws -> SecureLink {
        try link(side, to: peer, kind: kind, over: EmbeddedChannel(loop: loop))
    }

    private func link(_ side: Side, to peer: DeviceID, kind: LinkKind, over channel: any Channel) throws -> SecureLink {
        guard let names = try Self.names.get() else { throw ChannelError.inappropriateOperationForState }
        try channel.pipeline.syncOperations.addHandler(WireTap(wire: self, side: side))
        let gate = WriteGate()
        try channel.pipeline.syncOperations.addHandler(gate)
        let asyncChannel = try NIOAsyncChannel<ByteBuffer, Never>(wrappingChannelSynchronously: channel)
        attach(
            side,
            deliver: { bytes in
                channel.eventLoop.execute {
                    channel.pipeline.fireChannelRead(bytes)
                    channel.pipeline.fireChannelReadComplete()
                }
            }, close: { channel.close(promise: nil) })
        return SecureLink(
            peer: peer, names: names,
            information: LinkInformation(
                kind: kind, remoteAddress: "memory://\(number)", isInitiator: side == .dialler),
            applicationProtocol: "bep/1.0", channel: asyncChannel,
            writer: LinkWriter(eventLoop: channel.eventLoop, gate: gate))
    }
}
