import AgentConfiguration
import AsyncTools
import ControlAPI
import Synchronization

/// The policies of the configuration, the state of the machine and what the user said of both, put together.
package final class PolicyBoard: Sendable {
    private enum Override: Equatable {
        case none
        case untilTold
        /// Seconds since 1970.
        case until(Int64)

        func holds(at now: Int64) -> Bool {
            switch self {
            case .none: false
            case .untilTold: true
            case .until(let end): now < end
            }
        }
    }

    private struct State {
        var policies: TransferPolicies
        var override = Override.none
        var held = HeldTransfers()
    }

    package let source: (any MachineStateSource)?
    /// Something may be other than it was; `Agent.followPolicies` waits for it.
    package let changed = Signal()
    private let state: Mutex<State>

    package init(_ policies: TransferPolicies, source: (any MachineStateSource)?) {
        self.source = source
        state = Mutex(State(policies: policies))
    }

    /// As of the last `refresh`.
    package var held: HeldTransfers { state.withLock { $0.held } }

    package func set(_ policies: TransferPolicies) {
        state.withLock { $0.policies = policies }
        changed.notify()
    }

    /// Sets all policies aside, until so many seconds since 1970, or for nil until told otherwise; or has them hold again.
    package func setIgnored(_ isIgnored: Bool, until: Int64?) {
        state.withLock { $0.override = !isIgnored ? .none : until.map { .until($0) } ?? .untilTold }
        changed.notify()
    }

    /// Works out again what holds. Gives whether that is other than before, and when, in seconds since 1970, to look again
    /// though nothing is said.
    package func refresh(at now: Int64) -> (isOther: Bool, next: Int64?) {
        let conditions = source?.conditions ?? MachineConditions()
        return state.withLock { state in
            if !state.override.holds(at: now) { state.override = .none }
            let held = HeldTransfers(state.policies, in: conditions, isIgnored: state.override != .none)
            defer { state.held = held }
            let next: Int64? = if case .until(let end) = state.override { end } else { nil }
            return (held != state.held, next)
        }
    }

    package var status: PolicyStatus {
        let conditions = source?.conditions ?? MachineConditions()
        let (held, override) = state.withLock { ($0.held, $0.override) }
        let ignoredUntil: String? =
            if case .until(let end) = override { WallTime(seconds: end).rfc3339 } else { nil }
        return PolicyStatus(
            metered: PolicyStatus.Answer(conditions.isMetered), battery: PolicyStatus.Answer(conditions.isOnBattery),
            charge: conditions.charge,
            holds: held.holds.map {
                PolicyStatus.Hold(
                    cause: $0.cause.rawValue, restraint: $0.restraint.rawValue, message: $0.text, remedy: $0.remedy)
            }, isIgnored: override != .none, ignoredUntil: ignoredUntil,
            remarks: source?.remarks
                ?? ["no system bus; the state of connection and battery is unknown"])
    }
}
