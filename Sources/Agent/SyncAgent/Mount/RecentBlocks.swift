import BlockExchange
import Cryptography
import Fetching
import NIOCore
import Synchronization

/// The blocks that a mount read last, in memory: the kernel asks for a block in many parts.
final class RecentBlocks: Sendable {
    private static let byteLimit = 64 << 20

    private struct State {
        var blocks: [SHA256Digest: ByteBuffer] = [:]
        var order = UseOrder<SHA256Digest>()
        var byteCount = 0
    }

    private let state = Mutex(State())

    func block(_ hash: SHA256Digest) -> ByteBuffer? {
        state.withLock { state in
            guard let bytes = state.blocks[hash] else { return nil }
            state.order.use(hash)
            return bytes
        }
    }

    func keep(_ bytes: ByteBuffer, _ hash: SHA256Digest) {
        state.withLock { state in
            if state.blocks.updateValue(bytes, forKey: hash) == nil {
                // bounded: the bytes of blocks in memory
                state.byteCount += bytes.readableBytes
            }
            state.order.use(hash)
            while state.byteCount > Self.byteLimit, state.blocks.count > 1, let oldest = state.order.takeOldest() {
                state.byteCount -= state.blocks.removeValue(forKey: oldest)?.readableBytes ?? 0
            }
        }
    }
}
