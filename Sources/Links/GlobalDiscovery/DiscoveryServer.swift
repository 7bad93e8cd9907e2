import BlockExchange
import HTTPExchange
import LinkSecurity

/// A discovery server as the configuration names it: an `https://` URL whose parameters say how to use it.
///
/// The parameters are for this side only and are never sent (Syncthing documentation, users/stdiscosrv).
package struct DiscoveryServer: Hashable, Sendable, CustomStringConvertible {
    /// What makes the server the right one.
    package enum Verification: Hashable, Sendable {
        /// A certificate that the system's authorities vouch for.
        case authorities
        /// `id=`: the SHA-256 of its certificate.
        case pinned(DeviceID)
        /// `insecure`: nothing.
        case unchecked
    }

    /// Without a query.
    package var url: HTTPURL
    package var verification: Verification
    package var announces: Bool
    package var looksUp: Bool

    /// How many servers one configuration has at most.
    package static let limit = 16

    /// The public servers of Syncthing 2. Announcements go to one per family, as each sees the address of its own only.
    package static let publicServers =
        [
            "https://discovery-lookup.syncthing.net/v2/?noannounce",
            "https://discovery-announce-v4.syncthing.net/v2/?nolookup",
            "https://discovery-announce-v6.syncthing.net/v2/?nolookup",
        ].compactMap { try? DiscoveryServer(parsing: $0) }

    /// The servers of a configuration's list, in which the word `default` stands for the public ones; each once.
    ///
    /// - Throws: `GlobalDiscoveryError` of code `invalidServer`.
    package static func list(_ texts: [String]) throws(GlobalDiscoveryError) -> [DiscoveryServer] {
        var servers: [DiscoveryServer] = []
        for text in texts {
            let more = text == "default" ? publicServers : [try DiscoveryServer(parsing: text)]
            for server in more where !servers.contains(server) { servers.append(server) }
        }
        guard servers.count <= limit else {
            throw GlobalDiscoveryError(
                .invalidServer, "\(servers.count) discovery servers are too many; configure at most \(limit)")
        }
        return servers
    }

    /// Reads `https://HOST[:PORT]/PATH?PARAMETERS`, or `http://` with `insecure` and `noannounce`.
    ///
    /// - Throws: `GlobalDiscoveryError` of code `invalidServer`.
    package init(parsing text: String) throws(GlobalDiscoveryError) {
        let url: HTTPURL
        do {
            url = try HTTPURL(parsing: text)
        } catch {
            throw GlobalDiscoveryError(
                .invalidServer,
                error.message + "; a discovery server is https://HOST/?id=DEVICE-ID, or the word default")
        }
        let shown = url.withQuery(nil).description
        var device: DeviceID?
        var flags: Set<String> = []
        for item in (url.query ?? "").split(separator: "&") {
            let name = String(item.prefix { $0 != "=" })
            let value = item.dropFirst(name.count + 1)
            switch name {
            case "id":
                do {
                    device = try DeviceID(parsing: String(value))
                } catch {
                    throw GlobalDiscoveryError(.invalidServer, "\(shown): the id= is not a device id: \(error)")
                }
            case "insecure", "noannounce", "nolookup":
                if value == "false" { flags.remove(name) } else { flags.insert(name) }
            default:
                throw GlobalDiscoveryError(
                    .invalidServer,
                    "\(shown): “\(name)” is not a parameter; use id=, insecure, noannounce or nolookup")
            }
        }
        announces = !flags.contains("noannounce")
        looksUp = !flags.contains("nolookup")
        guard announces || looksUp else {
            throw GlobalDiscoveryError(
                .invalidServer, "\(shown) has noannounce and nolookup; remove one of them, or the server")
        }
        if url.scheme == .http {
            guard device == nil else {
                throw GlobalDiscoveryError(
                    .invalidServer, "\(shown): http has no certificate that id= could verify; use https")
            }
            guard flags.contains("insecure"), !announces else {
                throw GlobalDiscoveryError(
                    .invalidServer, "\(shown): use https; http works only with insecure and noannounce")
            }
        }
        if let device {
            verification = .pinned(device)
        } else {
            verification = flags.contains("insecure") ? .unchecked : .authorities
        }
        self.url = url.withQuery(nil)
    }

    /// The URL as it is asked for, without parameters.
    package var description: String { url.description }

    var trust: ServiceTLS.Trust {
        switch verification {
        case .authorities: .webPKI
        case .pinned(let device): .pinned(device)
        case .unchecked: .unchecked
        }
    }
}
