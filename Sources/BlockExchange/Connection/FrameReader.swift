import NIOCore

/// Cuts a peer's bytes into events: Hello, then framed messages, one event at a time, so that whoever reads slowly is
/// sent slowly.
struct FrameReader {
    private enum State {
        case hello
        case header
        /// A body that is collected before it is read.
        case body(MessageType, isCompressed: Bool, length: Int)
        /// An Index that is read as it comes; `remaining` bytes of its body are not read yet.
        case index(IndexReader, remaining: Int)
        /// An Index that came compressed and lies here unpacked.
        case unpackedIndex(IndexReader, ByteBuffer)
        /// The body of a message of an unknown type.
        case skipping(remaining: Int)
        case failed(ProtocolError)
        case ended
    }

    private var state = State.hello
    private var buffer = ByteBuffer()
    private let limits: ExchangeLimits
    private var hasClusterConfig = false

    init(limits: ExchangeLimits) { self.limits = limits }

    /// Bytes that were given, or unpacked from them, and not handed on as an event yet.
    var bufferedByteCount: Int {
        switch state {
        case .index(let reader, _): buffer.readableBytes + reader.batchByteCount
        case .unpackedIndex(let reader, let unpacked):
            buffer.readableBytes + unpacked.readableBytes + reader.batchByteCount
        default: buffer.readableBytes
        }
    }

    /// Bytes of memory that hold what was given.
    var storageByteCount: Int { buffer.storageCapacity }

    mutating func append(_ bytes: ByteBuffer) {
        switch state {
        case .failed, .ended: return
        default: break
        }
        guard buffer.readableBytes > 0 else {
            buffer = bytes
            return
        }
        // What was read already makes room once it is the larger part: the buffer does not grow by what passed
        // through it, and no byte is moved more than once on average.
        if buffer.readerIndex >= buffer.readableBytes { buffer.discardReadBytes() }
        if case .body(_, _, let length) = state, length > buffer.readableBytes {
            buffer.reserveCapacity(minimumWritableBytes: length - buffer.readableBytes)
        }
        buffer.writeImmutableBuffer(bytes)
    }

    /// The next event; nil when more bytes are needed. After an error, always that error.
    mutating func next() throws(ProtocolError) -> ConnectionEvent? {
        do {
            while true {
                switch try step() {
                case .event(let event): return event
                case .again: continue
                case .needsBytes:
                    // An idle connection keeps no memory.
                    if buffer.readableBytes == 0 { buffer = ByteBuffer() }
                    return nil
                }
            }
        } catch {
            fail(error)
            throw error
        }
    }

    /// Reads nothing more.
    mutating func fail(_ error: ProtocolError) {
        state = .failed(error)
        buffer = ByteBuffer()
    }

    private enum Step {
        case event(ConnectionEvent)
        case again
        case needsBytes
    }

    private mutating func step() throws(ProtocolError) -> Step {
        switch state {
        case .hello: return try readHello()
        case .header: return try readHeader()
        case .body(let type, let isCompressed, let length):
            guard buffer.readableBytes >= length else { return .needsBytes }
            return try readBody(of: type, isCompressed: isCompressed, length: length)
        case .index(let reader, let remaining):
            // Out of `state` while it grows, so that its batch is never copied.
            state = .header
            return try readIndex(reader, remaining: remaining)
        case .unpackedIndex(let reader, let unpacked):
            state = .header
            return try readUnpackedIndex(reader, unpacked)
        case .skipping(let remaining):
            let count = min(remaining, buffer.readableBytes)
            buffer.moveReaderIndex(forwardBy: count)
            guard count == remaining else {
                state = .skipping(remaining: remaining - count)
                return .needsBytes
            }
            state = .header
            return .again
        case .failed(let error): throw error
        case .ended:
            buffer = ByteBuffer()
            return .needsBytes
        }
    }

