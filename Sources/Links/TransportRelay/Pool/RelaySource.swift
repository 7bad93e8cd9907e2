import Transport

/// Where to find a relay to join, as the settings say it.
package enum RelaySource: Hashable, Sendable, CustomStringConvertible {
    /// One relay, always the same.
    case fixed(RelayAddress)
    /// The best of a list, by the list's URL.
    case pool(url: String)

    /// The public relays of the Syncthing project.
    package static let publicPool = RelaySource.pool(url: "https://relays.syncthing.net/endpoint")

    private static let poolPrefix = "dynamic+"

    /// Reads `relay://HOST…`, `dynamic+https://HOST/PATH` or `dynamic+http://HOST/PATH`.
    ///
    /// - Throws: `LinkError` with the code `invalidAddress` or `unsupportedAddress`.
    package init(parsing text: String) throws(LinkError) {
        guard text.hasPrefix(Self.poolPrefix) else {
            self = .fixed(try RelayAddress(parsing: text))
            return
        }
        let url = String(text.dropFirst(Self.poolPrefix.count))
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), url.utf8.count <= RelayAddress.maximumByteCount,
            url.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw LinkError(
                .invalidAddress, "a pool of relays is written as dynamic+https://HOST/PATH", isTransient: false)
        }
        self = .pool(url: url)
    }

    /// As in the settings, without a token.
    package var description: String {
        switch self {
        case .fixed(let address): address.description
        case .pool(let url): Self.poolPrefix + url
        }
    }
}
