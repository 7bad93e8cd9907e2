import Phrases

/// What may go over links while the connection is metered, or while the machine runs on its battery.
package struct TransferPolicies: Equatable, Sendable {
    /// The names are those of the configuration file. Each lets less go than the one before.
    package enum Restraint: String, CaseIterable, Comparable, Sendable {
        case nothing
        /// Everything, and slowly.
        case limit
        /// What a person asks for and what other devices ask for; what this device keeps waits.
        case onDemandOnly = "on-demand-only"
        /// The index alone.
        case pause

        package static func < (left: Self, right: Self) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    package enum Cause: String, CaseIterable, Sendable {
        case metered
        case battery
    }

    /// A policy that holds, and what it does.
    package struct Hold: Hashable, Sendable {
        package var cause: Cause
        package var restraint: Restraint

        package init(_ cause: Cause, _ restraint: Restraint) {
            self.cause = cause
            self.restraint = restraint
        }
    }

    static let charges = 1...100
    /// Such a charge is none to wait for: the battery alone decides.
    private static let anyCharge = 100

    package var onMetered: Restraint
    package var onBattery: Restraint
    /// In percent; what is to happen on battery happens below it, and at 100 always.
    package var batteryBelow: Int
    /// Bytes per second each way for `limit`.
    package var meteredRate: Int64
    /// Whether `onMetered` holds for links within the local network as well.
    package var includesLocalNetwork: Bool

    package init(
        onMetered: Restraint = .onDemandOnly, onBattery: Restraint = .nothing, batteryBelow: Int = 30,
        meteredRate: Int64 = 256 << 10, includesLocalNetwork: Bool = false
    ) {
        self.onMetered = onMetered
        self.onBattery = onBattery
        self.batteryBelow = batteryBelow
        self.meteredRate = meteredRate
        self.includesLocalNetwork = includesLocalNetwork
    }

    /// Those that hold; what nobody says holds nothing.
    package func holds(in conditions: MachineConditions) -> [Hold] {
        var holds: [Hold] = []
        if conditions.isMetered == true, onMetered != .nothing { holds.append(Hold(.metered, onMetered)) }
        let isLow = batteryBelow >= Self.anyCharge || conditions.charge.map { $0 < Double(batteryBelow) } ?? false
        if conditions.isOnBattery == true, isLow, onBattery != .nothing { holds.append(Hold(.battery, onBattery)) }
        return holds
    }

    func problem() -> (key: String, problem: SettingProblem)? {
        if onBattery == .limit {
            return (
                "on-battery",
                SettingProblem(
                    .invalidValue,
                    "a slow transfer uses more energy than a fast one; use `\"on-demand-only\"`, `\"pause\"` "
                        + "or `\"nothing\"`")
            )
        }
        if !Self.charges.contains(batteryBelow) {
            return (
                "battery-below",
                SettingProblem(
                    .invalidValue, "the charge must be between 1 and 100 percent; 100 applies whenever on battery")
            )
        }
        if meteredRate < TransferLimits.slowest {
            return (
                "metered-limit",
                SettingProblem(
                    .invalidValue, "a limit is at least 1 KiB/s; `on-metered = \"pause\"` stops all transfers")
            )
        }
        return nil
    }
}
