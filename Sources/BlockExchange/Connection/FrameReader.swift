import NIOCore

/// Cuts a peer's bytes into events: Hello, then framed messages, one event at a time, so that whoever reads slowly is
/// sent slowly.
struct FrameReader {
    private enum State {
        case hello
        case header
        /// A body that is collected before it is read.
        case body(MessageHeader, length: Int)
        /// An Index that is read as it comes; `remaining` bytes of its body are not read yet.
        case index(IndexReader, remaining: Int)
        /// An Index that came compressed and lies here unpacked.
        case unpackedIndex(IndexReader, ByteBuffer)
        case skipping(remaining: Int)
        case failed(ProtocolError)
        case ended
    }

    private var state = State.hello
    private var buffer = ByteBuffer()
    private let limits: ExchangeLimits
    private var hasClusterConfig = false

    init(limits: ExchangeLimits) { self.limits = limits }

    /// Bytes that were given and not read yet.
    var bufferedByteCount: Int { buffer.readableBytes }

    mutating func append(_ bytes: ByteBuffer) {
        if buffer.readableBytes == 0 {
            buffer = bytes
            return
        }
        var bytes = bytes
        if case .body(_, let length) = state {
            buffer.reserveCapacity(minimumWritableBytes: length - buffer.readableBytes)
        }
        buffer.writeBuffer(&bytes)
    }

