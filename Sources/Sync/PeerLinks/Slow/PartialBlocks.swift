import BlockExchange
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
/// much of it. What came for one folder is of no use for another: a device that knows only the hash must not get the content.
package final class PartialBlocks: Sendable {
    package struct Key: Hashable, Sendable {
        package var folder: FolderID
        package var hash: SHA256Digest

        package init(folder: FolderID, hash: SHA256Digest) {
            self.folder = folder
            self.hash = hash
        }
    }

    private struct State {
        var blocks: [Key: PartialBlock] = [:]
        var order: [Key] = []
        var byteCount = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: bytes of memory that all of them may take.
    package init(limit: Int = 64 << 20) { self.limit = limit }

    /// What there is of a block, which is the caller's from then on.
    package func take(_ key: Key, byteCount: Int) -> PartialBlock {
        state.withLock { state in
            guard let block = Self.remove(key, from: &state), block.byteCount == byteCount else {
                return PartialBlock(byteCount: byteCount)
            }
            return block
        }
    }

    /// Keeps a block of which some bytes have come, for the next who takes it.
    package func keep(_ block: PartialBlock, as key: Key) {
        guard block.missingByteCount < block.byteCount, block.byteCount <= limit else { return }
        state.withLock { state in
            if let other = Self.remove(key, from: &state), other.missingByteCount < block.missingByteCount {
                return Self.insert(other, key, into: &state)
            }
            Self.insert(block, key, into: &state)
            while state.byteCount > limit, let oldest = state.order.first { _ = Self.remove(oldest, from: &state) }
        }
    }

    private static func insert(_ block: PartialBlock, _ key: Key, into state: inout State) {
        state.blocks[key] = block
        state.order.append(key)
        state.byteCount += block.byteCount
    }

    private static func remove(_ key: Key, from state: inout State) -> PartialBlock? {
        guard let block = state.blocks.removeValue(forKey: key) else { return nil }
        state.order.removeAll { $0 == key }
        state.byteCount -= block.byteCount
        return block
    }
}
