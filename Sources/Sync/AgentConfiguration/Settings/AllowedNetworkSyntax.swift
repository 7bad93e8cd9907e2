import Glibc

/// From which networks a device may connect, and at which it may be dialled.
///
/// As Syncthing's `allowedNetworks`: each entry is a network such as `192.0.2.0/24`, with `!` before it one that is not
/// allowed. The first that contains an address decides; one that none contains is not allowed. Without entries all are.
enum AllowedNetworkSyntax {
    static let limit = 100

    static func problem(_ texts: [String]) -> SettingProblem? {
        for text in texts where !isNetwork(text) {
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

    private static func isNetwork(_ text: String) -> Bool {
        let parts = (text.hasPrefix("!") ? text.dropFirst() : text[...])
            .split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = bytes(parts[0]), (1...3).contains(parts[1].utf8.count),
            parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(parts[1]),
            length <= address.count * 8
        else { return false }
        // An IPv4 network in IPv6 form is to be written as IPv4, whose prefix counts other bits.
        return
            !(address.count == 16 && address.prefix(10).allSatisfy { $0 == 0 } && address[10] == 0xFF
            && address[11] == 0xFF)
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
