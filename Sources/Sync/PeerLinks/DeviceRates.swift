import AgentConfiguration
import AgentContext
import BlockExchange
import Synchronization

/// The limits of single devices, beside those of all links together.
final class DeviceRates: Sendable {
    /// One device's, for all its links over networks.
    final class Limits: Sendable {
        let up: RateLimiter
        let down: RateLimiter
        private let rates: (up: SharedRate, down: SharedRate)

        fileprivate init(_ rates: TransferLimits.Rates, time: AgentTime) {
            let (up, down) = (SharedRate(rates.up), SharedRate(rates.down))
            self.rates = (up, down)
            self.up = RateLimiter(time: time) { up.current }
            self.down = RateLimiter(time: time) { down.current }
        }

        fileprivate func set(_ new: TransferLimits.Rates) {
            rates.up.set(new.up)
            rates.down.set(new.down)
            up.limitsChanged()
            down.limitsChanged()
        }
    }

    private struct State {
        var rates: [DeviceID: TransferLimits.Rates] = [:]
        /// Of devices that have had a link.
        var limits: [DeviceID: Limits] = [:]
    }

    private let state = Mutex(State())
    private let time: AgentTime

    init(_ devices: [DeviceConfiguration], time: AgentTime) {
        self.time = time
        set(devices)
    }

    /// Open links follow at once.
    func set(_ devices: [DeviceConfiguration]) {
        let rates = Dictionary(devices.map { ($0.id, $0.rates) }, uniquingKeysWith: { first, _ in first })
        let limits = state.withLock { state in
            state.rates = rates
            state.limits = state.limits.filter { rates[$0.key] != nil }
            return state.limits
        }
        for (device, limits) in limits { limits.set(rates[device] ?? TransferLimits.Rates()) }
    }

    func limits(of device: DeviceID) -> Limits {
        state.withLock { state in
            if let limits = state.limits[device] { return limits }
            let limits = Limits(state.rates[device] ?? TransferLimits.Rates(), time: time)
            state.limits[device] = limits
            return limits
        }
    }
}
