import NIOCore

/// Cuts a peer's bytes into events: Hello, then framed messages, one event at a time, so that whoever reads slowly is
/// sent slowly.
struct FrameReader {
    private enum State {
        case hello
        case header
        /// A body that is collected before it is read.
        case body(MessageType, isCompressed: Bool, length: Int)
        /// An Index that `indexReader` reads as it comes; `remaining` bytes of its body are not read yet.
        case index(remaining: Int)
        /// An Index that came compressed and lies here unpacked, for `indexReader`.
        case unpackedIndex(ByteBuffer)
        /// The body of a message of an unknown type.
        case skipping(remaining: Int)
        case failed(ProtocolError)
        case ended
    }

    private var state = State.hello
    private var buffer = ByteBuffer()
    /// Beside `state`, so that its batch grows in place.
    private var indexReader: IndexReader
    private let limits: ExchangeLimits
    private var hasClusterConfig = false
    /// Complete messages of any type; the Hello is the first.
    private(set) var messageCount = 0

    init(limits: ExchangeLimits) {
        self.limits = limits
        indexReader = IndexReader(isFullIndex: false, limits: limits)
    }

    /// Bytes that were given, or unpacked from them, and not handed on as an event yet.
    var bufferedByteCount: Int {
        let unpackedByteCount = if case .unpackedIndex(let unpacked) = state { unpacked.readableBytes } else { 0 }
        return buffer.readableBytes + unpackedByteCount + indexReader.batchByteCount
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

    /// What has come of an answer's data, where the answer has not come whole; nil if anything else is under way.
    var unfinishedResponse: (id: Int32, data: ByteBuffer)? {
        guard case .body(.response, isCompressed: false, let length) = state, buffer.readableBytes < length else {
            return nil
        }
        let found = buffer.withUnsafeReadableBytes { bytes -> (id: Int32, data: Range<Int>)? in
            var reader = WireReader(bytes)
            do throws(ProtocolError) {
                var id: Int32 = 0
                var tag = try reader.tag()
                // A zero need not be there.
                if let first = tag, first.field == 1, first.type == .varint {
                    id = try reader.int32()
                    tag = try reader.tag()
                }
                guard let tag, tag.field == 2, tag.type == .bytes else { return nil }
                let count = Int(clamping: try reader.varint())
                // bounded: the reader's place is within its bytes
                return (id, reader.offset..<reader.offset + min(count, reader.remaining))
            } catch {
                return nil
            }
        }
        guard let found,
            let data = buffer.getSlice(at: buffer.readerIndex + found.data.lowerBound, length: found.data.count)
        else { return nil }
        return (found.id, data)
    }

    /// Reads nothing more.
    mutating func fail(_ error: ProtocolError) {
        state = .failed(error)
        buffer = ByteBuffer()
        indexReader = IndexReader(isFullIndex: false, limits: limits)
    }

    private mutating func endMessage() {
        state = .header
        messageCount &+= 1
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
        case .index(let remaining): return try readIndex(remaining: remaining)
        case .unpackedIndex(let unpacked): return try readUnpackedIndex(unpacked)
        case .skipping(let remaining):
            let count = min(remaining, buffer.readableBytes)
            buffer.moveReaderIndex(forwardBy: count)
            guard count == remaining else {
                state = .skipping(remaining: remaining - count)
                return .needsBytes
            }
            endMessage()
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
        endMessage()
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
            throw ProtocolError(.unexpectedMessage, "the first message is \(type) instead of a cluster config")
        }
        if !header.isCompressed, type == .index || type == .indexUpdate {
            indexReader = IndexReader(isFullIndex: type == .index, limits: limits)
            state = .index(remaining: length)
            return .again
        }
        let limit = bufferLimit(of: type)
        guard length <= limit else {
            throw ProtocolError(
                .tooLarge, "a message of type \(type) has \(length) bytes; at most \(limit) are accepted")
        }
        state = .body(type, isCompressed: header.isCompressed, length: length)
        return .again
    }

    private func bufferLimit(of type: MessageType) -> Int {
        switch type {
        case .index, .indexUpdate: limits.bufferedByteCount
        case .clusterConfig, .downloadProgress: limits.configurationByteCount
        case .response: limits.responseByteCount
        case .request, .ping, .close, .keepAnswer, .reachRequest, .reachAnswer, .renameRequest, .renameAnswer:
            limits.smallMessageByteCount
        case .keepRequest: limits.keepRequestByteCount
        }
    }

    private mutating func readBody(
        of type: MessageType, isCompressed: Bool, length: Int
    ) throws(ProtocolError) -> Step {
        endMessage()
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
            indexReader = IndexReader(isFullIndex: type == .index, limits: limits)
            state = .unpackedIndex(body)
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
        case .keepRequest:
            let (id, request) = try decode(body, KeepRequest.self)
            return .event(.keepRequest(id: id, request))
        case .keepAnswer:
            let (id, answer) = try decode(body, KeepAnswer.self)
            return .event(.keepAnswer(id: id, answer))
        case .reachRequest:
            let (id, request) = try decode(body, ReachRequest.self)
            return .event(.reachRequest(id: id, request))
        case .reachAnswer:
            let (id, answer) = try decode(body, ReachAnswer.self)
            return .event(.reachAnswer(id: id, answer))
        case .renameRequest:
            let (id, request) = try decode(body, RenameRequest.self)
            return .event(.renameRequest(id: id, request))
        case .renameAnswer:
            let (id, answer) = try decode(body, RenameAnswer.self)
            return .event(.renameAnswer(id: id, answer))
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

    private mutating func readIndex(remaining: Int) throws(ProtocolError) -> Step {
        let (used, batch) = try readEntries(of: buffer, remaining: remaining)
        buffer.moveReaderIndex(forwardBy: used)
        if batch?.isLast == true { endMessage() } else { state = .index(remaining: remaining - used) }
        return batch.map { .event(.index($0)) } ?? .needsBytes
    }

    private mutating func readUnpackedIndex(_ unpacked: ByteBuffer) throws(ProtocolError) -> Step {
        let (used, batch) = try readEntries(of: unpacked, remaining: unpacked.readableBytes)
        guard let batch else { throw ProtocolError(.malformed, "an index ends in the middle of an entry") }
        state =
            batch.isLast
            ? .header
            : .unpackedIndex(
                unpacked.getSlice(at: unpacked.readerIndex + used, length: unpacked.readableBytes - used)
                    ?? ByteBuffer())
        return .event(.index(batch))
    }

    private mutating func readEntries(
        of bytes: ByteBuffer, remaining: Int
    ) throws(ProtocolError) -> (used: Int, batch: IndexBatch?) {
        try bytes.withUnsafeReadableBytes { (bytes) throws(ProtocolError) in
            try indexReader.read(UnsafeRawBufferPointer(rebasing: bytes.prefix(remaining)), remaining: remaining)
        }
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

    private func decode<Message: NumberedMessage>(
        _ body: ByteBuffer, _: Message.Type
    ) throws(ProtocolError) -> (id: Int32, message: Message) {
        let limits = limits
        return try decode(body) { (reader) throws(ProtocolError) in try Message.decode(&reader, limits: limits) }
    }
}
