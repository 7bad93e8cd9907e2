extension IPAddress {
    /// Whether it means something in one network only (RFC 1918, 6598, 3927, 4193, and 3879 for the old form of the last).
    package var isPrivate: Bool {
        if isLinkLocal || isCarrierGradeNAT { return true }
        guard isIPv4 else { return bytes[0] & 0xFE == 0xFC || bytes[0] == 0xFE && bytes[1] & 0xC0 == 0xC0 }
        return bytes[0] == 10 || bytes[0] == 172 && bytes[1] & 0xF0 == 16 || bytes[0] == 192 && bytes[1] == 168
    }

    /// Whether it is in 100.64.0.0/10, which providers use between their own NAT and the customer's (RFC 6598).
    package var isCarrierGradeNAT: Bool { isIPv4 && bytes[0] == 100 && bytes[1] & 0xC0 == 64 }

    /// Whether the address is one of the internet's, not of a single network, machine or purpose (the registries of
    /// special-purpose addresses, RFC 6890).
    package var isPublic: Bool {
        if isIPv4 {
            return switch (bytes[0], bytes[1], bytes[2]) {
            case (0, _, _), (10, _, _), (127, _, _), (224..., _, _): false
            case (100, 64...127, _), (169, 254, _), (172, 16...31, _), (192, 168, _), (198, 18...19, _): false
            case (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 51, 100), (203, 0, 113): false
            default: true
            }
        }
        // Only 2000::/3 is given out. Of it, 2001::/23 has protocols of its own, 2001:db8::/32 and 3fff::/20 are for
        // documents, and 2002::/16 has IPv4 addresses inside.
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        return switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
        case (0x20, 0x01, 0...1, _), (0x20, 0x01, 0x0D, 0xB8), (0x20, 0x02, _, _), (0x3F, 0xFF, 0...0x0F, _): false
        default: true
        }
    }
}
