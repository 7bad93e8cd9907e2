import HTTPExchange
import LinkSecurity
import NIOCore
import Transport

/// Sends a request to a discovery server. `presentsIdentity` says whether the server learns who asks: by announcements it
/// must, by lookups it does not.
package typealias DiscoveryExchange =
    @Sendable (_ request: HTTPRequest, _ server: DiscoveryServer, _ presentsIdentity: Bool) async throws -> HTTPAnswer

/// Makes the exchange over a network.
package enum DiscoveryNetworking {
    /// - Parameters:
    ///   - streams: opens the connections, directly or through a proxy.
    ///   - identity: the device that announces itself.
    ///   - servers: those that the exchange will be used with.
    /// - Throws: `LinkSecurityError` of code `unusableIdentity`.
    package static func exchange(
        over streams: any StreamDialing, identity: LinkIdentity, servers: [DiscoveryServer]
    ) throws(LinkSecurityError) -> DiscoveryExchange {
        var announcing: [DiscoveryServer.Verification: ServiceTLS] = [:]
        var asking: [DiscoveryServer.Verification: ServiceTLS] = [:]
        for server in servers where server.url.scheme == .https {
            // A context holds the system's whole trust store: one for all that share it.
            if server.announces, announcing[server.verification] == nil {
                announcing[server.verification] = try ServiceTLS(
                    identity: identity, trust: server.trust, applicationProtocols: ["http/1.1"])
            }
            if server.looksUp, asking[server.verification] == nil {
                asking[server.verification] = try ServiceTLS(
                    identity: nil, trust: server.trust, applicationProtocols: ["http/1.1"])
            }
        }
        let http = HTTPExchange(streams: streams)
        return { [announcing, asking] request, server, presentsIdentity in
            try await http.answer(
                to: request, tls: (presentsIdentity ? announcing : asking)[server.verification])
        }
    }
}

extension DiscoveryServer {
    private static let timeout = Duration.seconds(30)

    /// - Throws: what the encoder throws; nothing for addresses as `AnnouncedAddresses` gives them.
    func announcement(of addresses: [String]) throws -> HTTPRequest {
        HTTPRequest(
            .post, url, fields: [HTTPField("Content-Type", "application/json")],
            body: try AnnouncementBody(addresses: addresses).encoded(),
            limits: HTTPLimits(timeout: Self.timeout, bodyByteCount: 4096))
    }

    func lookup(of device: String) -> HTTPRequest {
        HTTPRequest(
            .get, url.withQuery("device=\(device)"),
            limits: HTTPLimits(timeout: Self.timeout, bodyByteCount: LookupAnswer.maximumByteCount))
    }

    /// What the status of an answer to an announcement means; nil for success.
    func problem(announcing answer: HTTPAnswer) -> String? {
        switch answer.status {
        case 200..<300: nil
        case 400: "\(self) can use none of this device's addresses; forward a port, or use relays"
        case 403:
            "\(self) saw no device certificate; check that no proxy opens the TLS connection between here and there"
        case 404, 405: "\(self) is not a discovery server; correct its address"
        case 429, 503: "\(self) is overloaded; it will be tried again later"
        default: "\(self) answered with status \(answer.status); it will be tried again later"
        }
    }

    /// What the status of an answer to a lookup means, other than 200 and 404.
    func problem(lookingUp answer: HTTPAnswer) -> String {
        switch answer.status {
        case 400, 405: "\(self) does not accept lookups; correct its address, or add nolookup"
        case 429, 503: "\(self) is overloaded; it will be tried again later"
        default: "\(self) answered with status \(answer.status); it will be tried again later"
        }
    }
}
