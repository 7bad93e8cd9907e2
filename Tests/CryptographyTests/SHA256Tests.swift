import Cryptography
import Testing

@Suite struct SHA256Tests {
    /// FIPS 180-4's examples (one block, two blocks, the long message), NIST's 896-bit one and the empty message.
    static let vectors: [(message: [UInt8], digest: String)] = [
        (Array("abc".utf8), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ([], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (
            Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            Array(
                ("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                    + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu").utf8),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
        (
            [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ]

    @Test(arguments: vectors) func digestIsWhatTheStandardSays(message: [UInt8], digest: String) {
        #expect(SHA256.digest(message).description == digest)
        // A sequence without storage of its own takes the other way.
        #expect(SHA256.digest(AnySequence(message)).description == digest)
    }

    @Test(arguments: vectors.prefix(4)) func piecesGiveTheSameDigest(message: [UInt8], digest: String) {
        for split in 0...message.count {
            var hasher = SHA256Hasher()
            message[..<split].withUnsafeBytes { hasher.update($0) }
            message[split...].withUnsafeBytes { hasher.update($0) }
            #expect(hasher.finalize().description == digest)
        }
    }

    @Test func textIsReadInEitherCaseAndOnlyWhole() throws {
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let digest = try #require(SHA256Digest(hex: text))
        #expect(digest == SHA256.digest("abc".utf8))
        #expect(SHA256Digest(hex: text.uppercased()) == digest)
        #expect(SHA256Digest(digest.bytes) == digest)
        for wrong in [
            "", String(text.dropLast()), text + "0", text + "00", "g" + text.dropFirst(), "é" + text.dropFirst(2),
        ] {
            #expect(SHA256Digest(hex: wrong) == nil)
        }
        #expect(SHA256Digest([UInt8](repeating: 0, count: 31)) == nil)
        #expect(SHA256Digest([UInt8](repeating: 0, count: 33)) == nil)
    }

    @Test func orderAndEqualityAreThoseOfTheBytes() throws {
        var digests: [SHA256Digest] = []
        for position in 0..<32 {
            var bytes = [UInt8](repeating: 0, count: 32)
            bytes[position] = 0x80
            digests.append(try #require(SHA256Digest(bytes)))
        }
        // The earlier the byte, the greater the number.
        #expect(digests.sorted() == digests.reversed())
        #expect(Set(digests).count == 32)
        for (index, digest) in digests.enumerated() {
            #expect(digest.bytes.firstIndex(of: 0x80) == index)
        }
    }
}
