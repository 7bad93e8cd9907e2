import Foundation
import GhostDrop
import Testing

/// What the real GhostDrop code produced (ghostdrop-v1.json).
struct Vectors: Decodable {
    struct Frame: Decodable {
        var name: String
        var hex: String
    }

    struct GATT: Decodable {
        var maxPacketSize: Int
        /// `N:` without or `R:` with response, then the packet.
        var packets: [String]
    }

    struct Handshake: Decodable {
        var sessionID, transferID, nonceA, nonceB, privateKeyA, privateKeyB, publicKeyA, publicKeyB: String
        var transcriptHash, sas, encKeyMaterial, macKeyMaterial, dataPlain: String
        var senderSealedMetadataSeq0, senderSealedCancelSeq1, senderSealedDataSeq5, receiverSealedPing7Seq0: String
    }

    struct Window: Decodable {
        struct Step: Decodable {
            var op: String
            var seq, cum, nack: UInt64?
            var at, now, timeout, inflight: Int?
            var seqs, retransmit: [UInt64]?
        }

        var window: Int
        var steps: [Step]
    }

    var frames: [Frame]
    var gatt: [GATT]
    var handshakes: [Handshake]
    var slidingWindow: [Window]
    var advertisement: String
    var advertisementNoPSM: String

    static func load() throws -> Vectors {
        let url = try #require(
            Bundle.module.url(forResource: "ghostdrop-v1", withExtension: "json", subdirectory: "Vectors"))
        return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: url))
    }
}

extension [UInt8] {
    init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        self = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
