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

    package init(
        listen: String = HTTPSettings.defaultListen, isOpenToNetwork: Bool = false, hosts: [String] = [],
        rate: Int64? = nil
    ) {
        self.listen = listen
        self.isOpenToNetwork = isOpenToNetwork
        self.hosts = hosts
        self.rate = rate
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
            guard isOpenToNetwork || host.hasPrefix("127.") || host == "::1" else {
                return (
                    "listen",
                    SettingProblem(
                        .invalidValue,
                        "other machines reach \(host); write `127.0.0.1:\(address?.port ?? 0)`, or set `network = true` if "
                            + "anyone who has a link may read the file from there")
                )
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
