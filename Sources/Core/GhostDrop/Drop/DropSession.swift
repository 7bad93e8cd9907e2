import Cryptography

/// What both sides of a v1 session derive from the two keys: the code to compare, and the keys of each direction.
public struct DropKeys: Sendable {
    /// SHA-256 of what both sides must have seen.
    public let transcriptHash: [UInt8]
    /// Six digits for the two users to compare.
    public let code: String
    let encryptionKey: [UInt8]
    /// Agreed with the encryption key; v1 uses it for nothing.
    let authenticationKey: [UInt8]

    /// - Parameters:
    ///   - peerKey: the peer's public key, 65 bytes; throws `malformed` if it is no point of the curve.
    public init(
        sessionID: UniqueID, privateKey: P256PrivateKey, nonce: [UInt8], peerKey: [UInt8], peerNonce: [UInt8]
    ) throws(GhostDropError) {
        let own = privateKey.publicKey + nonce
        let peer = peerKey + peerNonce
        // The side whose key sorts first comes first, so that both sides write the same.
        let isFirst = privateKey.publicKey.lexicographicallyPrecedes(peerKey)
        let transcript = Array("GhostDrop-v1".utf8) + sessionID.bytes + (isFirst ? own + peer : peer + own)
        let hash = SHA256.digest(transcript).bytes
        transcriptHash = hash
        let number = hash[..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } % 1_000_000
        let digits = String(number)
        code = String(repeating: "0", count: 6 - digits.count) + digits
        do {
            let secret = try HKDFSHA256.derive(
                from: privateKey.sharedSecret(with: peerKey), salt: hash, info: Array("GhostDrop Session Keys".utf8),
                byteCount: 64)
            encryptionKey = Array(secret[..<32])
            authenticationKey = Array(secret[32...])
        } catch {
            throw .malformed("a key that is none (\(error.message))")
        }
    }

    /// Seals what `sender` sends, or opens it.
    func protection(of sender: DropRole) throws(GhostDropError) -> RecordProtection {
        do {
            let key = try HKDFSHA256.derive(
                from: encryptionKey, salt: Array("ghostdrop-directional".utf8), info: Array(sender.rawValue.utf8),
                byteCount: AES256GCM.keyByteCount)
            return RecordProtection(key: key, sender: sender)
        } catch {
            throw GhostDropError(.malformed, error.message)
        }
    }
}

/// The two ends of a transfer; the names go into its keys.
public enum DropRole: String, Sendable {
    case sender
    case receiver
}

/// AES-256-GCM with one direction's key.
///
/// v1 numbers control frames and chunks from 0 each under one key, so two texts may share a nonce. That is v1's weakness,
/// known and kept on the wire for its sake; nothing but v1 transfers uses this.
struct RecordProtection: Sendable {
    private let key: [UInt8]
    private let noncePrefix: [UInt8]

    init(key: [UInt8], sender: DropRole) {
        self.key = key
        noncePrefix = Array(SHA256.digest("ghostdrop-\(sender.rawValue)".utf8).bytes[..<4])
    }

    private static func bytes(_ sequence: UInt64) -> [UInt8] { withUnsafeBytes(of: sequence.bigEndian) { Array($0) } }

    /// The nonce, the ciphertext and the tag.
    func seal(_ plaintext: [UInt8], sequence: UInt64) throws(GhostDropError) -> [UInt8] {
        let number = Self.bytes(sequence)
        do {
            return try noncePrefix + number
                + AES256GCM.seal(plaintext, key: key, nonce: noncePrefix + number, authenticating: number)
        } catch {
            throw GhostDropError(.malformed, error.message)
        }
    }

    /// Throws `notAuthentic` for what the peer did not seal under this number.
    func open(_ combined: [UInt8], sequence: UInt64) throws(GhostDropError) -> [UInt8] {
        let nonce = noncePrefix + Self.bytes(sequence)
        guard combined.starts(with: nonce) else { throw Self.notAuthentic }
        do {
            return try AES256GCM.open(
                Array(combined[nonce.count...]), key: key, nonce: nonce, authenticating: Self.bytes(sequence))
        } catch {
            throw Self.notAuthentic
        }
    }

    private static let notAuthentic = GhostDropError(
        .notAuthentic, "the received data cannot be decrypted; start the transfer again")
}
