import Transport

/// How a link leaves this machine, as far as it matters what that costs.
package enum LinkRoute: CaseIterable, Hashable, Sendable {
    case radio
    /// To this machine itself, or to one in a network that it has an address in.
    case localNetwork
    case internet

    package init(_ information: LinkInformation, networks: @autoclosure () -> [LocalNetworks.Network]) {
        guard information.kind == .tcp else {
            self = .radio
            return
        }
        let address = try? LinkAddress(parsing: information.remoteAddress)
        let isLocal = address.map { LocalNetworks.contain($0, networks: networks()) } ?? false
        self = isLocal ? .localNetwork : .internet
    }
}
