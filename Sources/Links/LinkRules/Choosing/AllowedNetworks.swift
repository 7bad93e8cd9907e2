import Transport

/// From which networks a device is accepted, and in which it is dialled: `allowed-networks`, with the rules of Syncthing.
///
/// The first entry decides that contains the address; one with `!` in front excludes. An address that none contains is not
/// allowed. No entries at all allow every address. For a link over a relay the relay's address counts.
package struct AllowedNetworks: Sendable, Equatable {
    /// More entries are refused: each is checked for each link.
    static let entryLimit = 256

    private struct Entry: Equatable {
        var network: NetworkPrefix
        var isAllowed: Bool
    }

    private var entries: [Entry] = []

    /// Allows every address.
    package init() {}

    /// Allows no address: for a list that cannot be read.
    package static let nothing = {
        var nothing = AllowedNetworks()
        nothing.entries = ["0.0.0.0/0", "::/0"].compactMap { try? NetworkPrefix(parsing: $0) }
            .map { Entry(network: $0, isAllowed: false) }
        return nothing
    }()

    /// - Throws: `invalidNetwork`, where a Syncthing would ignore the entry, `tooManyNetworks`, and `onlyExclusions`, which
    ///   would allow no address.
    package init(parsing texts: [String]) throws(LinkRuleError) {
        guard texts.count <= Self.entryLimit else {
            throw LinkRuleError(
                .tooManyNetworks, "there are \(texts.count) networks; use at most \(Self.entryLimit)")
        }
        for text in texts {
            let isAllowed = !text.hasPrefix("!")
            let network = try NetworkPrefix(parsing: isAllowed ? text : String(text.dropFirst()))
            entries.append(Entry(network: network, isAllowed: isAllowed))
        }
        guard entries.isEmpty || entries.contains(where: \.isAllowed) else {
            throw LinkRuleError(
                .onlyExclusions,
                "these networks exclude every address; add what to allow, such as `0.0.0.0/0` and `::/0`")
        }
    }

    package var isEmpty: Bool { entries.isEmpty }

    package func allow(_ address: IPAddress) -> Bool {
        guard !entries.isEmpty else { return true }
        return entries.first { $0.network.contains(address) }?.isAllowed ?? false
    }

    /// Whether a link may be used where it leads; by a relay, where that is. A radio is no network. Where it leads to an
    /// address that cannot be read, it may not.
    package func allow(_ link: LinkInformation) -> Bool {
        guard !isEmpty, !link.kind.isSlow else { return true }
        switch try? LinkAddress(parsing: link.remoteAddress) {
        case .tcp(let host, _)?: return IPAddress(host).map(allow) ?? false
        case .relay(let relay)?: return IPAddress(relay.host).map(allow) ?? false
        default: return false
        }
    }
}
