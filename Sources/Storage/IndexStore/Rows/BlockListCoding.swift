import BlockExchange
import Cryptography

/// How a list of blocks is written: one byte of form, then the blocks at a fixed width.
enum BlockListCoding {
    private enum Form: UInt8 {
        /// Hashes alone: where the blocks lie follows from the file's size and block size.
        case hashes = 0
        /// Hashes and weak hashes.
        case weakHashes = 1
        /// Offsets and sizes too, for a list that is laid out in another way.
        case explicit = 2
    }

    static func encode(_ file: FileInfo) -> [UInt8] {
        let form: Form =
            if !isRegular(file) {
                .explicit
            } else if file.blocks.contains(where: { $0.weakHash != 0 }) {
                .weakHashes
            } else {
                .hashes
            }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1 + file.blocks.count * SHA256Digest.byteCount)
        bytes.append(form.rawValue)
        for block in file.blocks {
            block.hash.withUnsafeBytes { bytes.append(contentsOf: $0) }
            if form == .hashes { continue }
            withUnsafeBytes(of: block.weakHash.bigEndian) { bytes.append(contentsOf: $0) }
            if form == .weakHashes { continue }
            withUnsafeBytes(of: block.offset.bigEndian) { bytes.append(contentsOf: $0) }
            withUnsafeBytes(of: block.size.bigEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// The blocks that `encode` wrote for a file with this size and block size.
    static func decode(_ bytes: UnsafeRawBufferPointer, file: FileInfo) throws -> [BlockInfo] {
        var reader = ByteReader(bytes)
        guard let form = Form(rawValue: try reader.integer(as: UInt8.self)) else { throw MalformedRow("block list") }
        let blockSize = Int64(file.effectiveBlockSize)
        var blocks: [BlockInfo] = []
        var offset: Int64 = 0
        while !reader.isAtEnd {
            var block = BlockInfo(offset: offset, size: 0, hash: try reader.digest())
            if form != .hashes { block.weakHash = try reader.integer(as: UInt32.self) }
            if form == .explicit {
                block.offset = try reader.integer(as: Int64.self)
                block.size = try reader.integer(as: Int32.self)
                guard block.offset >= 0, block.size >= 0, block.offset <= file.size,
                    // bounded: both are from zero on, and the offset is within the file
                    Int64(block.size) <= file.size - block.offset
                else { throw MalformedRow("a block outside of its file") }
            } else {
                // bounded: both are from zero on, and the offset is within the file
                guard blockSize > 0, let size = Int32(exactly: min(blockSize, file.size - offset)), size > 0 else {
                    throw MalformedRow("block list longer than its file")
                }
                block.size = size
                offset += Int64(size)
            }
            blocks.append(block)
        }
        return blocks
    }

    /// SHA-256 over the hashes of the blocks that `encode` wrote, as `FileInfo.blocksHash(of:)` has it.
    static func blocksHash(_ bytes: UnsafeRawBufferPointer) throws -> SHA256Digest {
        guard let first = bytes.first, let form = Form(rawValue: first) else { throw MalformedRow("block list") }
        let width =
            switch form {
            case .hashes: SHA256Digest.byteCount
            case .weakHashes: SHA256Digest.byteCount + 4
            case .explicit: SHA256Digest.byteCount + 16
            }
        let rows = UnsafeRawBufferPointer(rebasing: bytes[1...])
        guard !rows.isEmpty, rows.count.isMultiple(of: width) else { throw MalformedRow("block list") }
        if form == .hashes { return SHA256.digest(rows) }
        var hasher = SHA256Hasher()
        for start in stride(from: 0, to: rows.count, by: width) {
            hasher.update(UnsafeRawBufferPointer(rebasing: rows[start..<start + SHA256Digest.byteCount]))
        }
        return hasher.finalize()
    }

    /// Whether every block but the last has the file's block size and the last ends with the file.
    private static func isRegular(_ file: FileInfo) -> Bool {
        let blockSize = Int64(file.effectiveBlockSize)
        guard blockSize > 0, file.size > 0 else { return false }
        var offset: Int64 = 0
        for block in file.blocks {
            // bounded: both are from zero on, and the offset is within the file
            guard block.offset == offset, block.size > 0, Int64(block.size) == min(blockSize, file.size - offset) else {
                return false
            }
            // bounded: both are from zero on, and the offset is within the file
            offset += Int64(block.size)
        }
        return offset == file.size
    }
}
