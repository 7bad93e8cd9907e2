import BlockExchange
import Cryptography

/// What both ends of a link over a radio derive from their ids and nonces; see `docs/bluetooth-wire.md`.
struct PreambleKeys: Equatable, Sendable {
    static let nonceByteCount = 16
    static let proofByteCount = 16

    /// Shows the side that was dialled that the dialler knows both ids.
    var proof: [UInt8]
    /// Hides what the dialler sends.
    var diallerKey: [UInt8]
    /// Hides what the other side sends.
    var responderKey: [UInt8]

    init(
        dialler: DeviceID, responder: DeviceID, diallerNonce: [UInt8], responderNonce: [UInt8]
    ) throws(CryptographyError) {
        let keyByteCount = AES256CTR.keyByteCount
        let bytes = try HKDFSHA256.derive(
            from: dialler.digest.bytes + responder.digest.bytes, salt: diallerNonce + responderNonce,
            info: Array("synctrain link preamble 1\n".utf8), byteCount: Self.proofByteCount + 2 * keyByteCount)
        proof = Array(bytes.prefix(Self.proofByteCount))
        diallerKey = Array(bytes.dropFirst(Self.proofByteCount).prefix(keyByteCount))
        responderKey = Array(bytes.suffix(keyByteCount))
    }

    /// Takes the same time wherever they differ.
    func isProved(by proof: some Collection<UInt8>) -> Bool {
        proof.count == self.proof.count && zip(proof, self.proof).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
