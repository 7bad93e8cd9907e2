import AsyncTools
import LinkRules
import NIOCore
import Synchronization

/// Measures what a link over a network carries, and notices when nothing that is sent arrives any more: TCP itself says so after
/// many minutes only. Costs nothing while nothing is sent.
package final class LinkGauge: Sendable {
    package enum Finding: Sendable {
        /// So many bytes per second came while it was busy.
        case carried(Double)
        /// What was sent has not been acknowledged for `patience`, nor anything before it.
        case unacknowledged
    }

    static let patience: Duration = .seconds(2)

    private let state = Mutex((rate: BusyRate(), carried: Double?.none, last: Double?.none))
    /// Whether something was sent since the last look.
    private let isUsed = Atomic<Bool>(false)
    private let used = Signal()

    func asked(_ count: Int, received: Int64, at now: Duration) {
        state.withLock { $0.rate.asked(count, received: received, at: now) }
    }

    func ended(_ count: Int, received: Int64, at now: Duration) {
        state.withLock { state in
            if let carried = state.rate.ended(count, received: received, at: now) {
                (state.carried, state.last) = (carried, carried)
            }
        }
    }

    /// What came per second when it was busy last.
    var lastRate: Double? { state.withLock { $0.last } }

    func sent() {
        if !isUsed.exchange(true, ordering: .relaxed) { used.notify() }
    }

    /// Looks at the socket some time after something was sent, until cancelled.
    func run(
        _ socket: any SocketOptionProvider, clock: any Clock<Duration>, report: (Finding) async -> Void
    ) async throws {
        while true {
            await used.wait()
            isUsed.store(false, ordering: .relaxed)
            try await clock.sleep(for: Self.patience)
            let carried = state.withLock { state in
                defer { state.carried = nil }
                return state.carried
            }
            if let carried { await report(.carried(carried)) }
            // A socket that is closed already ends the link by itself.
            while let standing = try? await socket.getTCPInfo().get(), standing.tcpi_unacked > 0 {
                let silence = Duration.milliseconds(Int64(standing.tcpi_last_ack_recv))
                guard silence < Self.patience else {
                    await report(.unacknowledged)
                    sent()
                    break
                }
                try await clock.sleep(for: Self.patience - silence + .milliseconds(1))
            }
        }
    }
}
