/// What is known of how this machine is connected and powered; nil is what nobody says.
package struct MachineConditions: Equatable, Sendable {
    /// Whether what goes over its way to the Internet is counted, for sure or by the system's guess.
    package var isMetered: Bool?
    package var isOnBattery: Bool?
    /// Of all its batteries together, 0 to 100.
    package var charge: Double?

    /// Clamps a charge in percent, as a service reports it, to 0 to 100; nil if it is not a number.
    package static func charge(percent: Double?) -> Double? {
        percent.flatMap { $0.isNaN ? nil : min(max($0, 0), 100) }
    }

    package init(isMetered: Bool? = nil, isOnBattery: Bool? = nil, charge: Double? = nil) {
        self.isMetered = isMetered
        self.isOnBattery = isOnBattery
        self.charge = charge
    }
}

/// What the machine is about to do, or has done.
package enum MachineSleep: Sendable {
    /// It sleeps once nobody keeps `hold` any more, or after some seconds; nil if it does not wait.
    case begins(hold: (any Sendable)?)
    case over
}
