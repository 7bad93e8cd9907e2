import CLZ4
import NIOCore

/// BEP's compressed bodies: the uncompressed size as a big-endian 32-bit integer, then one raw LZ4 block.
enum LZ4 {
    static let sizeByteCount = 4

    /// Unpacks `body`; fails if it says it unpacks to more than `limit` bytes, or does not unpack to what it says.
    static func decompress(_ body: UnsafeRawBufferPointer, atMost limit: Int) throws(ProtocolError) -> ByteBuffer {
        guard body.count > sizeByteCount else {
            throw ProtocolError(.invalidCompression, "a compressed message has no body")
        }
        let declared = Int(UInt32(bigEndian: body.loadUnaligned(as: UInt32.self)))
        let block = UnsafeRawBufferPointer(rebasing: body[sizeByteCount...])
        guard declared <= limit else {
            throw ProtocolError(
                .tooLarge, "a compressed message unpacks to \(declared) bytes; at most \(limit) are accepted")
        }
        // An LZ4 block cannot unpack to more than 255 times its size: a small frame does not get a large buffer.
        guard declared <= block.count * 255 + 16, block.count <= Int(Int32.max) else {
            throw ProtocolError(.invalidCompression, "a compressed message says it unpacks to more than LZ4 can pack")
        }
        var output = ByteBufferAllocator().buffer(capacity: max(declared, 1))
        let written = output.writeWithUnsafeMutableBytes(minimumWritableBytes: declared) { target in
            let result = LZ4_decompress_safe(
                block.bindMemory(to: CChar.self).baseAddress, target.bindMemory(to: CChar.self).baseAddress,
                Int32(block.count), Int32(declared))
            return result == declared ? declared : 0
        }
        guard written == declared, declared > 0 else {
            throw ProtocolError(.invalidCompression, "a compressed message is not the LZ4 block it says it is")
        }
        return output
    }

    /// Packs `body`; nil if that saves less than 1/32 of it, where BEP peers send it plain.
    static func compress(_ body: [UInt8]) -> [UInt8]? {
        guard let bodyCount = Int32(exactly: body.count) else { return nil }
        let bound = Int(LZ4_compressBound(bodyCount))
        guard bound > 0 else { return nil }
        let packed = [UInt8](unsafeUninitializedCapacity: sizeByteCount + bound) { target, count in
            target.withMemoryRebound(to: CChar.self) { target in
                body.withUnsafeBytes { source in
                    let written = LZ4_compress_default(
                        source.bindMemory(to: CChar.self).baseAddress, target.baseAddress?.advanced(by: sizeByteCount),
                        bodyCount, Int32(bound))
                    count = written > 0 ? sizeByteCount + Int(written) : 0
                }
            }
            guard count > 0 else { return }
            withUnsafeBytes(of: UInt32(body.count).bigEndian) { size in
                for index in 0..<sizeByteCount { target[index] = size[index] }
            }
        }
        return packed.isEmpty || packed.count >= body.count - body.count / 32 ? nil : packed
    }
}
