import AgentConfiguration
import AgentContext

/// How fast blocks go out and come in, and files that links lead to go out: as the configuration and the policies say.
package struct AgentRates: Sendable {
    private let up: RateLimiter
    private let down: RateLimiter
    /// Of files that links lead to.
    package let files: RateLimiter
    private let blocks: SharedLimits
    private let fileRate: SharedRate

    package init(_ configuration: Configuration, held: @escaping @Sendable () -> HeldTransfers, time: AgentTime) {
        let blocks = SharedLimits(configuration.limits, held: held)
        let now = { @Sendable in
            let seconds = time.wall().seconds
            return blocks.rates(at: seconds, utcOffset: WallTime.utcOffset(seconds))
        }
        let fileRate = SharedRate(configuration.http.rate)
        (self.blocks, self.fileRate) = (blocks, fileRate)
        up = RateLimiter(time: time) { now().up }
        down = RateLimiter(time: time) { now().down }
        files = RateLimiter(time: time) { fileRate.current }
    }

    package func set(_ configuration: Configuration) {
        blocks.set(configuration.limits)
        policiesChanged()
        fileRate.set(configuration.http.rate)
        files.limitsChanged()
    }

    package func policiesChanged() {
        up.limitsChanged()
        down.limitsChanged()
    }

    /// Of a link; nil for one that has none.
    package func limits(for route: LinkRoute) -> LinkLimits? {
        guard route != .radio else { return nil }
        return LinkLimits(up: up, down: down, holds: { [blocks] in blocks.hold(for: route) })
    }
}
