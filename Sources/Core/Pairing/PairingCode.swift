import Cryptography

/// The six digits that both users compare: a short authentication string.
public struct PairingCode: Hashable, Sendable, CustomStringConvertible {
    /// How many codes there are.
    public static let count: UInt32 = 1_000_000

    /// 0 to 999,999.
    public let value: UInt32

    init(value: UInt32) { self.value = value }

    /// Reads six digits as people write them: spaces and dashes do not matter. Nil for anything else.
    public init?(parsing text: String) {
        var value: UInt32 = 0
        var digitCount = 0
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "-"): continue
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                digitCount += 1
                guard digitCount <= 6 else { return nil }
                value = value * 10 + UInt32(byte - UInt8(ascii: "0"))
            default: return nil
            }
        }
        guard digitCount == 6 else { return nil }
        self.value = value
    }

    /// Six digits: `042137`.
    public var description: String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, 6 - digits.utf8.count)) + digits
    }
}

/// What both ends compute from what they sent each other. The formulas are in docs/decisions/pairing.md.
enum PairingTranscript {
    static let commitmentLabel = "synctrain-pair/1 commitment\n"
    static let codeLabel = "synctrain-pair/1 code\n"

    /// What the initiator sends first: it fixes the initiator's nonce without telling it.
    static func commitment(
        initiator: SHA256Digest, responder: SHA256Digest, initiatorNonce: PairingNonce
    ) -> SHA256Digest {
        digest([Array(commitmentLabel.utf8), initiator.bytes, responder.bytes, initiatorNonce.bytes])
    }

    /// The first four bytes of the digest, big-endian, modulo `count`; tests of attacks take fewer codes than there are.
    static func code(
        initiator: SHA256Digest, responder: SHA256Digest, initiatorNonce: PairingNonce, responderNonce: PairingNonce,
        count: UInt32 = PairingCode.count
    ) -> PairingCode {
        let digest = digest([
            Array(codeLabel.utf8), initiator.bytes, responder.bytes, initiatorNonce.bytes, responderNonce.bytes,
        ])
        return PairingCode(value: UInt32(truncatingIfNeeded: digest.words.0 >> 32) % count)
    }

    private static func digest(_ parts: [[UInt8]]) -> SHA256Digest {
        var hasher = SHA256Hasher()
        for part in parts { part.withUnsafeBytes { hasher.update($0) } }
        return hasher.finalize()
    }
}

/// 32 random bytes that are used once.
public struct PairingNonce: Hashable, Sendable {
    public static let byteCount = 32

    let bytes: [UInt8]

    /// Nil for another count than 32.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
    }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// A new one from the generator for keys.
    public static func random() -> PairingNonce { PairingNonce(unchecked: SecureRandom.bytes(count: byteCount)) }
}
