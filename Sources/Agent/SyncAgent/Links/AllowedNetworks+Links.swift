import AgentConfiguration
import Transport

extension AllowedNetworks {
    /// Whether a link may be used. Radios are no networks; of a network link the address must be known.
    func allow(_ information: LinkInformation) -> Bool {
        guard information.kind == .tcp else { return true }
        let address = try? LinkAddress(parsing: information.remoteAddress)
        return allow(address?.ipAddress?.bytes ?? [])
    }

    /// Whether an address may be dialled. What a name stands for is seen when the link is there.
    func mayDial(_ address: LinkAddress) -> Bool { address.ipAddress.map { allow($0.bytes) } ?? true }
}
