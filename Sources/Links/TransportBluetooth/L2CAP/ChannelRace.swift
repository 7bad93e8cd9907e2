import Glibc
import MessageBus

/// Sockets that connect at the same time: the first that is connected wins, and the others are closed.
///
/// They are closed when they have been answered, too: who closes a channel that the peer is just granting leaves one there
/// that only the peer knows of.
struct ChannelRace {
    /// Not answered yet.
    private(set) var pending: [L2CAPSocket]
    private(set) var winner: L2CAPSocket?
    /// Why the last one that failed did.
    private(set) var failure: SystemError?
    private var isCancelled = false

    /// How long the others may take once one is connected.
    var restLimit = Duration.seconds(1)

    init(_ sockets: [L2CAPSocket]) { pending = sockets }

    /// Waits in this thread until one is connected and the others are answered, all have failed, `limit` is over, or
    /// `stream` has ended, which is the cancellation. The winner, or why there is none: ECANCELED, ETIMEDOUT when one was
    /// not answered, else what the last one failed of.
    mutating func run(limit: Duration, orEndOf stream: Descriptor) -> Result<L2CAPSocket, SystemError> {
        wait(until: ContinuousClock.now + limit, stream) { $0.winner != nil }
        if winner != nil { wait(until: ContinuousClock.now + restLimit, stream) { _ in false } }
        if isCancelled { return .failure(SystemError("connect", ECANCELED)) }
        if let winner { return .success(winner) }
        return .failure(pending.isEmpty ? failure ?? SystemError("connect", EINVAL) : SystemError("connect", ETIMEDOUT))
    }

    /// Those that were not answered, for who wants them to stay open.
    mutating func takePending() -> [L2CAPSocket] {
        defer { pending = [] }
        return pending
    }

    private mutating func wait(until deadline: ContinuousClock.Instant, _ stream: Descriptor, _ isOver: (Self) -> Bool)
    {
        while !isCancelled, !pending.isEmpty, !isOver(self), ContinuousClock.now < deadline {
            var poll = Poll()
            poll.add(stream.number, [])
            for socket in pending { poll.add(socket.descriptor.number, .writable) }
            let events = poll.wait(deadline - ContinuousClock.now)
            if !events[0].isDisjoint(with: .ended) { isCancelled = true }
            let answered = zip(pending, events.dropFirst()).filter { !$1.isEmpty }.map(\.0)
            pending = zip(pending, events.dropFirst()).filter { $1.isEmpty }.map(\.0)
            for socket in answered {
                let code = socket.descriptor.pendingError()
                if code != 0 { failure = SystemError("connect", code) } else if winner == nil { winner = socket }
            }
        }
    }
}
