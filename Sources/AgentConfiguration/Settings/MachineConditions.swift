/// What is known of how this machine is connected and powered; nil is what nobody says.
public struct MachineConditions: Equatable, Sendable {
    /// Whether what goes over its way to the Internet is counted, for sure or by the system's guess.
    public var isMetered: Bool?
    public var isOnBattery: Bool?
    /// Of all its batteries together, 0 to 100.
    public var charge: Double?

    public init(isMetered: Bool? = nil, isOnBattery: Bool? = nil, charge: Double? = nil) {
        self.isMetered = isMetered
        self.isOnBattery = isOnBattery
        self.charge = charge
    }
}
