import Cryptography
import SyncTestKit
import Testing

@Suite struct Base64Tests {
    /// RFC 4648, section 10, and the letters that the two alphabets differ in.
    static let vectors: [(bytes: [UInt8], text: String, unquoted: String)] = [
        ([], "", ""), (Array("f".utf8), "Zg==", "Zg"), (Array("fo".utf8), "Zm8=", "Zm8"),
        (Array("foo".utf8), "Zm9v", "Zm9v"), (Array("foob".utf8), "Zm9vYg==", "Zm9vYg"),
        (Array("fooba".utf8), "Zm9vYmE=", "Zm9vYmE"), (Array("foobar".utf8), "Zm9vYmFy", "Zm9vYmFy"),
        ([0xFB, 0xEF, 0xFF], "++//", "--__"),
    ]

    @Test(arguments: vectors.indices) func asInTheStandard(_ number: Int) {
        let (bytes, text, unquoted) = Self.vectors[number]
        #expect(Base64.encode(bytes) == text)
        #expect(Base64.decode(text) == bytes)
        #expect(Base64URL.encode(bytes) == unquoted)
        #expect(Base64URL.decode(unquoted.utf8) == bytes)
    }

    @Test func anyBytesComeBack() {
        var random = SeededGenerator(seed: 1)
        for count in 0..<100 {
            let bytes = random.bytes(count)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64URL.decode(Base64URL.encode(bytes).utf8) == bytes)
        }
    }

    @Test(arguments: [
        "A", "AA", "AAA", "AA=A", "A===", "=AAA", "AA A", "AAA\n", "AAA\0", "AAAé", "AAA=AAAA", "====", "Zh==", "Zm9=",
        " Zg==", "Zg== ", "--__", "Zg", "\n\n\n\n",
    ])
    func whatIsNotWrittenSoIsRefused(_ text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(arguments: ["A", "Zh", "Zm9", "Zg==", "++//", "Zm9v\n", "Z g", "é", "AAAAA"])
    func whatIsNotWrittenSoWithoutPaddingIsRefused(_ text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }
}