    private mutating func readHello() throws(ProtocolError) -> Step {
        guard let magic = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return .needsBytes }
        guard magic == Hello.magic else {
            throw ProtocolError(
                .invalidHello,
                Hello.oldMagics.contains(magic)
                    ? "the peer speaks a version of BEP that is too old; update it" : "the peer does not speak BEP")
        }
        guard let length = buffer.getInteger(at: buffer.readerIndex + 4, as: UInt16.self).map(Int.init) else {
            return .needsBytes
        }
        guard length <= Hello.maximumByteCount else { throw ProtocolError(.tooLarge, "a Hello of \(length) bytes") }
        guard buffer.readableBytes >= 6 + length else { return .needsBytes }
        buffer.moveReaderIndex(forwardBy: 6)
        let limits = limits
        let hello = try consume(length) { (reader) throws(ProtocolError) in
            try Hello(decoding: &reader, limits: limits)
        }
        state = .header
        return .event(.hello(hello))
    }

    private mutating func readHeader() throws(ProtocolError) -> Step {
        guard let headerLength = buffer.getInteger(at: buffer.readerIndex, as: UInt16.self).map(Int.init) else {
            return .needsBytes
        }
        guard headerLength <= limits.headerByteCount else {
            throw ProtocolError(.tooLarge, "a message header of \(headerLength) bytes")
        }
        guard let length = buffer.getInteger(at: buffer.readerIndex + 2 + headerLength, as: UInt32.self).map(Int.init)
        else { return .needsBytes }
        buffer.moveReaderIndex(forwardBy: 2)
        let header = try consume(headerLength) { (reader) throws(ProtocolError) in
            try MessageHeader(decoding: &reader)
        }
        buffer.moveReaderIndex(forwardBy: 4)
        guard length <= limits.messageByteCount else { throw ProtocolError(.tooLarge, "a message of \(length) bytes") }
        guard let type = header.type else {
            state = .skipping(remaining: length)
            return .again
        }
        if !hasClusterConfig, type != .clusterConfig, type != .close {
            throw ProtocolError(.unexpectedMessage, "the first message is \(type) and not a cluster config")
        }
        if !header.isCompressed, type == .index || type == .indexUpdate {
            state = .index(IndexReader(isFullIndex: type == .index, limits: limits), remaining: length)
            return .again
        }
        let limit = bufferLimit(of: type)
        guard length <= limit else {
            throw ProtocolError(.tooLarge, "a message of type \(type) has \(length) bytes; at most \(limit) are taken")
        }
        state = .body(type, isCompressed: header.isCompressed, length: length)
        return .again
    }

    private func bufferLimit(of type: MessageType) -> Int {
        switch type {
        case .index, .indexUpdate: limits.bufferedByteCount
        case .clusterConfig, .downloadProgress: limits.configurationByteCount
        case .response: limits.responseByteCount
        case .request, .ping, .close: limits.smallMessageByteCount
        }
    }

    private mutating func readBody(
        of type: MessageType, isCompressed: Bool, length: Int
    ) throws(ProtocolError) -> Step {
        state = .header
        let body = takeBody(length)
        guard isCompressed else { return try readMessage(type, from: body) }
        let limit = bufferLimit(of: type)
        let unpacked = try body.withUnsafeReadableBytes { (bytes) throws(ProtocolError) in
            try LZ4.decompress(bytes, atMost: limit)
        }
        return try readMessage(type, from: unpacked)
    }

    /// Below this a body is copied out of the buffer: a few bytes should not hold a large piece of memory.
    private static let copiedByteCount = 32 << 10

    /// Takes `length` bytes out of the buffer.
    private mutating func takeBody(_ length: Int) -> ByteBuffer {
        guard length >= Self.copiedByteCount else {
            let body = ByteBuffer(buffer.readableBytesView.prefix(length))
            buffer.moveReaderIndex(forwardBy: length)
            return body
        }
        let body = buffer.readSlice(length: length) ?? ByteBuffer()
        // What follows a large body moves to a buffer of its own, so that keeping the body does not copy it once more
        // when more bytes come; unless that is much, as it would be moved for each body in it.
        buffer = buffer.readableBytes <= length ? ByteBuffer(buffer.readableBytesView) : buffer.slice()
        return body
    }

    private mutating func readMessage(_ type: MessageType, from body: ByteBuffer) throws(ProtocolError) -> Step {
        let limits = limits
        switch type {
        case .clusterConfig:
            hasClusterConfig = true
            let config = try decode(body) { (reader) throws(ProtocolError) in
                try ClusterConfig(decoding: &reader, limits: limits)
            }
            return .event(.clusterConfig(config))
        case .index, .indexUpdate:
            state = .unpackedIndex(IndexReader(isFullIndex: type == .index, limits: limits), body)
            return .again
        case .request:
            let (id, request) = try decode(body) { (reader) throws(ProtocolError) in
                try BlockRequest.decode(&reader, limits: limits)
            }
            return .event(.request(id: id, request))
        case .response:
            let (id, code, data) = try decode(body) { (reader) throws(ProtocolError) in
                try BlockResponse.decode(&reader)
            }
            let bytes = body.getSlice(at: body.readerIndex + data.lowerBound, length: data.count) ?? ByteBuffer()
            return .event(.response(BlockResponse(id: id, data: bytes, code: code)))
        case .downloadProgress:
            let progress = try decode(body) { (reader) throws(ProtocolError) in
                try DownloadProgress(decoding: &reader, limits: limits)
            }
            return .event(.downloadProgress(progress))
        case .ping:
            return .again
        case .close:
            let reason = try decode(body) { (reader) throws(ProtocolError) in
                try closeReason(decoding: &reader, limits: limits)
            }
            state = .ended
            return .event(.closed(reason: reason))
        }
    }

    private mutating func readIndex(_ reader: consuming IndexReader, remaining: Int) throws(ProtocolError) -> Step {
        let (used, batch) = try buffer.withUnsafeReadableBytes { (bytes) throws(ProtocolError) in
            try reader.read(UnsafeRawBufferPointer(rebasing: bytes.prefix(remaining)), remaining: remaining)
        }
        buffer.moveReaderIndex(forwardBy: used)
        guard let batch else {
            state = .index(reader, remaining: remaining - used)
            return .needsBytes
        }
        if !batch.isLast { state = .index(reader, remaining: remaining - used) }
        return .event(.index(batch))
    }

    private mutating func readUnpackedIndex(
        _ reader: consuming IndexReader, _ unpacked: consuming ByteBuffer
    ) throws(ProtocolError) -> Step {
        let remaining = unpacked.readableBytes
        let (used, batch) = try unpacked.withUnsafeReadableBytes { (bytes) throws(ProtocolError) in
            try reader.read(bytes, remaining: remaining)
        }
        guard let batch else { throw ProtocolError(.malformed, "an index ends in the middle of an entry") }
        unpacked.moveReaderIndex(forwardBy: used)
        if !batch.isLast { state = .unpackedIndex(reader, unpacked) }
        return .event(.index(batch))
    }

    /// Reads the next `length` bytes of the buffer as a message.
    private mutating func consume<Value>(
        _ length: Int, _ decode: (inout WireReader) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> Value {
        let part = buffer.readSlice(length: length) ?? ByteBuffer()
        return try self.decode(part, decode)
    }

    private func decode<Value>(
        _ body: ByteBuffer, _ decode: (inout WireReader) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> Value {
        try body.withUnsafeReadableBytes { (bytes) throws(ProtocolError) in
            var reader = WireReader(bytes)
            return try decode(&reader)
        }
    }
}
