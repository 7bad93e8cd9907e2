import BlockExchange
import SyncTestKit

@testable import AgentContext
@testable import AsyncTools

/// Time that moves only when a simulation moves it, the same for all agents; their wall clocks differ.
final class VirtualTime: Sendable {
    /// 2001-09-09: earlier than anything that the disk's real clock stamps, so that such stamps can be told apart.
    static let origin: Int64 = 1_000_000_000
    /// The disk's clock is far beyond this one.
    static let firstRealSecond: Int64 = 1_500_000_000

    let clock = ManualClock()

    var now: Duration { clock.now.offset }
    /// When somebody is to wake who sleeps now.
    var nextWake: Duration? { clock.nextDeadline?.offset }

    /// Who was to wake until then can go on.
    func advance(by duration: Duration) { clock.advance(by: duration) }

    /// The wall clock of a device that is so many seconds ahead of the true time.
    func wall(skew: Int64) -> WallTime {
        let parts = now.components
        return WallTime(
            seconds: Self.origin + skew + parts.seconds, nanoseconds: Int32(parts.attoseconds / 1_000_000_000))
    }
}
