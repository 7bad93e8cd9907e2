import Cryptography

/// What a device that is invited gets by any way the user likes: who invites, where that device listens, and a secret
/// that is good once.
///
/// In text: `synctrain-` and, in base64url without padding, a version (1), the inviting device's id (32), the secret (16),
/// how many addresses follow (1), each with its length (1), and the first four bytes of the SHA-256 of all that, so that a
/// code that was cut or mistyped is told from one that is not good any more.
public struct InvitationCode: Hashable, Sendable, CustomStringConvertible {
    public static let secretByteCount = 16
    /// A code is read aloud by nobody, but it has to fit on a line and into a QR code.
    public static let addressLimit = 4
    public static let addressByteLimit = 120
    /// Longest text.
    public static let textLimit = 1024

    private static let prefix = "synctrain-"
    private static let version: UInt8 = 1
    private static let checkByteCount = 4

    /// The id of the device that invites, as the digest that it is.
    public let device: SHA256Digest
    public let secret: [UInt8]
    /// As link addresses in text; nobody has looked whether they are any.
    public let addresses: [String]

    /// Nil for a secret of another length. Addresses beyond the limits are left out.
    public init?(device: SHA256Digest, secret: [UInt8], addresses: [String]) {
        guard secret.count == Self.secretByteCount else { return nil }
        self.device = device
        self.secret = secret
        self.addresses = Array(addresses.filter(Self.isAddress).prefix(Self.addressLimit))
    }

    /// Reads a code as people paste it, with spaces and line ends in it; nil for anything else.
    public init?(parsing text: String) {
        guard text.utf8.count <= Self.textLimit else { return nil }
        let characters = text.utf8.filter { !" \t\r\n".utf8.contains($0) }
        guard characters.starts(with: Self.prefix.utf8),
            let bytes = Base64URL.decode(characters.dropFirst(Self.prefix.utf8.count)),
            bytes.count >= Self.checkByteCount
        else { return nil }
        let body = Array(bytes.dropLast(Self.checkByteCount))
        guard SHA256.digest(body).bytes.starts(with: bytes.suffix(Self.checkByteCount)) else { return nil }
        var rest = body[...]
        func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        guard rest.popFirst() == Self.version, let device = take(SHA256Digest.byteCount).flatMap({ SHA256Digest($0) }),
            let secret = take(Self.secretByteCount), let count = rest.popFirst(), Int(count) <= Self.addressLimit
        else { return nil }
        var addresses: [String] = []
        for _ in 0..<count {
            guard let length = rest.popFirst(),
                let address = take(Int(length)).flatMap({ String(validating: $0, as: UTF8.self) }),
                Self.isAddress(address)
            else { return nil }
            addresses.append(address)
        }
        guard rest.isEmpty else { return nil }
        self.device = device
        self.secret = Array(secret)
        self.addresses = addresses
    }

    public var description: String {
        var bytes = [Self.version] + device.bytes + secret + [UInt8(truncatingIfNeeded: addresses.count)]
        for address in addresses { bytes += [UInt8(truncatingIfNeeded: address.utf8.count)] + address.utf8 }
        return Self.prefix + Base64URL.encode(bytes + SHA256.digest(bytes).bytes.prefix(Self.checkByteCount))
    }

    /// What the inviting device keeps of a secret.
    public static func digest(ofSecret secret: [UInt8]) -> SHA256Digest {
        SHA256.digest(Array("synctrain-invite/1 secret\n".utf8) + secret)
    }

    /// Whether two digests are the same, in a time that does not tell how much of them is.
    public static func isSame(_ left: SHA256Digest, _ right: SHA256Digest) -> Bool {
        let (a, b) = (left.words, right.words)
        return (a.0 ^ b.0) | (a.1 ^ b.1) | (a.2 ^ b.2) | (a.3 ^ b.3) == 0
    }

    /// Printable ASCII.
    private static func isAddress(_ text: String) -> Bool {
        (1...addressByteLimit).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
