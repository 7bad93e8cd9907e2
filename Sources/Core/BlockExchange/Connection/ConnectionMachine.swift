import NIOCore

/// One BEP connection as a value: bytes and time in, events and bytes out. It knows no socket and no clock.
///
/// Whoever owns it writes the returned buffers in the order they were returned, gives it every byte that arrives, and
/// asks for events until there is none. An error from `nextEvent` ends the connection: send `close` and hang up.
public struct ConnectionMachine {
    public struct Timers: Sendable {
        /// The connection ends if the peer has not sent a complete Hello by then. Syncthing's own limit.
        public var helloTimeout: MonotonicTime = .seconds(20)
        /// A Ping goes out when nothing was written for so long.
        public var pingInterval: MonotonicTime = .seconds(45)
        /// The connection ends if the peer completes no message, and sends no `progressByteCount` bytes of one, in this
        /// time. Single bytes do not count: they could keep a connection for ever.
        public var receiveTimeout: MonotonicTime = .seconds(300)
        /// This many bytes of an incomplete message count like a complete one, so that a block of 16 MiB gets through a
        /// slow link. The slowest usable link: 16 KiB per 300 s, 55 bytes a second.
        public var progressByteCount = 16 << 10
        /// The connection ends if requests for blocks are open and the peer answers none, and sends no `answerByteCount` bytes
        /// of anything, in this time and what the largest of them, or the last that was answered, takes at `slowestAnswer`. A
        /// peer with a rate limit is silent for so long after a block, and for longer if the limit is shared with others. Pings
        /// alone keep no connection then.
        public var answerTimeout: MonotonicTime = .seconds(300)
        /// Bytes per second: 64 kbit/s.
        public var slowestAnswer = 8 << 10
        /// What a peer that sends nothing but pings does not reach in that time.
        public var answerByteCount = 1 << 10

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
    private let begun: MonotonicTime
    /// When the last bytes arrived.
    private var lastReceived: MonotonicTime
    /// When the last message was complete, or `progressByteCount` bytes of one had arrived.
    private var lastProgress: MonotonicTime
    /// Bytes received since `lastProgress`.
    private var bytesSinceProgress = 0
    /// Complete messages up to `lastProgress`.
    private var countedMessages = 0
    /// Since when an answer to a request for a block has been waited for, if any is open.
    private var waitsSince: MonotonicTime
    /// Bytes received since then.
    private var bytesSinceWaiting = 0
    /// What the last request asked for that was answered.
    private var answeredSize = 0
    /// Since when nothing is read of what the peer sends; nil while it is read.
    private var heldBackSince: MonotonicTime?
    private var lastSent: MonotonicTime
    /// By bytes.
    private var blockRequests = OpenRequests()
    /// By entries.
    private var keepRequests = OpenRequests()
    /// By addresses.
    private var reachRequests = OpenRequests()
    /// By nothing.
    private var renameRequests = OpenRequests()
    private var isClosed = false
    /// The first message of a connection is a ClusterConfig; the peer ends one that begins with another.
    private var hasSentConfig = false

    public init(
        compression: CompressionPolicy = .metadata, limits: ExchangeLimits = .standard, timers: Timers = Timers(),
        now: MonotonicTime
    ) {
        self.limits = limits
        self.timers = timers
        self.compression = compression
        reader = FrameReader(limits: limits)
        begun = now
        lastReceived = now
        lastProgress = now
        waitsSince = now
        lastSent = now
    }

    /// The first bytes to write, without waiting for the peer's.
    public mutating func start(_ hello: Hello, at now: MonotonicTime) -> ByteBuffer {
        lastSent = now
        return hello.encoded(limits: limits)
    }

    public mutating func receive(_ bytes: ByteBuffer, at now: MonotonicTime) {
        guard bytes.readableBytes > 0 else { return }
        lastReceived = now
        reader.append(bytes)
        bytesSinceProgress += bytes.readableBytes
        if bytesSinceProgress >= timers.progressByteCount { noteProgress() }
        bytesSinceWaiting += bytes.readableBytes
        if bytesSinceWaiting >= timers.answerByteCount { waitAgain(since: now) }
    }

    /// Nothing of what the peer sends is read from now on until `goOn`: no message can come, whatever the peer does.
    public mutating func holdBack(at now: MonotonicTime) { heldBackSince = now }

