import AgentContext
import LinkRules

/// Where a device may be, and what may be dialled. Pure.
struct DialFacts {
    var networks: MachineNetworks?
    var policy: DialPolicy?
    var costs: [LinkWay: DeviceLinks.Cost] = [:]
    var addresses: [AddressSource: [String]] = [:]

    /// Becomes `new`; what tells `DeviceLinks` of what is different now, in this order: networks, policy, costs, addresses.
    mutating func take(_ new: DialFacts) -> [DeviceLinks.Event] {
        var events: [DeviceLinks.Event] = []
        if let networks = new.networks, networks != self.networks {
            events.append(.networks(networks.prefixes, own: networks.addresses))
        }
        if let policy = new.policy, policy != self.policy { events.append(.policy(policy)) }
        if costs != new.costs { events.append(.costs(new.costs)) }
        for source in AddressSource.allCases {
            let addresses = new.addresses[source, default: []]
            if addresses != self.addresses[source, default: []] { events.append(.addresses(source, addresses)) }
        }
        self = new
        return events
    }
}
