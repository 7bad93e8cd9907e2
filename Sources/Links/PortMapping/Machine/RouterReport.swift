import Transport

/// What came of asking one router to map one port.
package struct RouterReport: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        /// Nothing is known yet.
        case asking
        case mapped(PortMappingGrant)
        /// By each method that was tried, in the order of trying.
        case failed([Refusal])
    }

    package struct Refusal: Sendable, Equatable {
        package var method: MappingMethod
        package var error: PortMappingError
    }

    package var gateway: Gateway
    package var port: ListenedPort
    package var outcome: Outcome

    /// A sentence for people, and a second one with what would help.
    package var summary: String {
        switch outcome {
        case .asking:
            return "Asking the router at \(gateway) to map \(port)."
        case .mapped(let grant) where !grant.isPublic:
            let address = grant.externalAddress?.description ?? ""
            return
                "The router at \(gateway) maps \(port) (\(grant.method)), but its own address \(address) is not public: "
                + "another NAT is in front of it. Ask the internet provider for a public address, or map port "
                + "\(grant.externalPort) on the other router too."
        case .mapped(let grant) where !gateway.address.isIPv4:
            return
                "The router at \(gateway) lets connections to [\(gateway.local.address)]:\(port.number) in (\(grant.method))."
        case .mapped(let grant):
            let address = grant.externalAddress?.description ?? "its external address"
            return
                "The router at \(gateway) maps \(address):\(grant.externalPort) to \(port) (\(grant.method)\(lease(grant)))."
        case .failed(let refusals):
            return failure(refusals)
        }
    }

    private func lease(_ grant: PortMappingGrant) -> String {
        guard let lease = grant.lease else { return ", until it is deleted" }
        let seconds = lease.components.seconds
        return seconds < 120 ? ", for \(seconds) s unless renewed" : ", for \(seconds / 60) min unless renewed"
    }

    private func failure(_ refusals: [Refusal]) -> String {
        let byHand =
            gateway.address.isIPv4
            ? "forward port \(port.number) (\(port.transport)) to \(gateway.local.address) by hand"
            : "allow connections to port \(port.number) (\(port.transport)) of \(gateway.local.address) by hand"
        // The most telling first: a no of the router's own, then something that went wrong, then silence.
        let told =
            refusals.first { $0.error.isRefusal } ?? refusals.first { $0.error.code != .silent }
        guard let told else {
            return gateway.address.isIPv4
                ? "The router at \(gateway) does not answer PCP, NAT-PMP or UPnP. Switch UPnP or NAT-PMP on there, or \(byHand)."
                : "The router at \(gateway) does not answer PCP. Switch PCP on there, or \(byHand)."
        }
        let what = "The router at \(gateway) does not map \(port): \(told.error.message) (\(told.method))."
        switch told.error.code {
        case .routerOffline: return what + " Check its internet connection."
        case .noFreePort: return what + " Delete mappings there that nobody uses, or \(byHand)."
        default: return what + " Switch UPnP or NAT-PMP on for this device there, or \(byHand)."
        }
    }
}

/// An address under which others may reach a listened port.
package struct MappedAddress: Sendable, Hashable {
    package var port: ListenedPort
    /// nil if the router did not say: discovery servers then take the address that the announcement comes from.
    package var externalAddress: IPAddress?
    package var externalPort: UInt16

    /// The form that is announced, with `0.0.0.0` for an address that is not known; nil for UDP.
    package var linkAddress: LinkAddress? {
        guard port.transport == .tcp else { return nil }
        return .tcp(host: externalAddress?.description ?? "0.0.0.0", port: externalPort)
    }

    /// What is to be announced: all that is public. What is behind another NAT only if there is nothing else, for devices
    /// in the network between the two.
    package static func announced(_ reports: [RouterReport]) -> [MappedAddress] {
        let grants = reports.compactMap { report -> (ListenedPort, PortMappingGrant)? in
            guard case .mapped(let grant) = report.outcome else { return nil }
            return (report.port, grant)
        }
        let usable = grants.contains { $0.1.isPublic } ? grants.filter(\.1.isPublic) : grants
        var addresses: [MappedAddress] = []
        for (port, grant) in usable {
            let address = MappedAddress(
                port: port, externalAddress: grant.externalAddress, externalPort: grant.externalPort)
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}