    /// What the peer sends is read again; the time since `holdBack` does not count as waiting for a message or an answer.
    public mutating func goOn(at now: MonotonicTime) {
        guard let since = heldBackSince else { return }
        heldBackSince = nil
        waitsSince += max(.zero, now - max(since, waitsSince))
        lastProgress += max(.zero, now - max(since, lastProgress))
    }

    /// The next thing the peer said; nil when more bytes are needed. Answers to no known request are passed over, as
    /// Syncthing does. After an error, always that error.
    ///
    /// - Throws: `ProtocolError` when the peer broke the protocol or a limit; close the connection then.
    public mutating func nextEvent() throws(ProtocolError) -> ConnectionEvent? {
        defer {
            if reader.messageCount != countedMessages { noteProgress() }
        }
        while let event = try reader.next() {
            if case .response(let response) = event {
                guard let size = blockRequests.close(response.id) else { continue }
                waitAgain(since: lastReceived)
                answeredSize = size
                guard response.data.readableBytes <= size else {
                    let error = ProtocolError(
                        .tooLarge, "a request for \(size) bytes was answered with \(response.data.readableBytes) bytes")
                    reader.fail(error)
                    throw error
                }
            }
            if case .keepAnswer(let id, let answer) = event {
                guard let count = keepRequests.close(id) else { continue }
                guard answer.granted.allSatisfy({ $0 < count }) else {
                    let error = ProtocolError(.malformed, "a keep answer names an entry that was not asked for")
                    reader.fail(error)
                    throw error
                }
            }
            if case .reachAnswer(let id, let answer) = event {
                guard let count = reachRequests.close(id) else { continue }
                guard answer.fits(count) else {
                    let error = ProtocolError(.malformed, "a reach answer does not fit its request")
                    reader.fail(error)
                    throw error
                }
            }
            if case .renameAnswer(let id, _) = event, renameRequests.close(id) == nil { continue }
            return event
        }
        return nil
    }

    private mutating func noteProgress() {
        lastProgress = lastReceived
        bytesSinceProgress = 0
        countedMessages = reader.messageCount
    }

    private mutating func waitAgain(since now: MonotonicTime) {
        waitsSince = now
        bytesSinceWaiting = 0
    }

    /// The bytes of `message`; empty after a Close was sent, and of a Ping before the ClusterConfig.
    public mutating func send(_ message: OutgoingMessage, at now: MonotonicTime) -> ByteBuffer {
        guard !isClosed else { return ByteBuffer() }
        lastSent = now
        var writer = WireWriter()
        switch message {
        case .clusterConfig(let config):
            hasSentConfig = true
            config.encode(into: &writer)
            return frame(.clusterConfig, writer.bytes)
        case .index(let folder, let files, let isFullIndex, let previousSequence):
            writer = WireWriter(reserving: files.count * 160)
            writer.field(1, text: folder.rawValue)
            // By position: to iterate would copy each entry.
            for position in files.indices { writer.message(2) { files[position].encode(into: &$0) } }
            writer.field(3, signed: files.last?.sequence ?? 0)
            if !isFullIndex { writer.field(4, signed: previousSequence) }
            return frame(isFullIndex ? .index : .indexUpdate, writer.bytes)
        case .response(let response): return frame(response)
        case .downloadProgress(let progress):
            progress.encode(into: &writer)
            return frame(.downloadProgress, writer.bytes)
        case .keepAnswer(let id, let answer): return frame(.keepAnswer, answer.encoded(id: id))
        case .reachAnswer(let id, let answer): return frame(.reachAnswer, answer.encoded(id: id))
        case .renameAnswer(let id, let answer): return frame(.renameAnswer, answer.encoded(id: id))
        case .ping: return hasSentConfig ? frame(.ping, []) : ByteBuffer()
        case .close(let reason):
            isClosed = true
            writer.field(1, text: reason.prefix(utf8ByteCount: limits.textByteCount))
            return frame(.close, writer.bytes)
        }
    }

    /// The bytes of a request and the id that its answer will carry.
    public mutating func request(_ request: BlockRequest, at now: MonotonicTime) -> (id: Int32, bytes: ByteBuffer) {
        let id = blockRequests.takeID()
        guard !isClosed else { return (id, ByteBuffer()) }
        if blockRequests.count == 0 { waitAgain(since: now) }
        blockRequests.open(id, size: Int(request.size))
        lastSent = now
        return (id, frame(.request, request.encoded(id: id)))
    }

