import Cryptography
import Testing

@Suite struct SHA256Tests {
    /// FIPS 180-4's examples (one block, two blocks, the long message), NIST's 896-bit one and the empty message.
    /// Each is given by its parts, so that the million of them is not written out in every report.
    struct Vector: Sendable, CustomTestStringConvertible {
        let part: String
        var count = 1
        let digest: String

        var message: [UInt8] { Array(String(repeating: part, count: count).utf8) }
        var testDescription: String { "\(count) × “\(part)”" }
    }

    static let vectors = [
        Vector(part: "abc", digest: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        Vector(part: "", digest: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        Vector(
            part: "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            digest: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        Vector(
            part: "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            digest: "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"),
        Vector(
            part: "a", count: 1_000_000, digest: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ]

    @Test(arguments: vectors) func digestIsWhatTheStandardSays(vector: Vector) {
        #expect(SHA256.digest(vector.message).description == vector.digest)
        // A sequence without storage of its own takes the other way.
        #expect(SHA256.digest(AnySequence(vector.message)).description == vector.digest)
    }

    @Test(arguments: vectors.prefix(4)) func piecesGiveTheSameDigest(vector: Vector) {
        let message = vector.message
        for split in 0...message.count {
            var hasher = SHA256Hasher()
            message[..<split].withUnsafeBytes { hasher.update($0) }
            message[split...].withUnsafeBytes { hasher.update($0) }
            #expect(hasher.finalize().description == vector.digest)
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
