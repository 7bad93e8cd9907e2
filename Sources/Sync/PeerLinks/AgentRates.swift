import AgentConfiguration
import AgentContext
import BlockExchange

/// How fast blocks go out and come in, and files that links lead to go out: as the configuration and the policies say.
package struct AgentRates: Sendable {
    private let up: RateLimiter
    private let down: RateLimiter
    /// Of files that links lead to.
    package let files: RateLimiter
    private let blocks: SharedLimits
    private let devices: DeviceRates
    private let fileRate: SharedRate

    package init(_ configuration: Configuration, held: @escaping @Sendable () -> HeldTransfers, time: AgentTime) {
        let blocks = SharedLimits(configuration.limits, held: held)
        let now = { @Sendable in
            let seconds = time.wall().seconds
            return blocks.rates(at: seconds, utcOffset: WallTime.utcOffset(seconds))
        }
        let fileRate = SharedRate(configuration.http.rate)
        (self.blocks, self.fileRate) = (blocks, fileRate)
        devices = DeviceRates(configuration.devices, time: time)
        up = RateLimiter(time: time) { now().up }
        down = RateLimiter(time: time) { now().down }
        files = RateLimiter(time: time) { fileRate.current }
    }

    package func set(_ configuration: Configuration) {
        blocks.set(configuration.limits)
        devices.set(configuration.devices)
        policiesChanged()
        fileRate.set(configuration.http.rate)
        files.limitsChanged()
    }

    package func policiesChanged() {
        up.limitsChanged()
        down.limitsChanged()
    }

    /// Of a link with a device: the common limits and its own; nil for a link that has none.
    package func limits(for route: LinkRoute, of device: DeviceID) -> LinkLimits? {
        guard route != .radio else { return nil }
        let own = devices.limits(of: device)
        return LinkLimits(parts: [
            LinkLimits.Part(up: own.up, down: own.down, holds: { [blocks] in blocks.holdForDevice(over: route) }),
            LinkLimits.Part(up: up, down: down, holds: { [blocks] in blocks.hold(for: route) }),
        ])
    }
}
