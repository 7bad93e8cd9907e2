import Arithmetic
import NIOCore

/// The time on an air: that of the event loop, so many times as fast.
struct AirClock: Sendable {
    private let start = NIODeadline.now()
    let speed: Double

    init(speed: Double) { self.speed = max(0.001, speed) }

    var now: Duration { .nanoseconds(Int64(nearest: Double((NIODeadline.now() - start).nanoseconds) * speed)) }

    /// When it is `time` on the air.
    func deadline(of time: Duration) -> NIODeadline {
        start + .nanoseconds(Int64(nearest: (Double(time.nanoseconds) / speed).rounded(.up)))
    }
}
