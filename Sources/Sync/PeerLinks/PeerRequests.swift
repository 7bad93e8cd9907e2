import AsyncTools
import BlockExchange
import Phrases

/// What a peer has asked for on a link and has not been answered yet. Bounded: each kind of request has a queue of its own.
final class PeerRequests: Sendable {
    typealias Blocks = [(id: Int32, request: BlockRequest)]

    /// Requests for blocks. Syncthing has some hundreds under way; a peer that asks for more than this without reading answers
    /// loses its link. A request holds a name: some MiB at the very most.
    static let blockLimit = 4096
    /// Requests about promises. A synctrain has one or two under way.
    static let keepLimit = 8
    /// Requests to test addresses. A synctrain has one under way.
    static let reachLimit = 2
    /// Requests to rename. A synctrain has one or two under way.
    static let renameLimit = 8
    /// Requests for blocks that are answered together, and bytes from which on no more are.
    static let together = 32
    static let togetherByteCount = 64 << 10

    private let blocks = BoundedQueue<(id: Int32, request: BlockRequest)>(limit: blockLimit)
    let keeps = BoundedQueue<(id: Int32, request: KeepRequest)>(limit: keepLimit)
    let reaches = BoundedQueue<(id: Int32, request: ReachRequest)>(limit: reachLimit)
    let renames = BoundedQueue<(id: Int32, request: RenameRequest)>(limit: renameLimit)

    /// Keeps a request until somebody answers it. Never waits.
    ///
    /// - Returns: why the link is to end; nil if there was room, and for any other event.
    func take(_ event: ConnectionEvent) -> Phrase? {
        switch event {
        case .request(let id, let request) where !blocks.sendIfRoom((id, request)):
            LinkEnd.waitingBlocks(Self.blockLimit)
        case .keepRequest(let id, let request) where !keeps.sendIfRoom((id, request)):
            LinkEnd.waitingKeeps(Self.keepLimit)
        case .reachRequest(let id, let request) where !reaches.sendIfRoom((id, request)):
            LinkEnd.waitingReaches(Self.reachLimit)
        case .renameRequest(let id, let request) where !renames.sendIfRoom((id, request)):
            LinkEnd.waitingRenames(Self.renameLimit)
        default: nil
        }
    }

    /// Waits for a request for a block; nil when no more come.
    func nextBlock() async -> Blocks.Element? { await blocks.next() }

    /// The requests for blocks that are answered together with `first`: those that have come by now.
    func batch(with first: Blocks.Element) -> Blocks {
        var taken = [first]
        var byteCount = Int(first.request.size)
        while taken.count < Self.together, byteCount < Self.togetherByteCount, let next = blocks.nextIfReady() {
            taken.append(next)
            // bounded: 32 requests of at most 32 MiB
            byteCount += Int(next.request.size)
        }
        return taken
    }

    func finish() {
        blocks.finish()
        keeps.finish()
        reaches.finish()
        renames.finish()
    }
}
