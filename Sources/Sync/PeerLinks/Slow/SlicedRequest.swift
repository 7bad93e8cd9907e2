import BlockExchange
import Cryptography
import Fetching
import NIOCore
import SyncDecisions
import Synchronization

/// Gets a block over a slow link in slices, so that other requests go between them, nothing much comes in vain after a
/// cancellation, and what came before the link went need not come again.
///
/// Only for peers that answer parts of a block: a Syncthing takes such a request for a damaged file of its own. The
/// block's hash is checked by whoever asked, over the whole.
struct SlicedRequest: Sendable {
    /// Slices of one block that are asked for at the same time: as many as a window holds.
    private static let slicesAtOnce = 2

    let turns: RequestTurns<SliceWindow>
    let partials: PartialBlocks
    let isBulk: Bool
    /// Asks the peer for some bytes. Throws `RequestError` or `CancellationError`.
    let ask: @Sendable (BlockRequest) async throws -> ByteBuffer

    /// The block's bytes, if the peer sent as many as were asked for. Throws `RequestError` or `CancellationError`.
    func run(_ request: BlockRequest) async throws -> ByteBuffer {
        let ticket = turns.ticket(isBulk: isBulk)
        guard let hash = request.hash, request.size > SliceWindow.smallestSlice else {
            return try await whole(request, ticket)
        }
        let key = PartialBlocks.Key(folder: request.folder, hash: hash)
        let work = Work(partials.take(key, byteCount: Int(request.size)))
        do {
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<Self.slicesAtOnce { group.addTask { try await self.getSlices(of: request, work, ticket) } }
            }
        } catch {
            partials.keep(work.block, as: key)
            throw withoutPart(error)
        }
        return work.block.bytes
    }

    private func whole(_ request: BlockRequest, _ ticket: RequestTurns<SliceWindow>.Ticket) async throws -> ByteBuffer {
        do {
            return try await turns.withTurn(atMost: Int(request.size), ticket) { _ in try await ask(request) }
        } catch {
            throw withoutPart(error)
        }
    }

    private func getSlices(of request: BlockRequest, _ work: Work, _ ticket: RequestTurns<SliceWindow>.Ticket)
        async throws
    {
        while let count = work.unclaimedCount {
            try await turns.withTurn(atMost: count, ticket) { count in
                // Others may have claimed it meanwhile.
                guard let range = work.claim(atMost: count) else { return }
                var slice = request
                // bounded: within the block, which is within its file
                slice.offset += Int64(range.lowerBound)
                slice.size = Int32(range.count)
                slice.hash = nil
                slice.weakHash = 0
                let bytes: ByteBuffer
                do {
                    bytes = try await ask(slice)
                } catch RequestError.cutShort(let part) {
                    work.put(part, at: range.lowerBound)
                    throw RequestError.linkLost
                }
                guard bytes.readableBytes == range.count else { throw RequestError.refused(.generic) }
                work.put(bytes, at: range.lowerBound)
            }
        }
    }

    /// The part that came has been kept: whoever asked for the block learns only that the link is lost.
    private func withoutPart(_ error: any Error) -> any Error {
        if case RequestError.cutShort = error { RequestError.linkLost } else { error }
    }

    /// One block, on which some tasks work.
    private final class Work: Sendable {
        private let state: Mutex<(block: PartialBlock, unclaimed: [Range<Int>])>

        init(_ block: PartialBlock) { state = Mutex((block, block.missing)) }

        var block: PartialBlock { state.withLock { $0.block } }

        /// How many bytes follow each other that nobody has claimed; nil if all are claimed.
        var unclaimedCount: Int? { state.withLock { $0.unclaimed.first?.count } }

        func claim(atMost count: Int) -> Range<Int>? {
            state.withLock { state in
                guard let gap = state.unclaimed.first else { return nil }
                let range = gap.lowerBound..<min(gap.upperBound, gap.lowerBound + count)
                if range == gap {
                    state.unclaimed.removeFirst()
                } else {
                    state.unclaimed[0] = range.upperBound..<gap.upperBound
                }
                return range
            }
        }

        func put(_ bytes: ByteBuffer, at offset: Int) { state.withLock { $0.block.put(bytes, at: offset) } }
    }
}
