import AgentConfiguration
import AgentContext
import AgentServer
import Glibc
import LinkSecurity
import Logging
import Phrases

/// Where the page and links to files are to be, as the configuration has it: for this machine alone, or for others with TLS and
/// a password.
struct PageEntrance {
    let http: HTTPSettings
    let places: AgentPlaces
    let logger: Logger

    /// Seconds before the end of the agent's own certificate at which a new one is made.
    private static let renewal: Int64 = 30 * 86_400

    /// The endpoint. What stands in the way of listening is its problem and stops nobody else.
    ///
    /// - Throws: `ConfigurationError` if the key that links are signed with cannot be read or made.
    func endpoint() throws -> LinkEndpoint {
        let password = password()
        var listening = http.listening(hasPassword: password != nil)
        var tls: ServerTLS?
        if case .network = listening {
            do {
                let made = try certificate()
                logger.notice("the certificate of the page has the SHA-256 \(made.fingerprint)")
                tls = made
            } catch {
                listening = .refused("The page has no certificate that it could use: \(error).")
            }
        }
        var (address, refusal): ((host: String, port: Int)?, Phrase?) = (nil, nil)
        switch listening {
        case .nowhere: break
        case .thisMachine(let host, let port), .network(let host, let port): address = (host, port)
        case .refused(let reason):
            refusal = reason
            logger.error("the page is not served: \(reason)")
        }
        return LinkEndpoint(
            address: address, hosts: http.hosts + (tls == nil ? [] : Self.machineNames),
            key: try LinkKeyFile.load(from: places), stored: earlierSessions(), now: { WallTime.now.seconds },
            store: { [places] in try SessionFile.write($0, to: places) }, tls: tls, password: password,
            storePassword: { [places] in try PasswordFile.write($0, to: places) }, uptime: Self.uptime,
            refusal: refusal)
    }

    private func certificate() throws -> ServerTLS {
        if let path = http.certificate {
            let certificate = try PageCertificateFile.own(path)
            return try ServerTLS(
                certificatePEM: certificate, keyPEM: try http.certificateKey.map(PageCertificateFile.own) ?? certificate
            )
        }
        let now = WallTime.now.seconds
        if let text = try PageCertificateFile.read(from: places) {
            let tls = try ServerTLS(certificatePEM: text, keyPEM: text)
            if tls.expires > now + Self.renewal { return tls }
            logger.warning(
                "the certificate of the page expires, so a new one is made; browsers ask again whether it is the right one"
            )
        }
        let text = try PageCertificateFile.create(
            in: places, names: Self.machineNames + http.hosts + ["localhost"],
            addresses: ["127.0.0.1", "::1"]
                + (http.address.map { [$0.host] } ?? []).filter { !Self.wildcards.contains($0) },
            now: now)
        return try ServerTLS(certificatePEM: text, keyPEM: text)
    }

    private static let wildcards = ["0.0.0.0", "::"]

    /// What this machine is called, and what it is called on the local network (mDNS): names that no site of others has.
    private static var machineNames: [String] {
        let name = ConfigurationFile.systemHostName().lowercased()
        return name.contains(".") ? [name] : [name, name + ".local"]
    }

    private func password() -> [UInt8]? {
        do {
            return try PasswordFile.read(from: places)
        } catch {
            logger.warning("the page's password is not used: \(error)")
            return nil
        }
    }

    /// Who was logged in to the page; nil, and the log says why, if that cannot be read: then all have to log in again.
    private func earlierSessions() -> [UInt8]? {
        do {
            return try SessionFile.read(from: places)
        } catch {
            logger.warning("All browsers are logged out: \(error)")
            return nil
        }
    }

    @Sendable private static func uptime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec)
    }
}
