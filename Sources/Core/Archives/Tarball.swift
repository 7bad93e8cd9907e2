import CZlib

/// Writes a small archive of files in memory: ustar (POSIX.1-1988), packed with gzip (RFC 1952).
package enum Tarball {
    package struct Member: Equatable, Sendable {
        /// ASCII, relative, at most 99 bytes.
        package var name: String
        package var bytes: [UInt8]

        package init(name: String, bytes: [UInt8]) {
            self.name = name
            self.bytes = bytes
        }
    }

    private static let blockSize = 512

    /// The packed archive of these files, in this order.
    ///
    /// - Parameter time: when they were made, in seconds since 1970.
    /// - Throws: `ArchiveError` (`unsupported`) for a name or size that does not fit, or without memory.
    package static func packed(_ members: [Member], time: Int64) throws(ArchiveError) -> [UInt8] {
        try gzip(try archive(members, time: time))
    }

    static func archive(_ members: [Member], time: Int64) throws(ArchiveError) -> [UInt8] {
        var bytes: [UInt8] = []
        for member in members {
            bytes += try header(member, time: time)
            bytes += member.bytes
            bytes += [UInt8](repeating: 0, count: padding(member.bytes.count))
        }
        // Two empty blocks end it.
        return bytes + [UInt8](repeating: 0, count: 2 * blockSize)
    }

    private static func padding(_ count: Int) -> Int { (blockSize - count % blockSize) % blockSize }

    private static func header(_ member: Member, time: Int64) throws(ArchiveError) -> [UInt8] {
        let name = Array(member.name.utf8)
        guard (1..<100).contains(name.count), name.allSatisfy({ (0x21..<0x7f).contains($0) }),
            let size = octal(Int64(member.bytes.count), 11), let date = octal(max(0, time), 11)
        else {
            throw ArchiveError(
                .unsupported, "\(member.name.prefix(80)) does not fit into an archive. Choose a shorter name.")
        }
        var header = [UInt8](repeating: 0, count: blockSize)
        func put(_ text: [UInt8], at place: Int) { header.replaceSubrange(place..<place + text.count, with: text) }
        put(name, at: 0)
        put(Array("0000600".utf8), at: 100)  // mode
        put(Array("0000000".utf8), at: 108)  // user
        put(Array("0000000".utf8), at: 116)  // group
        put(size, at: 124)
        put(date, at: 136)
        // The sum is made as if its field were blank.
        put([UInt8](repeating: UInt8(ascii: " "), count: 8), at: 148)
        put([UInt8(ascii: "0")], at: 156)  // a file
        put(Array("ustar".utf8) + [0] + Array("00".utf8), at: 257)
        let sum = header.reduce(Int64(0)) { $0 + Int64($1) }
        put((octal(sum, 6) ?? []) + [0], at: 148)
        return header
    }

    /// `number` in so many octal digits; nil if it does not fit.
    private static func octal(_ number: Int64, _ digits: Int) -> [UInt8]? {
        let text = String(number, radix: 8)
        guard text.count <= digits else { return nil }
        return Array((String(repeating: "0", count: digits - text.count) + text).utf8)
    }

    private static func gzip(_ input: [UInt8]) throws(ArchiveError) -> [UInt8] {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        guard synctrain_gzip_begin(stream) == Z_OK else {
            throw ArchiveError(.unsupported, "zlib cannot be initialized. Check the free memory of this machine.")
        }
        defer { deflateEnd(stream) }
        let limit = Int(deflateBound(stream, UInt(input.count)))
        var status = Z_STREAM_ERROR
        let output = [UInt8](unsafeUninitializedCapacity: limit) { output, count in
            input.withUnsafeBufferPointer { input in
                // zlib does not write to it; its field is not const.
                stream.pointee.next_in = input.baseAddress.map { UnsafeMutablePointer(mutating: $0) }
                stream.pointee.avail_in = UInt32(clamping: input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(clamping: limit)
                status = deflate(stream, Z_FINISH)
                count = limit - Int(stream.pointee.avail_out)
            }
        }
        guard status == Z_STREAM_END else {
            throw ArchiveError(.unsupported, "The archive is too large to be packed. Choose fewer files.")
        }
        return output
    }
}
