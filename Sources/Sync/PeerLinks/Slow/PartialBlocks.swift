import Cryptography
import NIOCore
import Synchronization

/// A block of which some bytes have come.
package struct PartialBlock: Sendable {
    package private(set) var bytes: ByteBuffer
    /// What is missing, in order, without gaps of no length.
    package private(set) var missing: [Range<Int>]

    init(byteCount: Int) {
        bytes = ByteBuffer(repeating: 0, count: byteCount)
        missing = byteCount > 0 ? [0..<byteCount] : []
    }

    package var byteCount: Int { bytes.readableBytes }
    var missingByteCount: Int { missing.reduce(0) { $0 + $1.count } }

    /// Takes bytes that belong at `offset`; those beyond the block's end are none of it.
    package mutating func put(_ slice: ByteBuffer, at offset: Int) {
        guard (0..<byteCount).contains(offset), slice.readableBytes > 0 else { return }
        // bounded: within the block, of 16 MiB at most
        let range = offset..<min(offset + slice.readableBytes, byteCount)
        // bounded: within the block, of 16 MiB at most
        bytes.setBytes(slice.readableBytesView.prefix(range.count), at: bytes.readerIndex + offset)
        missing = missing.flatMap { gap in
            [
                gap.lowerBound..<max(gap.lowerBound, min(gap.upperBound, range.lowerBound)),
                min(gap.upperBound, max(gap.lowerBound, range.upperBound))..<gap.upperBound,
            ].filter { !$0.isEmpty }
        }
    }
}

/// What came of blocks before their link went: a slow link need not bring it again. The oldest goes when there is too
/// much of it.
package final class PartialBlocks: Sendable {
    private struct State {
        var blocks: [SHA256Digest: PartialBlock] = [:]
        var order: [SHA256Digest] = []
        var byteCount = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: bytes of memory that all of them may take.
    package init(limit: Int = 64 << 20) { self.limit = limit }

    /// What there is of a block, which is the caller's from then on.
    package func take(_ hash: SHA256Digest, byteCount: Int) -> PartialBlock {
        state.withLock { state in
            guard let block = Self.remove(hash, from: &state), block.byteCount == byteCount else {
                return PartialBlock(byteCount: byteCount)
            }
            return block
        }
    }

    /// Keeps a block of which some bytes have come, for the next who takes it.
    package func keep(_ block: PartialBlock, hash: SHA256Digest) {
        guard block.missingByteCount < block.byteCount, block.byteCount <= limit else { return }
        state.withLock { state in
            if let other = Self.remove(hash, from: &state), other.missingByteCount < block.missingByteCount {
                return Self.insert(other, hash, into: &state)
            }
            Self.insert(block, hash, into: &state)
            while state.byteCount > limit, let oldest = state.order.first { _ = Self.remove(oldest, from: &state) }
        }
    }

    private static func insert(_ block: PartialBlock, _ hash: SHA256Digest, into state: inout State) {
        state.blocks[hash] = block
        state.order.append(hash)
        state.byteCount += block.byteCount
    }

    private static func remove(_ hash: SHA256Digest, from state: inout State) -> PartialBlock? {
        guard let block = state.blocks.removeValue(forKey: hash) else { return nil }
        state.order.removeAll { $0 == hash }
        state.byteCount -= block.byteCount
        return block
    }
}
