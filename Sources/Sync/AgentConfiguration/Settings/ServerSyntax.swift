import BlockExchange
import Phrases
import Spelling

/// What the address of a discovery server, a relay or a proxy may look like; what is wrong, and what to write.
enum ServerSyntax {
    /// Nil if `text` is `default` or the URL of a discovery server.
    static func problem(discoveryServer text: String) -> Phrase? {
        if text == "default" { return nil }
        if let advice = nearDefault(text) { return advice }
        guard let url = ServerURL(text), ["https", "http"].contains(url.scheme), url.user == nil, url.port != 0 else {
            return Phrase(
                "`\(text.prefix(120))` is not a discovery server; use `default` or `https://HOST/?id=DEVICE-ID`")
        }
        if let problem = problem(idOf: url, text) { return problem }
        guard url.scheme == "https" || url.isOn("insecure") && url.isOn("noannounce") else {
            return Phrase(
                "`\(text.prefix(120))` is not encrypted; use `https://`, or add `?insecure&noannounce` to look "
                    + "devices up without protection")
        }
        return nil
    }

    /// Nil if `text` is `default`, a relay or the URL of a list of relays.
    static func problem(relayServer text: String) -> Phrase? {
        if text == "default" { return nil }
        if let advice = nearDefault(text) { return advice }
        if text.hasPrefix("relay://") { return problem(relay: text) }
        guard let url = ServerURL(text), ["dynamic+https", "dynamic+http"].contains(url.scheme), url.user == nil,
            url.port != 0
        else {
            let isList = text.hasPrefix("https://") || text.hasPrefix("http://")
            let advice =
                isList
                ? Phrase("did you mean `dynamic+\(text.prefix(120))`?")
                : Phrase("use `default`, `relay://HOST:PORT/?id=DEVICE-ID` or `dynamic+https://HOST/PATH`")
            return Phrase("`\(text.prefix(120))` is not a relay; \(advice)")
        }
        return nil
    }

    /// Nil if `text` is `relay://host:port/?id=…`. Without an id any relay that answers there is used; other parameters
    /// are allowed, for relays announce some.
    static func problem(relay text: String) -> Phrase? {
        guard let url = ServerURL(text), url.scheme == "relay", url.user == nil, url.path.isEmpty || url.path == "/"
        else {
            return Phrase("`\(text.prefix(120))` is not a relay; use `relay://HOST:PORT/?id=DEVICE-ID`")
        }
        guard let port = url.port, port > 0 else {
            return Phrase(
                "`\(text.prefix(120))` has no port; relays usually have 22067: `relay://HOST:22067/?id=DEVICE-ID`")
        }
        guard !AddressSyntax.isWildcard(url.host) else {
            return Phrase("`\(text.prefix(120))` is not the address of a relay; use the relay's own address")
        }
        return problem(idOf: url, text)
    }

    /// Nil if `text` is the URL of a proxy.
    static func problem(proxy text: String) -> Phrase? {
        let shown = ServerURL.withoutPassword(text).prefix(120)
        if text == "none" { return Phrase("`none` is not a proxy; write `proxy = \"\"` for none") }
        if text == "environment" {
            return Phrase("`environment` is not a proxy; leave `proxy` out, and ALL_PROXY names it")
        }
        guard let url = ServerURL(text) else {
            guard ServerURL("socks5://" + text)?.port == nil else {
                return Phrase("`\(shown)` is not a proxy; did you mean `socks5://\(shown)`?")
            }
            return Phrase(
                "`\(shown)` is not a proxy; use `socks5://HOST:PORT` or `http://HOST:PORT`, with `USER:PASSWORD@` "
                    + "before the host if it needs them")
        }
        switch url.scheme {
        // With `socks5` as well the proxy looks up host names.
        case "socks5", "socks5h", "http", "https": break
        default:
            return Phrase("`\(shown)` is not a supported proxy; use `socks5://`, `http://` or `https://`")
        }
        guard let port = url.port, port > 0 else {
            return Phrase("`\(shown)` has no port; give it, for example `\(url.scheme)://\(url.host):1080`")
        }
        guard url.path.isEmpty || url.path == "/", url.parameters.isEmpty else {
            return Phrase("`\(shown)` has more than a host and a port; use `\(url.scheme)://HOST:PORT`")
        }
        // RFC 1929: one byte says how long each is.
        guard url.scheme.hasPrefix("http") || max(url.user?.utf8.count ?? 0, url.password?.utf8.count ?? 0) <= 255
        else {
            return Phrase("user and password of a SOCKS5 proxy have at most 255 bytes each; shorten them")
        }
        return nil
    }

    private static func problem(idOf url: ServerURL, _ text: String) -> Phrase? {
        guard let parameter = url.parameters.first(where: { $0.name == "id" }) else { return nil }
        do throws(DeviceIDError) {
            _ = try DeviceID(parsing: parameter.value ?? "")
            return nil
        } catch {
            return Phrase("the id in `\(text.prefix(120))` is not a device id: \(error.text)")
        }
    }

    private static func nearDefault(_ text: String) -> Phrase? {
        guard NearestWord.distance(text.lowercased(), "default") <= 2 else { return nil }
        return Phrase("`\(text)` is not a server; did you mean `default`?")
    }
}
