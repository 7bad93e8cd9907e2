import Transport

/// How a link leaves this machine, as far as it matters what that costs.
package enum LinkRoute: CaseIterable, Hashable, Sendable {
    case radio
    /// To this machine itself, or to one in a network that it has an address in.
    case localNetwork
    case internet

    package init(_ information: LinkInformation, networks: @autoclosure () -> MachineNetworks) {
        switch information.kind {
        case .l2cap, .gatt, .virtual: self = .radio
        case .relay: self = .internet
        case .tcp:
            let address = try? LinkAddress(parsing: information.remoteAddress)
            self = address.map { networks().contain($0) } == true ? .localNetwork : .internet
        }
    }
}
