extension IPAddress {
    /// Whether it means something in one network only (RFC 1918, 6598, 3927, 4193, and 3879 for the old form of the last).
    package var isPrivate: Bool {
        if isLinkLocal || isCarrierGradeNAT { return true }
        guard isIPv4 else { return bytes[0] & 0xFE == 0xFC || bytes[0] == 0xFE && bytes[1] & 0xC0 == 0xC0 }
        return bytes[0] == 10 || bytes[0] == 172 && bytes[1] & 0xF0 == 16 || bytes[0] == 192 && bytes[1] == 168
    }

    /// Whether it is in 100.64.0.0/10, which providers use between their own NAT and the customer's (RFC 6598).
    package var isCarrierGradeNAT: Bool { isIPv4 && bytes[0] == 100 && bytes[1] & 0xC0 == 64 }

    /// Whether the whole internet can reach it by this number.
    package var isPublic: Bool {
        guard isIPv4 else { return bytes[0] & 0xE0 == 0x20 }
        return !isPrivate && !isLoopback && !isMulticast && bytes[0] != 0 && bytes[0] < 240
    }
}
