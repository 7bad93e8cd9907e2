import Cryptography
import Testing

struct HMACSHA256Tests {
    /// RFC 4231, cases 1 to 3 and 6.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func knownCodes(key: [UInt8], message: [UInt8], expected: String) throws {
        let code = try HMACSHA256.code(of: message, key: key)
        #expect(code.description == expected)
        #expect(try HMACSHA256.isCode(code, of: message, key: key))
        #expect(try !HMACSHA256.isCode(code, of: message + [0], key: key))
        #expect(try !HMACSHA256.isCode(code, of: message, key: key + [1]))
        for bit in 0..<256 {
            var bytes = code.bytes
            bytes[bit / 8] ^= 1 << (bit % 8)
            let other = try #require(SHA256Digest(bytes))
            #expect(try !HMACSHA256.isCode(other, of: message, key: key))
        }
    }

    @Test func anEmptyMessageHasACodeAndAnEmptyKeyNone() throws {
        #expect(
            try HMACSHA256.code(of: [], key: [1]).description
                == "2f8738164025afdddbc18665c6e8f37de9498db7fd194873c61ee30c22192a9a")
        #expect(throws: CryptographyError.self) { try HMACSHA256.code(of: [1], key: []) }
    }
}
