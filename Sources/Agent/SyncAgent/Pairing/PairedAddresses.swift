import AgentConfiguration
import Pairing
import Transport

/// Where a device that was just paired is dialled from now on. Pure.
enum PairedAddresses {
    /// What the other device says of itself is not all worth trying.
    private static let introducedLimit = 4

    /// - Parameters:
    ///   - dialled: the address at which this side has reached it; nil if it was the other that dialled.
    ///   - link: the link that they paired on.
    ///   - introduced: where the other device says that it listens.
    /// - Returns: `dynamic` and all that lead to one machine other than by chance, in the form of the configuration.
    static func addresses(dialled: LinkAddress?, link: LinkInformation, introduced: [String]) -> [String] {
        var addresses: [LinkAddress] = []
        let remote = try? LinkAddress(parsing: link.remoteAddress)
        if let dialled {
            addresses.append(dialled)
        } else if link.kind.isSlow, let remote {
            // The peer's port of an incoming TCP link is not the one it listens on, and the relay of a session need not be the
            // peer's own. A radio's address serves both ways.
            addresses.append(remote)
        }
        for text in introduced {
            guard let address = reachable(text, from: remote?.ipAddress), !addresses.contains(address) else { continue }
            addresses.append(address)
            if addresses.count > introducedLimit { break }
        }
        let texts = addresses.map(\.description).filter { AddressSyntax.problem(deviceAddress: $0) == nil }
        return ["dynamic"] + texts
    }

    /// A name that came from another device, as the configuration can have it.
    static func name(_ text: String) -> String { PairingIntroduction(name: text, addresses: []).name }

    /// - Parameter ip: where the other device's packets come from, for addresses that stand for all of a machine.
    private static func reachable(_ text: String, from ip: IPAddress?) -> LinkAddress? {
        guard var address = try? LinkAddress(parsing: text), case .tcp(_, let port) = address, port != 0 else {
            return nil
        }
        if address.isUnspecified {
            guard let ip else { return nil }
            address = .tcp(host: ip.description, port: port)
        }
        guard address.isDialable, let host = address.ipAddress else { return nil }
        if host.isLoopback, ip?.isLoopback != true { return nil }
        // A zone is only true on the machine that wrote it.
        if host.isLinkLocal, !host.isIPv4, host != ip { return nil }
        return address
    }
}
