import BlockExchange
import Synchronization

@testable import AgentContext
@testable import AsyncTools

/// Time that moves only between two steps of a simulation, the same for all agents; their wall clocks differ.
final class VirtualTime: Sendable {
    /// 2001-09-09: earlier than anything that the disk's real clock stamps, so that such stamps can be told apart.
    static let origin: Int64 = 1_000_000_000
    /// The disk's clock is far beyond this one.
    static let firstRealSecond: Int64 = 1_500_000_000

    private let elapsed = Mutex(Duration.zero)

    var now: Duration { elapsed.withLock { $0 } }

    func advance(by duration: Duration) { elapsed.withLock { $0 += duration } }

    /// The wall clock of a device that is so many seconds ahead of the true time.
    func wall(skew: Int64) -> WallTime {
        let parts = now.components
        return WallTime(
            seconds: Self.origin + skew + parts.seconds, nanoseconds: Int32(parts.attoseconds / 1_000_000_000))
    }
}

/// The clock that belongs to it: what waits for a later moment waits for its cancellation, because no moment is later
/// for as long as a step runs.
struct VirtualClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Swift.Duration

        func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Swift.Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    let time: VirtualTime

    var now: Instant { Instant(offset: time.now) }
    var minimumResolution: Swift.Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
        guard deadline > now else { return }
        await Signal().wait()
        throw CancellationError()
    }
}
