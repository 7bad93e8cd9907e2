import NIOCore

/// Cuts the bytes from a relay into messages.
package struct RelayFrameReader: Sendable {
    private var buffer = ByteBuffer()

    package init() {}

    package mutating func append(_ bytes: ByteBuffer) { buffer.writeImmutableBuffer(bytes) }

    /// What no message was made of yet; in a session, what follows the response belongs to the pipe.
    package var rest: ByteBuffer { buffer }

    /// The next message; nil until all of it is there. The reader must not be used after an error.
    ///
    /// - Throws: `RelayError` with the code `malformed`, as soon as the header shows that the message is none: another
    ///   magic number, an unknown type, more than 1024 bytes.
    package mutating func next() throws(RelayError) -> RelayMessage? {
        var header = buffer
        guard let magic = header.readInteger(as: UInt32.self) else { return nil }
        guard magic == RelayMessage.magic else {
            throw RelayError(.malformed, "what answers does not speak the relay protocol; check the relay's port")
        }
        guard let type = header.readInteger(as: Int32.self) else { return nil }
        guard let kind = RelayMessage.Kind(rawValue: type) else {
            throw RelayError(.malformed, "the relay sent a message of the unknown type \(type)")
        }
        guard let length = header.readInteger(as: UInt32.self) else { return nil }
        guard let count = Int(exactly: length), count <= RelayMessage.maximumPayloadByteCount else {
            throw RelayError(
                .malformed,
                "the relay sent a message of \(length) bytes; at most \(RelayMessage.maximumPayloadByteCount) are right"
            )
        }
        guard let payload = header.readSlice(length: count) else { return nil }
        let message = try RelayMessage(kind, payload: payload)
        buffer = header
        buffer.discardReadBytes()
        return message
    }
}
