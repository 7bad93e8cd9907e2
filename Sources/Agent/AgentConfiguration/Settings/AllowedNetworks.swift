import Glibc

/// From which networks a device may connect, and at which it may be dialled.
///
/// As Syncthing's `allowedNetworks`: each entry is a network such as `192.0.2.0/24`, with `!` before it one that is not
/// allowed. The first that contains an address decides; one that none contains is not allowed. Without entries all are.
package struct AllowedNetworks: Equatable, Sendable {
    private struct Entry: Equatable {
        var address: [UInt8]
        var prefixLength: Int
        var isAllowed: Bool

        func contains(_ other: [UInt8]) -> Bool {
            guard other.count == address.count else { return false }
            return zip(address, other).enumerated().allSatisfy { index, pair in
                let bits = min(max(prefixLength - index * 8, 0), 8)
                let mask = UInt8(truncatingIfNeeded: 0xFF00 >> bits)
                return pair.0 & mask == pair.1 & mask
            }
        }
    }

    static let limit = 100

    private let entries: [Entry]

    /// What is no network allows nothing: a configuration with one is refused before.
    package init(_ texts: [String]) {
        entries = texts.map { Self.entry($0) ?? Entry(address: [], prefixLength: 0, isAllowed: false) }
    }

    /// - Parameter address: 4 or 16 bytes; an IPv4 address inside an IPv6 one counts as the former.
    package func allow(_ address: [UInt8]) -> Bool {
        guard !entries.isEmpty else { return true }
        let address = Self.unmapped(address)
        return entries.first { $0.contains(address) }?.isAllowed ?? false
    }

    static func problem(_ texts: [String]) -> SettingProblem? {
        for text in texts where entry(text) == nil {
            let shown = text.prefix(80)
            let bare = text.hasPrefix("!") ? text.dropFirst() : text[...]
            let advice =
                switch bytes(bare)?.count {
                case 4?: "write `\(shown)/32` for this address alone"
                case 16?: "write `\(shown)/128` for this address alone"
                default: "write it as `192.0.2.0/24` or `2001:db8::/32`, with `!` before a network to exclude"
                }
            return SettingProblem(.invalidValue, "`\(shown)` is not a network; \(advice)")
        }
        guard texts.count <= limit else {
            return SettingProblem(.invalidValue, "at most \(limit) networks are allowed; remove some")
        }
        return nil
    }

    private static func entry(_ text: String) -> Entry? {
        let isAllowed = !text.hasPrefix("!")
        let parts = (isAllowed ? text[...] : text.dropFirst())
            .split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = bytes(parts[0]), (1...3).contains(parts[1].utf8.count),
            parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(parts[1]),
            length <= address.count * 8
        else { return nil }
        let plain = unmapped(address)
        guard plain.count < address.count else {
            return Entry(address: address, prefixLength: length, isAllowed: isAllowed)
        }
        guard length >= 96 else { return nil }
        return Entry(address: plain, prefixLength: length - 96, isAllowed: isAllowed)
    }

    private static func unmapped(_ address: [UInt8]) -> [UInt8] {
        guard address.count == 16, address.prefix(10).allSatisfy({ $0 == 0 }), address[10] == 0xFF, address[11] == 0xFF
        else { return address }
        return Array(address.suffix(4))
    }

    /// 4 or 16 bytes of an address in numbers.
    private static func bytes(_ text: Substring) -> [UInt8]? {
        guard text.utf8.count <= 45, !text.utf8.contains(0) else { return nil }
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, String(text), &bytes) == 1 { return bytes }
        }
        return nil
    }
}
