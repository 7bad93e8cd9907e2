/// What is known of how this machine is connected and powered; nil is what nobody says.
public struct MachineConditions: Equatable, Sendable {
    /// Whether what goes over its way to the Internet is counted, for sure or by the system's guess.
    public var isMetered: Bool?
    public var isOnBattery: Bool?
    /// Of all its batteries together, 0 to 100.
    public var charge: Double?

    /// Clamps a charge in percent, as a service reports it, to 0 to 100; nil if it is not a number.
    public static func charge(percent: Double?) -> Double? {
        percent.flatMap { $0.isNaN ? nil : min(max($0, 0), 100) }
    }

    public init(isMetered: Bool? = nil, isOnBattery: Bool? = nil, charge: Double? = nil) {
        self.isMetered = isMetered
        self.isOnBattery = isOnBattery
        self.charge = charge
    }
}
