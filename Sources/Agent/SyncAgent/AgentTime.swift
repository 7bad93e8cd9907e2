import BlockExchange

/// Where the agent gets time and chance from; tests give their own.
public struct AgentTime: Sendable {
    public var clock: any Clock<Duration>
    /// Never goes back; for timers.
    public var monotonic: @Sendable () -> MonotonicTime
    /// The wall clock; for versions and for people.
    public var wall: @Sendable () -> WallTime
    /// Uniform in 0..<1.
    public var random: @Sendable () -> Double

    public init(
        clock: any Clock<Duration>, monotonic: @escaping @Sendable () -> MonotonicTime,
        wall: @escaping @Sendable () -> WallTime, random: @escaping @Sendable () -> Double
    ) {
        self.clock = clock
        self.monotonic = monotonic
        self.wall = wall
        self.random = random
    }

    public static var system: AgentTime {
        let origin = ContinuousClock.now
        return AgentTime(
            clock: ContinuousClock(), monotonic: { ContinuousClock.now - origin }, wall: { .now },
            random: { Double.random(in: 0..<1) })
    }
}
