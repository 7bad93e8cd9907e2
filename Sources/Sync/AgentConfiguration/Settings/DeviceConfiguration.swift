import BlockExchange

/// A device that this one knows and accepts links from.
package struct DeviceConfiguration: Equatable, Sendable {
    package var id: DeviceID
    /// What the user calls it; may be empty.
    package var name: String
    /// Where to dial it, in this order: `dynamic` or `tcp://host:port` each. Empty: it is left to dial us.
    package var addresses: [String]
    /// What may go over Bluetooth with this device, if its folders allow that much.
    package var bluetooth: BluetoothUse
    /// Neither dialled nor let in.
    package var isPaused: Bool
    /// When the pause ends by itself, in seconds since 1970; nil: only when told to.
    package var pausedUntil: Int64?
    /// The admin whose word of a folder brought it here, and may take it away again; nil for one of the user's own.
    package var introducedBy: DeviceID?

    package init(
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
