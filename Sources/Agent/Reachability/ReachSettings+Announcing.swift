import GlobalDiscovery
import Proxies
import Transport

extension ReachSettings {
    /// Whether the discovery servers see this device's own address. Behind a proxy they see the proxy's, and would hand that out
    /// in the place of an unspecified host.
    var areAnnouncementsDirect: Bool {
        proxies.requests == nil
            || servers.filter(\.announces).allSatisfy { proxies.exceptions.contain($0.url.host, port: $0.url.port) }
    }

    /// What discovery servers are told.
    ///
    /// - Parameters:
    ///   - listening: what is listened on.
    ///   - mapped: what routers map to it; the host may be left open.
    ///   - own: all addresses of this machine.
    ///   - relays: the addresses of the relays that are joined.
    func announced(
        listening: [LinkAddress], mapped: [LinkAddress], own: [IPAddress], relays: [String]
    ) -> [String] {
        var addresses: [LinkAddress] = []
        if proxyUse != .only {
            let listening = listening.filter { if case .tcp = $0 { true } else { false } }
            addresses += listening + mapped
            if !areAnnouncementsDirect { addresses.removeAll(where: \.isUnspecified) }
            for case .tcp(let host, let port) in listening
            where LinkAddress.tcp(host: host, port: port).isUnspecified {
                for address in own where isAnnounced(address) {
                    addresses.append(.tcp(host: address.description, port: port))
                }
            }
        }
        return AnnouncedAddresses.announced(
            addresses.map(\.description) + relays, includesLocal: announcesLocalAddresses)
    }

    /// Whether an address of this machine is to be named. A server that sees it needs no telling of a public one.
    private func isAnnounced(_ address: IPAddress) -> Bool {
        guard !address.isLinkLocal, !address.isLoopback else { return false }
        return announcesLocalAddresses || !areAnnouncementsDirect && !address.isPrivate
    }
}
