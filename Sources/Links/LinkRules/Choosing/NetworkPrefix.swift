import Phrases
import Transport

/// A network: an address, and how many of its leading bits are the network's.
package struct NetworkPrefix: Sendable, Hashable, CustomStringConvertible {
    package let address: IPAddress
    package let length: Int

    /// Nil if an address of this family has no such prefix.
    package init?(_ address: IPAddress, length: Int) {
        guard (0...address.bytes.count * 8).contains(length) else { return nil }
        self.address = address
        self.length = length
    }

    /// An interface's address with its mask of as many bytes; nil for a mask that is no prefix.
    package init?(_ address: IPAddress, mask: [UInt8]) {
        guard mask.count == address.bytes.count else { return nil }
        let length = mask.reduce(0) { $0 + $1.nonzeroBitCount }
        for (index, byte) in mask.enumerated() where byte != Self.maskByte(index, length) { return nil }
        self.init(address, length: length)
    }

    /// Reads `192.168.0.0/16`, `2001:db8::/32`, or one address, which is a network of its own.
    ///
    /// - Throws: `invalidNetwork`.
    package init(parsing text: String) throws(LinkRuleError) {
        let invalid = LinkRuleError(
            .invalidNetwork,
            "\(LinkRuleError.quoted(text)) is not a network; write it as `192.0.2.0/24` or `2001:db8::/32`, with `!` before a "
                + "network to exclude")
        guard text.utf8.count <= 50 else { throw invalid }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(String(first)), address.zone == nil else {
            throw invalid
        }
        // An IPv4 network in IPv6 form is read as IPv4, whose prefix would count other bits.
        guard parts.count < 2 || address.isIPv4 == !first.contains(":") else { throw invalid }
        var length = address.bytes.count * 8
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(parts[1]) else {
                throw invalid
            }
            length = number
        }
        guard let prefix = NetworkPrefix(address, length: length) else { throw invalid }
        self = prefix
    }

    package func contains(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        for (index, pair) in zip(address.bytes, other.bytes).enumerated() {
            let mask = Self.maskByte(index, length)
            if pair.0 & mask != pair.1 & mask { return false }
        }
        return true
    }

    package var description: String { "\(address)/\(length)" }

    private static func maskByte(_ index: Int, _ length: Int) -> UInt8 {
        let bits = min(8, max(0, length - index * 8))
        return bits == 0 ? 0 : ~UInt8(0) << UInt8(8 - bits)
    }
}

extension NetworkPrefix {
    /// Whether an address is local, as Syncthing has it: loopback, link-local, or in a network that this machine has an
    /// address in.
    ///
    /// - Parameters:
    ///   - address: the one that a link is connected to, not the name that was dialled.
    ///   - networks: this machine's, and those that the user counts as local.
    package static func isLocal(_ address: IPAddress, networks: [NetworkPrefix]) -> Bool {
        address.isLoopback || address.isLinkLocal || networks.contains { $0.contains(address) }
    }
}

extension IPAddress {
    /// Networks of which no host is dialled: "this network" (RFC 791), reserved ones (RFC 1112), and IPv4 addresses embedded
    /// in IPv6, by which a loopback address could pass for another (RFC 4291, 6052, 3056, 4380).
    private static let unusableNetworks = [
        "0.0.0.0/8", "240.0.0.0/4", "::/96", "64:ff9b::/96", "2002::/16", "2001::/32",
    ].compactMap { try? NetworkPrefix(parsing: $0) }

    /// Whether no device can be there that is to be told by somebody else.
    var isUnusable: Bool { !isLoopback && Self.unusableNetworks.contains { $0.contains(self) } }
}
