import BlockExchange
import NIOCore
import NIOPosix
import SyncTestKit
import Synchronization
import Transport

@testable import AgentContext
@testable import Fetching

/// Which agents can reach which; and, for each direction, what of an index is on its way. What was sent arrives in the
/// order it was sent, or not at all once the link breaks.
final class Network: Sendable {
    /// An index on its way from one agent to another.
    struct Feed: Sendable {
        var position: Int64
        var isFull: Bool
        var waiting: [IndexBatch] = []
    }

    struct Pair: Hashable, Sendable {
        var from: Int
        var to: Int

        var reversed: Pair { Pair(from: to, to: from) }
    }

    private struct State {
        var feeds: [Pair: Feed] = [:]
        /// Which of several holders is asked.
        var preference = 0
    }

    private let state = Mutex(State())

    func feed(_ pair: Pair) -> Feed? { state.withLock { $0.feeds[pair] } }
    func set(_ pair: Pair, _ feed: Feed?) { state.withLock { $0.feeds[pair] = feed } }
    func isUp(_ pair: Pair) -> Bool { state.withLock { $0.feeds[pair] != nil } }
    func prefer(_ preference: Int) { state.withLock { $0.preference = preference } }

    func cut(_ pair: Pair) {
        state.withLock { state in
            state.feeds[pair] = nil
            state.feeds[pair.reversed] = nil
        }
    }

    func update(_ pair: Pair, _ body: (inout Feed) -> Void) {
        state.withLock { state in
            guard var feed = state.feeds[pair] else { return }
            body(&feed)
            state.feeds[pair] = feed
        }
    }

    /// The one of the reachable among `candidates` that is asked for everything in this step.
    func choice(for agent: Int, among candidates: [Int]) -> Int? {
        state.withLock { state in
            let reachable = candidates.filter { state.feeds[Pair(from: $0, to: agent)] != nil }
            return reachable.isEmpty ? nil : reachable[state.preference % reachable.count]
        }
    }
}

/// A link as the fetching side sees it: the other agent answers at once, unless the link breaks.
struct SimulatedSource: BlockSource {
    let simulation: Simulation
    let pair: Network.Pair

    let kind = LinkKind.tcp
    let route = LinkRoute.internet
    /// A link that breaks stays broken for the step.
    var isOpen: Bool { false }

    func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
        try await simulation.request(request, over: pair)
    }
}
