import BlockExchange

/// Where the agent gets time and chance from; tests give their own.
package struct AgentTime: Sendable {
    package var clock: any Clock<Duration>
    /// Never goes back; for timers.
    package var monotonic: @Sendable () -> MonotonicTime
    /// The wall clock; for versions and for people.
    package var wall: @Sendable () -> WallTime
    /// Uniform in 0..<1.
    package var random: @Sendable () -> Double

    package init(
        clock: any Clock<Duration>, monotonic: @escaping @Sendable () -> MonotonicTime,
        wall: @escaping @Sendable () -> WallTime, random: @escaping @Sendable () -> Double
    ) {
        self.clock = clock
        self.monotonic = monotonic
        self.wall = wall
        self.random = random
    }

    package static var system: AgentTime {
        let origin = ContinuousClock.now
        return AgentTime(
            clock: ContinuousClock(), monotonic: { ContinuousClock.now - origin }, wall: { .now },
            random: { Double.random(in: 0..<1) })
    }
}
