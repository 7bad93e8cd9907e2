import BlockExchange

/// A device that this one knows and accepts links from.
public struct DeviceConfiguration: Equatable, Sendable {
    public var id: DeviceID
    /// What the user calls it; may be empty.
    public var name: String
    /// Where to dial it, in this order: `dynamic` or `tcp://host:port` each. Empty: it is left to dial us.
    public var addresses: [String]
    /// What may go over Bluetooth with this device, if its folders allow that much.
    public var bluetooth: BluetoothUse
    /// Neither dialled nor let in.
    public var isPaused: Bool
    /// When the pause ends by itself, in seconds since 1970; nil: only when told to.
    public var pausedUntil: Int64?
    /// The admin whose word of a folder brought it here, and may take it away again; nil for one of the user's own.
    public var introducedBy: DeviceID?

    public init(
        id: DeviceID, name: String = "", addresses: [String] = ["dynamic"], bluetooth: BluetoothUse = .all,
        isPaused: Bool = false, pausedUntil: Int64? = nil, introducedBy: DeviceID? = nil
    ) {
        self.id = id
        self.name = name
        self.addresses = addresses
        self.bluetooth = bluetooth
        self.isPaused = isPaused
        self.pausedUntil = pausedUntil
        self.introducedBy = introducedBy
    }

    func problem() -> (key: String, problem: SettingProblem)? {
        if let problem = Configuration.problem(name: name) { return ("name", problem) }
        for address in addresses {
            if let message = AddressSyntax.problem(deviceAddress: address) {
                return ("addresses", SettingProblem(.invalidValue, message))
            }
        }
        return nil
    }
}