    /// The bytes of a keep request and the id that its answer will carry. Only for a peer that said it takes them.
    public mutating func keep(_ request: KeepRequest, at now: MonotonicTime) -> (id: Int32, bytes: ByteBuffer) {
        let id = keepRequests.takeID()
        guard !isClosed else { return (id, ByteBuffer()) }
        keepRequests.open(id, size: request.entries.count)
        lastSent = now
        return (id, frame(.keepRequest, request.encoded(id: id)))
    }

    /// Nobody waits for the answer any more; one that still comes is passed over.
    public mutating func forgetKeep(_ id: Int32) { keepRequests.close(id) }

    /// The bytes of a reach request and the id that its answer will carry. Only for a peer that said it takes them.
    public mutating func reach(_ request: ReachRequest, at now: MonotonicTime) -> (id: Int32, bytes: ByteBuffer) {
        let id = reachRequests.takeID()
        guard !isClosed else { return (id, ByteBuffer()) }
        reachRequests.open(id, size: request.addresses.count)
        lastSent = now
        return (id, frame(.reachRequest, request.encoded(id: id)))
    }

    /// Nobody waits for the answer any more; one that still comes is passed over.
    public mutating func forgetReach(_ id: Int32) { reachRequests.close(id) }

    /// The bytes of a rename request and the id that its answer will carry. Only for a peer that said it takes them.
    public mutating func rename(_ request: RenameRequest, at now: MonotonicTime) -> (id: Int32, bytes: ByteBuffer) {
        let id = renameRequests.takeID()
        guard !isClosed else { return (id, ByteBuffer()) }
        renameRequests.open(id, size: 0)
        lastSent = now
        return (id, frame(.renameRequest, request.encoded(id: id)))
    }

    /// Nobody waits for the answer any more; one that still comes is passed over.
    public mutating func forgetRename(_ id: Int32) { renameRequests.close(id) }

    /// The first bytes of an answer that has not come whole, for when its rest will not come: they need not be sent
    /// again. Nobody has checked them.
    public var unfinishedResponse: (id: Int32, data: ByteBuffer)? {
        guard let part = reader.unfinishedResponse, let size = blockRequests[part.id], part.data.readableBytes > 0,
            part.data.readableBytes <= size
        else { return nil }
        return part
    }

    /// Requests that were sent and not answered yet.
    var outstandingRequestCount: Int { blockRequests.count }

    /// The id of the next block request, unless that id is taken.
    var nextRequestID: Int32 {
        get { blockRequests.nextID }
        set { blockRequests.nextID = newValue }
    }

    /// When `advance` wants to be called next; after `advance` it lies in the future, but after a time-out.
    public var nextDeadline: MonotonicTime {
        isClosed ? end.time : min(lastSent + timers.pingInterval, end.time)
    }

    /// When the connection ends if the peer sends nothing more, and why.
    private var end: (time: MonotonicTime, reason: String) {
        var end = (
            // Not while nothing is read.
            time: heldBackSince == nil || isClosed ? lastProgress + timers.receiveTimeout : .seconds(Int64.max),
            reason: "the peer sent no complete message for \(timers.receiveTimeout.components.seconds) s"
        )
        let hello = begun + timers.helloTimeout
        if reader.messageCount == 0, hello < end.time {
            end = (hello, "the peer sent no Hello within \(timers.helloTimeout.components.seconds) s")
        }
        if heldBackSince == nil, let size = blockRequests.largestSize {
            let patience = timers.answerTimeout + .seconds(max(size, answeredSize) / timers.slowestAnswer)
            if waitsSince + patience < end.time {
                end = (
                    waitsSince + patience,
                    "the peer answered no request for a block for \(patience.components.seconds) s"
                )
            }
        }
        return end
    }

    /// What is due at `now`. After a Close was sent nothing is written any more; the time-outs still apply.
    public mutating func advance(to now: MonotonicTime) -> TimerAction {
        guard now < end.time else { return .timedOut(ProtocolError(.timedOut, end.reason)) }
        guard !isClosed, now >= lastSent + timers.pingInterval else { return .none }
        let ping = send(.ping, at: now)
        return ping.readableBytes > 0 ? .write(ping) : .none
    }

    /// Bytes of the peer's that are held and not handed on; bounded by `ExchangeLimits`.
    var bufferedByteCount: Int { reader.bufferedByteCount }
    /// Bytes of memory that hold them.
    var storageByteCount: Int { reader.storageByteCount }

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
