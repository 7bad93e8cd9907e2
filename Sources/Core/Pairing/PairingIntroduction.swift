/// What a device tells the other of itself, once both users have said yes.
public struct PairingIntroduction: Hashable, Sendable {
    /// Longest name in bytes of UTF-8.
    public static let nameLimit = 255
    public static let addressLimit = 16
    /// Longest address in bytes.
    public static let addressByteLimit = 300

    /// What the device calls itself; no control characters, may be empty.
    public let name: String
    /// Where it listens, as link addresses in text; nobody has looked whether they are any.
    public let addresses: [String]

    /// Cuts what does not fit: control characters, the end of a long name, addresses beyond the limits.
    public init(name: String, addresses: [String]) {
        var clean = String.UnicodeScalarView()
        var byteCount = 0
        for scalar in name.unicodeScalars where !Self.isControl(scalar) {
            byteCount += String(scalar).utf8.count
            guard byteCount <= Self.nameLimit else { break }
            clean.append(scalar)
        }
        self.name = String(clean)
        self.addresses = Array(
            addresses.filter { Self.isAddress($0) && $0.utf8.count <= Self.addressByteLimit }
                .prefix(Self.addressLimit))
    }

    var encoded: [UInt8] {
        var bytes = [UInt8(truncatingIfNeeded: name.utf8.count)] + name.utf8
        bytes.append(UInt8(truncatingIfNeeded: addresses.count))
        for address in addresses {
            let count = UInt16(truncatingIfNeeded: address.utf8.count)
            bytes += [UInt8(count >> 8), UInt8(count & 0xFF)] + address.utf8
        }
        return bytes
    }

    /// Reads what `encoded` writes; nil for anything else, as for text that is not UTF-8 or that the limits forbid.
    init?(decoding bytes: [UInt8]) {
        var rest = bytes[...]
        func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        guard let nameCount = rest.popFirst(), let nameBytes = take(Int(nameCount)),
            let name = String(validating: nameBytes, as: UTF8.self), let addressCount = rest.popFirst()
        else { return nil }
        var addresses: [String] = []
        for _ in 0..<addressCount {
            guard let high = rest.popFirst(), let low = rest.popFirst(),
                let address = take(Int(high) << 8 | Int(low)).flatMap({ String(validating: $0, as: UTF8.self) })
            else { return nil }
            addresses.append(address)
        }
        self.init(name: name, addresses: addresses)
        guard rest.isEmpty, self.name.utf8.elementsEqual(name.utf8), self.addresses == addresses else { return nil }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
    }

    /// Printable ASCII.
    private static func isAddress(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
