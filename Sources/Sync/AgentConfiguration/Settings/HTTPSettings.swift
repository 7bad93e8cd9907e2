import Phrases

/// Where links to files are answered, and how fast.
package struct HTTPSettings: Equatable, Sendable {
    /// This machine alone, at a port that nobody else has by default.
    package static let defaultListen = "127.0.0.1:8394"

    /// `host:port` in numbers; empty to listen nowhere.
    package var listen: String
    /// Whether `listen` may be an address that other machines reach.
    package var isOpenToNetwork: Bool
    /// Names that a request may have in its `Host`, besides `localhost` and addresses in numbers.
    package var hosts: [String]
    /// Bytes per second over all links together; nil for no limit.
    package var rate: Int64?
    /// The absolute path of a certificate, in PEM, for an address that other machines reach; nil for one that the agent creates.
    package var certificate: String?
    /// The absolute path of its key; nil if that is in the file of the certificate.
    package var certificateKey: String?

    package init(
        listen: String = HTTPSettings.defaultListen, isOpenToNetwork: Bool = false, hosts: [String] = [],
        rate: Int64? = nil, certificate: String? = nil, certificateKey: String? = nil
    ) {
        self.listen = listen
        self.isOpenToNetwork = isOpenToNetwork
        self.hosts = hosts
        self.rate = rate
        self.certificate = certificate
        self.certificateKey = certificateKey
    }

    /// Where is listened, and how.
    package enum Listening: Equatable, Sendable {
        case nowhere
        /// What only this machine reaches: without TLS, a browser is logged in by a link.
        case thisMachine(host: String, port: Int)
        /// What other machines reach: with TLS and the password.
        case network(host: String, port: Int)
        /// Not, and why, with what to do.
        case refused(Phrase)
    }

    /// What may be listened on. An address that other machines reach is only ever listened on with a password, and with TLS.
    ///
    /// - Parameter hasPassword: whether a password is set for the page.
    package func listening(hasPassword: Bool) -> Listening {
        guard let (host, port) = address else { return .nowhere }
        if Self.isThisMachine(host) { return .thisMachine(host: host, port: port) }
        guard isOpenToNetwork else { return .refused(Self.notOpen(host)) }
        guard hasPassword else {
            return .refused(
                Phrase("Other machines reach \(host), and the page has no password. \(Self.passwordRemedy)"))
        }
        return .network(host: host, port: port)
    }

    package static let passwordRemedy = Phrase("Set one with `synctrain ui --set-password`.")

    /// Whether no other machine reaches an address, in numbers.
    static func isThisMachine(_ host: String) -> Bool { host.hasPrefix("127.") || host == "::1" }

    private static func notOpen(_ host: String) -> Phrase {
        Phrase(
            "Other machines reach \(host). Use 127.0.0.1, or set a password with `synctrain ui --set-password`, then "
                + "`synctrain config set http.network true`: the page is served with TLS and asks for the password.")
    }

    /// Where to listen: `host` in numbers, without brackets; nil for nowhere.
    package var address: (host: String, port: Int)? {
        guard let (host, port) = AddressSyntax.split("tcp://" + listen) else { return nil }
        return (host == "localhost" ? "127.0.0.1" : host, port)
    }

    /// The first rule that is broken, and the key.
    func problem() -> (key: String, problem: SettingProblem)? {
        if !listen.isEmpty {
            guard AddressSyntax.problem(listenAddress: "tcp://" + listen) == nil, let (host, _) = address else {
                return (
                    "listen",
                    SettingProblem(
                        .invalidValue,
                        "`\(listen.prefix(80))` cannot be listened on; use `127.0.0.1:8394`, or port 0 for any that "
                            + "is free, or \"\" to disable it")
                )
            }
            guard isOpenToNetwork || Self.isThisMachine(host) else {
                return ("listen", SettingProblem(.invalidValue, Self.notOpen(host)))
            }
        }
        for host in hosts
        where host.isEmpty || host.utf8.count > 253 || !host.utf8.allSatisfy(Self.isNameByte) {
            return (
                "hosts",
                SettingProblem(
                    .invalidValue,
                    "`\(host.prefix(80))` is not a host name; write it as `nas.local`, without a port")
            )
        }
        guard hosts.count <= 100 else {
            return ("hosts", SettingProblem(.invalidValue, "at most 100 names can be allowed; remove some"))
        }
        if let rate, rate < TransferLimits.slowest {
            return ("rate", SettingProblem(.invalidValue, "a rate is at least 1 KiB/s, or 0 for no limit"))
        }
        return nil
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2D || byte == 0x2E
    }
}

extension SettingsTable {
    /// - Parameter userHome: what `~` stands for.
    func http(userHome: String?) throws(ConfigurationError) -> HTTPSettings {
        try allow(["listen", "network", "hosts", "certificate", "certificate-key", "rate"])
        var settings = HTTPSettings()
        if let listen = try string("listen") { settings.listen = listen }
        if let isOpen = try bool("network") { settings.isOpenToNetwork = isOpen }
        if let hosts = try strings("hosts") { settings.hosts = hosts }
        settings.certificate = try path("certificate", userHome: userHome)
        settings.certificateKey = try path("certificate-key", userHome: userHome)
        settings.rate = try rate("rate")
        return settings
    }

    private func path(_ key: String, userHome: String?) throws(ConfigurationError) -> String? {
        guard let path = try string(key), !path.isEmpty else { return nil }
        do throws(SettingProblem) {
            return try FolderPath.clean(path, userHome: userHome)
        } catch {
            throw error.at(file, line: line(key))
        }
    }
}
