/// A message as it travels: count of the bytes behind the count (32 bits), kind (8), number of the request (64), content.
package struct MountFrame: Equatable, Sendable {
    package static let headByteCount = 13
    private static let countByteCount = 4

    package var kind: UInt8
    /// Chosen by the mount, repeated in the answer; 0 for what the agent says unasked.
    package var number: UInt64
    package var content: [UInt8]

    package init(kind: UInt8, number: UInt64, content: [UInt8]) {
        self.kind = kind
        self.number = number
        self.content = content
    }

    package var bytes: [UInt8] {
        var writer = MountWriter()
        writer.write(UInt32(clamping: content.count + Self.headByteCount - Self.countByteCount))
        writer.write(kind)
        writer.write(number)
        return writer.bytes + content
    }

    /// Takes bytes as they come and gives whole frames.
    package struct Decoder: Sendable {
        /// Bytes of content.
        private let limit: Int
        private var buffer: [UInt8] = []
        /// Bytes before it are used up.
        private var head = 0

        package init(limit: Int) { self.limit = limit }

        /// Whether all bytes that were appended are used up.
        package var isEmpty: Bool { head == buffer.count }

        /// Large answers come in many parts: without a generic sequence, which would be copied byte by byte.
        package mutating func append(_ bytes: UnsafeRawBufferPointer) {
            if head > 0 {
                buffer.removeFirst(head)
                head = 0
            }
            buffer.append(contentsOf: bytes)
        }

        /// The next frame; nil until more bytes have come.
        ///
        /// - Throws: for a frame that is too short or too long, before its content is waited for.
        package mutating func next() throws(MountProtocolError) -> MountFrame? {
            let rest = buffer[head...]
            guard rest.count >= MountFrame.headByteCount else { return nil }
            var reader = MountReader(rest.prefix(MountFrame.headByteCount))
            let count = Int(try reader.integer(UInt32.self))
            let (kind, number) = (try reader.integer(UInt8.self), try reader.integer(UInt64.self))
            guard count >= MountFrame.headByteCount - MountFrame.countByteCount else {
                throw MountProtocolError(.tooShort)
            }
            let contentCount = count - (MountFrame.headByteCount - MountFrame.countByteCount)
            guard contentCount <= limit else { throw MountProtocolError(.tooLong) }
            let content = rest.dropFirst(MountFrame.headByteCount)
            guard content.count >= contentCount else { return nil }
            head += MountFrame.headByteCount + contentCount
            return MountFrame(kind: kind, number: number, content: Array(content.prefix(contentCount)))
        }
    }
}
