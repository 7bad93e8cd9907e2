/// Which proxies connections take, and which go without.
package struct ProxySettings: Hashable, Sendable {
    /// What a connection is for.
    package enum Use: Sendable, CaseIterable {
        /// Links to devices and to relays: byte streams of any protocol and port.
        case streams
        /// HTTPS requests, as to discovery servers and lists of relays.
        case requests
    }

    /// The proxy of links and relays; nil connects directly.
    package var streams: ProxyAddress?
    /// The proxy of HTTPS requests; nil connects directly.
    package var requests: ProxyAddress?
    /// Hosts that are always reached directly. They are the user's own exceptions, so they hold without fallback too.
    package var exceptions: ProxyExceptions
    /// Whether a direct connection is tried when the proxy fails or is slow. False for those whom a direct connection
    /// would give away.
    package var fallsBackToDirect: Bool

    private static let noFallback = "ALL_PROXY_NO_FALLBACK"

    /// Every connection is direct.
    package static let none = ProxySettings(streams: nil, requests: nil, exceptions: .none, fallsBackToDirect: true)

    package init(
        streams: ProxyAddress?, requests: ProxyAddress?, exceptions: ProxyExceptions, fallsBackToDirect: Bool
    ) {
        self.streams = streams
        self.requests = requests
        self.exceptions = exceptions
        self.fallsBackToDirect = fallsBackToDirect
    }

    /// The settings that environment variables make: `ALL_PROXY` for everything, `HTTPS_PROXY` before it for HTTPS
    /// requests, `NO_PROXY`, and `ALL_PROXY_NO_FALLBACK` (anything but empty). The names are read in upper case, then in
    /// lower case; empty means unset.
    ///
    /// - Throws: `invalidSettings`. The agent must not start then: a direct connection might be what the user forbade.
    package init(environment: [String: String]) throws(ProxyError) {
        func variable(_ name: String) -> (name: String, value: String)? {
            for name in [name, name.lowercased()] {
                if let value = environment[name], !value.isEmpty { return (name, value) }
            }
            return nil
        }
        streams =
            if let found = variable("ALL_PROXY") {
                try ProxyAddress(parsing: found.value, source: found.name)
            } else {
                nil
            }
        requests =
            if let found = variable("HTTPS_PROXY") {
                try ProxyAddress(parsing: found.value, source: found.name, assumedKind: .http)
            } else {
                streams
            }
        exceptions =
            if let found = variable("NO_PROXY") {
                try ProxyExceptions(parsing: found.value, source: found.name)
            } else {
                .none
            }
        fallsBackToDirect = variable(Self.noFallback) == nil
    }

    /// The settings that the configuration makes.
    ///
    /// - Parameters:
    ///   - text: the address of a proxy for everything; nil for what `init(environment:)` reads; empty for none, whatever
    ///     the environment says.
    ///   - isOnly: nothing may be direct, the exceptions of the environment included. There must be a proxy for links then.
    ///   - source: the name of the setting, for messages.
    /// - Throws: `invalidSettings`. The agent must not start then: a direct connection might be what the user forbade.
    package init(
        configuration text: String?, isOnly: Bool, source: String, environment: [String: String]
    ) throws(ProxyError) {
        switch text {
        case nil: try self.init(environment: environment)
        case "": self = .none
        case let text?:
            let proxy = try ProxyAddress(parsing: text, source: source)
            // Who forbids direct connections in the environment does so for every proxy.
            let fallsBack = try ProxySettings(
                environment: environment.filter { $0.key.uppercased() == Self.noFallback }
            )
            .fallsBackToDirect
            self.init(streams: proxy, requests: proxy, exceptions: .none, fallsBackToDirect: fallsBack)
        }
        guard isOnly else { return }
        guard streams != nil else {
            let cause =
                text != nil
                ? "it is empty" : requests == nil ? "ALL_PROXY is not set" : "HTTPS_PROXY serves HTTPS alone"
            throw ProxyError(
                .invalidSettings,
                "`proxy-only` needs a proxy, and \(cause); set `\(source)` in config.toml, or proxy-only = false")
        }
        exceptions = .none
        fallsBackToDirect = false
    }

    package func proxy(for use: Use) -> ProxyAddress? {
        switch use {
        case .streams: streams
        case .requests: requests
        }
    }

    /// Whether some connection may be made that does not take a proxy and is not the user's own exception. False is the
    /// mode for Tor: then nothing may be announced on the local network, and no address of this device anywhere.
    package var allowsDirect: Bool { streams == nil || requests == nil || fallsBackToDirect }
}