    /// The next event; nil when more bytes are needed. After an error, always that error.
    mutating func next() throws(ProtocolError) -> ConnectionEvent? {
        do {
            while true {
                switch try step() {
                case .event(let event): return event
                case .again: continue
                case .needsBytes: return nil
                }
            }
        } catch {
            state = .failed(error)
            buffer = ByteBuffer()
            throw error
        }
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
        case .body(let header, let length):
            guard buffer.readableBytes >= length else { return .needsBytes }
            return try readBody(header, length: length)
        case .index(let reader, let remaining): return try readIndex(reader, remaining: remaining)
        case .unpackedIndex(let reader, let unpacked): return try readUnpackedIndex(reader, unpacked)
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
        guard let length = buffer.getInteger(at: buffer.readerIndex + 4, as: UInt16.self) else { return .needsBytes }
        guard length <= 32_767 else { throw ProtocolError(.tooLarge, "a Hello of \(length) bytes") }
        guard buffer.readableBytes >= 6 + Int(length) else { return .needsBytes }
        buffer.moveReaderIndex(forwardBy: 6)
        let limits = limits
        let hello = try consume(Int(length)) { (reader) throws(ProtocolError) in
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
        state = .body(header, length: length)
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

    private mutating func readBody(_ header: MessageHeader, length: Int) throws(ProtocolError) -> Step {
        guard let type = header.type else { throw ProtocolError(.malformed, "a message without a type") }
        state = .header
        guard header.isCompressed else { return try readMessage(type, from: takeBody(length)) }
        let limit = bufferLimit(of: type)
        let packed = takeBody(length)
        let unpacked: ByteBuffer
        do {
            unpacked = try packed.withUnsafeReadableBytes { try LZ4.decompress($0, atMost: limit) }
        } catch let error as ProtocolError {
            throw error
        } catch {
            throw ProtocolError(.invalidCompression, "\(error)")
        }
        if type == .index || type == .indexUpdate {
            state = .unpackedIndex(IndexReader(isFullIndex: type == .index, limits: limits), unpacked)
            return .again
        }
        return try readMessage(type, from: unpacked)
    }

    /// Takes `length` bytes out of the buffer. What a large body leaves behind moves to a buffer of its own, so that
    /// keeping the body neither pins nor copies what comes after it.
    private mutating func takeBody(_ length: Int) -> ByteBuffer {
        guard length >= 32 << 10 else {
            let body = ByteBuffer(buffer.readableBytesView.prefix(length))
            buffer.moveReaderIndex(forwardBy: length)
            if buffer.readableBytes == 0 { buffer = ByteBuffer() }
            return body
        }
        let body = buffer.readSlice(length: length) ?? ByteBuffer()
        buffer = ByteBuffer(buffer.readableBytesView)
        return body
    }

    private mutating func readMessage(_ type: MessageType, from body: ByteBuffer) throws(ProtocolError) -> Step {
        var body = body
        let limits = limits
        switch type {
        case .clusterConfig:
            hasClusterConfig = true
            let config = try decode(&body) { (reader) throws(ProtocolError) in
                try ClusterConfig(decoding: &reader, limits: limits)
            }
            return .event(.clusterConfig(config))
        case .request:
            let (id, request) = try decode(&body) { (reader) throws(ProtocolError) in
                try BlockRequest.decode(&reader, limits: limits)
            }
            return .event(.request(id: id, request))
        case .response:
            let (id, code, data) = try decode(&body) { (reader) throws(ProtocolError) in
                try BlockResponse.decode(&reader)
            }
            let bytes = body.getSlice(at: body.readerIndex + data.lowerBound, length: data.count) ?? ByteBuffer()
            return .event(.response(BlockResponse(id: id, data: bytes, code: code)))
        case .downloadProgress:
            let progress = try decode(&body) { (reader) throws(ProtocolError) in
                try DownloadProgress(decoding: &reader, limits: limits)
            }
            return .event(.downloadProgress(progress))
        case .ping:
            return .again
        case .close:
            let reason = try decode(&body) { (reader) throws(ProtocolError) in
                try closeReason(decoding: &reader, limits: limits)
            }
            state = .ended
            return .event(.closed(reason: reason))
        case .index, .indexUpdate:
            state = .unpackedIndex(IndexReader(isFullIndex: type == .index, limits: limits), body)
            return .again
        }
    }

    private mutating func readIndex(_ reader: IndexReader, remaining: Int) throws(ProtocolError) -> Step {
        // Out of `state` while it grows, so that its batch is never copied.
        state = .header
        var reader = reader
        let (used, batch) = try Self.read(&reader, buffer, remaining: remaining)
        buffer.moveReaderIndex(forwardBy: used)
        // Without this the buffer would grow by what was read already.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() } else if used > 0 { buffer.discardReadBytes() }
        if let batch {
            if !batch.isLast { state = .index(reader, remaining: remaining - used) }
            return .event(.index(batch))
        }
        state = .index(reader, remaining: remaining - used)
        return .needsBytes
    }

    private mutating func readUnpackedIndex(_ reader: IndexReader, _ unpacked: ByteBuffer) throws(ProtocolError) -> Step
    {
        state = .header
        var reader = reader
        var unpacked = unpacked
        let (used, batch) = try Self.read(&reader, unpacked, remaining: unpacked.readableBytes)
        guard let batch else { throw ProtocolError(.malformed, "an index ends in the middle of an entry") }
        unpacked.moveReaderIndex(forwardBy: used)
        if !batch.isLast { state = .unpackedIndex(reader, unpacked) }
        return .event(.index(batch))
    }

    private static func read(
        _ reader: inout IndexReader, _ buffer: ByteBuffer, remaining: Int
    ) throws(ProtocolError) -> (used: Int, batch: IndexBatch?) {
        do {
            return try buffer.withUnsafeReadableBytes { bytes in
                let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(remaining))
                return try reader.read(part, remaining: remaining)
            }
        } catch let error as ProtocolError {
            throw error
        } catch {
            throw ProtocolError(.malformed, "\(error)")
        }
    }

    /// Reads the next `length` bytes of the buffer as a message.
    private mutating func consume<Value>(
        _ length: Int, _ decode: (inout WireReader) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> Value {
        var part = buffer.readSlice(length: length) ?? ByteBuffer()
        return try self.decode(&part, decode)
    }

    private func decode<Value>(
        _ body: inout ByteBuffer, _ decode: (inout WireReader) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> Value {
        do {
            return try body.withUnsafeReadableBytes { bytes in
                var reader = WireReader(bytes)
                return try decode(&reader)
            }
        } catch let error as ProtocolError {
            throw error
        } catch {
            throw ProtocolError(.malformed, "\(error)")
        }
    }
}
