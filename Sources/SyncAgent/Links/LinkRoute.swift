import Transport

/// How a link leaves this machine, as far as it matters what that costs.
enum LinkRoute: CaseIterable, Hashable, Sendable {
    case radio
    /// To this machine itself, or to one in a network that it has an address in.
    case localNetwork
    case internet

    init(_ information: LinkInformation, networks: @autoclosure () -> [LocalNetworks.Network]) {
        self =
            information.kind != .tcp
            ? .radio
            : LocalNetworks.contain(information.remoteAddress, networks: networks()) ? .localNetwork : .internet
    }
}
