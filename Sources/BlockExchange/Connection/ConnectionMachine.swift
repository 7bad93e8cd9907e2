import NIOCore

/// One BEP connection as a value: bytes and time in, events and bytes out. It knows no socket and no clock.
///
/// Whoever owns it writes the returned buffers in the order they were returned, gives it every byte that arrives, and
/// asks for events until there is none. An error from `nextEvent` ends the connection: send `close` and hang up.
public struct ConnectionMachine {
    public struct Timers: Sendable {
        /// A Ping goes out when nothing was written for so long.
        public var pingInterval: MonotonicTime = .seconds(45)
        /// The connection ends when nothing came for so long.
        public var receiveTimeout: MonotonicTime = .seconds(300)

        public init() {}
    }

    /// What the passing of time asks for.
    public enum TimerAction: Equatable {
        case none
        case write(ByteBuffer)
        case timedOut(ProtocolError)
    }

    private let limits: ExchangeLimits
    private let timers: Timers
    private let compression: CompressionPolicy
    private var reader: FrameReader
    private var lastReceived: MonotonicTime
    private var lastSent: MonotonicTime
    private var outstanding: [Int32: Int32] = [:]
    private var nextRequestID: Int32 = 0
    private var isClosed = false

    public init(
        compression: CompressionPolicy = .metadata, limits: ExchangeLimits = .standard, timers: Timers = Timers(),
        now: MonotonicTime
    ) {
        self.limits = limits
        self.timers = timers
        self.compression = compression
        reader = FrameReader(limits: limits)
        lastReceived = now
        lastSent = now
    }

    /// The first bytes to write, without waiting for the peer's.
    public mutating func start(_ hello: Hello, at now: MonotonicTime) -> ByteBuffer {
        lastSent = now
        return hello.encoded()
    }

    public mutating func receive(_ bytes: ByteBuffer, at now: MonotonicTime) {
        lastReceived = now
        reader.append(bytes)
    }

    /// The next thing the peer said; nil when more bytes are needed. Answers to no known request are passed over, as
    /// Syncthing does.
    public mutating func nextEvent() throws(ProtocolError) -> ConnectionEvent? {
        while let event = try reader.next() {
            if case .response(let response) = event, outstanding.removeValue(forKey: response.id) == nil { continue }
            return event
        }
        return nil
    }

    /// The bytes of `message`; empty after a Close was sent.
    public mutating func send(_ message: OutgoingMessage, at now: MonotonicTime) -> ByteBuffer {
        guard !isClosed else { return ByteBuffer() }
        lastSent = now
        switch message {
        case .clusterConfig(let config): return frame(.clusterConfig, config.encoded())
        case .index(let folder, let files, let isFullIndex, let previousSequence):
            var writer = WireWriter(reserving: files.count * 160)
            writer.field(1, text: folder.rawValue)
            for file in files { writer.field(2, message: file.encoded()) }
            writer.field(3, signed: files.last?.sequence ?? 0)
            if !isFullIndex { writer.field(4, signed: previousSequence) }
            return frame(isFullIndex ? .index : .indexUpdate, writer.bytes)
        case .response(let response): return frame(response)
        case .downloadProgress(let progress): return frame(.downloadProgress, progress.encoded())
        case .ping: return frame(.ping, [])
        case .close(let reason):
            isClosed = true
            var writer = WireWriter()
            writer.field(1, text: String(decoding: reason.utf8.prefix(limits.textByteCount), as: UTF8.self))
            return frame(.close, writer.bytes)
        }
    }

    /// The bytes of a request and the id that its answer will carry.
    public mutating func request(_ request: BlockRequest, at now: MonotonicTime) -> (id: Int32, bytes: ByteBuffer) {
        while outstanding[nextRequestID] != nil { nextRequestID = nextRequestID == .max ? 0 : nextRequestID + 1 }
        let id = nextRequestID
        nextRequestID = id == .max ? 0 : id + 1
        guard !isClosed else { return (id, ByteBuffer()) }
        outstanding[id] = request.size
        lastSent = now
        return (id, frame(.request, request.encoded(id: id)))
    }

    /// Requests that were sent and not answered yet.
    public var outstandingRequestCount: Int { outstanding.count }

    /// When `advance` wants to be called next.
    public var nextDeadline: MonotonicTime {
        min(lastSent + timers.pingInterval, lastReceived + timers.receiveTimeout)
    }

    public mutating func advance(to now: MonotonicTime) -> TimerAction {
        if now >= lastReceived + timers.receiveTimeout {
            return .timedOut(
                ProtocolError(.timedOut, "nothing came from the peer for \(timers.receiveTimeout.components.seconds) s")
            )
        }
        guard !isClosed, now >= lastSent + timers.pingInterval else { return .none }
        return .write(send(.ping, at: now))
    }

    // MARK: framing

    /// Smaller bodies are not worth packing.
    private static let compressionThreshold = 128

    private func frame(_ type: MessageType, _ body: [UInt8]) -> ByteBuffer {
        let isWorthPacking = compression != .never && body.count >= Self.compressionThreshold
        let packed = isWorthPacking ? LZ4.compress(body) : nil
        let payload = packed ?? body
        let header = MessageHeader(type: type, isCompressed: packed != nil).encoded()
        var buffer = ByteBufferAllocator().buffer(capacity: header.count + payload.count + 6)
        buffer.writeInteger(UInt16(header.count))
        buffer.writeBytes(header)
        buffer.writeInteger(UInt32(payload.count))
        buffer.writeBytes(payload)
        return buffer
    }

    /// A response's data is only copied once, into the frame.
    private func frame(_ response: BlockResponse) -> ByteBuffer {
        var writer = WireWriter()
        writer.field(1, signed: Int64(response.id))
        var tail = WireWriter()
        tail.field(3, signed: Int64(response.code.rawValue))
        if compression == .always, response.data.readableBytes >= Self.compressionThreshold {
            writer.field(2, bytes: response.data.readableBytesView)
            writer.raw(tail.bytes)
            return frame(.response, writer.bytes)
        }
        if response.data.readableBytes > 0 {
            writer.varint(2 << 3 | 2)
            writer.varint(UInt64(response.data.readableBytes))
        }
        let header = MessageHeader(type: .response, isCompressed: false).encoded()
        let length = writer.bytes.count + response.data.readableBytes + tail.bytes.count
        var buffer = ByteBufferAllocator().buffer(capacity: header.count + length + 6)
        buffer.writeInteger(UInt16(header.count))
        buffer.writeBytes(header)
        buffer.writeInteger(UInt32(length))
        buffer.writeBytes(writer.bytes)
        buffer.writeImmutableBuffer(response.data)
        buffer.writeBytes(tail.bytes)
        return buffer
    }
}
