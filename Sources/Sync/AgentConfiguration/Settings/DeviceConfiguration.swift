import BlockExchange
import LinkRules

/// A device that this one knows and accepts links from.
package struct DeviceConfiguration: Equatable, Sendable {
    package var id: DeviceID
    /// What the user calls it; may be empty.
    package var name: String
    /// Where to dial it, in this order: `dynamic`, `tcp://host:port` or `relay://host:port/?id=…` each. Empty: it is left to dial us.
    package var addresses: [String]
    /// What may go over Bluetooth with this device, if its folders allow that much.
    package var bluetooth: BluetoothUse
    /// Neither dialled nor let in.
    package var isPaused: Bool
    /// When the pause ends by itself, in seconds since 1970; nil: only when told to.
    package var pausedUntil: Int64?
    /// The quota that the device went over, for which the agent paused it; nil for a pause that the user wants.
    package var exceededQuota: DeviceQuota?
    /// The admin or introducer that brought it here and may remove it again; nil for one that the user added.
    package var introducedBy: DeviceID?
    /// Whether the devices that it shares folders with are added here and given those folders, as in Syncthing.
    package var isIntroducer = false
    /// Whether what it introduced stays when it no longer lists it.
    package var skipsIntroductionRemovals = false
    /// Networks that it may connect from and be dialled in, as `AllowedNetworks` reads them; empty for all.
    package var allowedNetworks: [String] = []
    /// Limits of its links over networks, beside those of all links together.
    package var rates = TransferLimits.Rates()
    /// How many connections it is given; nil: as many as all.
    package var connections: Int?

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
            if let text = AddressSyntax.problem(deviceAddress: address) {
                return ("addresses", SettingProblem(.invalidValue, text))
            }
        }
        do {
            _ = try AllowedNetworks(parsing: allowedNetworks)
        } catch {
            return ("allowed-networks", SettingProblem(.invalidValue, error.text))
        }
        for (key, rate) in [("up", rates.up), ("down", rates.down)] {
            if let problem = TransferLimits.problem(rate: rate) { return (key, problem) }
        }
        if let connections, let problem = Configuration.Network.problem(connections: connections) {
            return ("connections", problem)
        }
        return nil
    }
}
