import Cryptography
import Testing

@Suite struct KeyAgreementTests {
    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// RFC 5869, appendix A.1 and A.3.
    @Test func derivesAsInRFC5869() throws {
        let secret = [UInt8](repeating: 0x0B, count: 22)
        let first = try HKDFSHA256.derive(
            from: secret, salt: Self.bytes("000102030405060708090a0b0c"), info: Self.bytes("f0f1f2f3f4f5f6f7f8f9"),
            byteCount: 42)
        #expect(
            first
                == Self.bytes(
                    "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"))
        let second = try HKDFSHA256.derive(from: secret, salt: [], info: [], byteCount: 42)
        #expect(
            second
                == Self.bytes(
                    "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"))
        for count in [0, -1, HKDFSHA256.greatestByteCount + 1] {
            #expect(throws: CryptographyError.self) {
                try HKDFSHA256.derive(from: secret, salt: [], info: [], byteCount: count)
            }
        }
        #expect(try HKDFSHA256.derive(from: secret, salt: [], info: [], byteCount: 8160).count == 8160)
    }

    /// NIST's CAVP vectors for ECC CDH, P-256, count 0.
    @Test func agreesAsInNISTsVectors() throws {
        let key = try P256PrivateKey(
            scalar: Self.bytes("7d7dc5f71eb29ddaf80d6214632eeae03d9058af1fb6d22ed80badb62bc1a534"))
        let peer = Self.bytes(
            "04700c48f77f56584c5cc632ca65640db91b6bacce3a4df6b42ce7cc838833d287"
                + "db71e509e3fd9b060ddb20ba5c51dcc5948d46fbf640dfe0441782cab85fa4ac")
        #expect(
            key.publicKey
                == Self.bytes(
                    "04ead218590119e8876b29146ff89ca61770c4edbbf97d38ce385ed281d8a6b230"
                        + "28af61281fd35e2fa7002523acc85a429cb06ee6648325389f59edfce1405141"))
        #expect(
            try key.sharedSecret(with: peer)
                == Self.bytes("46fc62106420ff012e54a434fbdd2d25ccc5852060561e68040dd7778997bd7b"))
    }

    @Test func bothSidesOfNewKeysAgree() throws {
        let (a, b) = (try P256PrivateKey(), try P256PrivateKey())
        #expect(a.publicKey != b.publicKey)
        #expect(a.publicKey.count == P256PrivateKey.publicKeyByteCount && a.publicKey.first == 4)
        #expect(try a.sharedSecret(with: b.publicKey) == b.sharedSecret(with: a.publicKey))
    }

    @Test func whatIsNoKeyIsRefused() throws {
        let key = try P256PrivateKey()
        var off = try P256PrivateKey().publicKey
        off[64] ^= 1
        let bad = [[], [UInt8](repeating: 4, count: 65), off, [UInt8](repeating: 0, count: 65), Array(off.dropLast())]
        for bytes in bad {
            #expect { try key.sharedSecret(with: bytes) } throws: { ($0 as? CryptographyError)?.code == .invalidKey }
        }
        for scalar in [[], [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32)] {
            #expect { try P256PrivateKey(scalar: scalar) } throws: { ($0 as? CryptographyError)?.code == .invalidKey }
        }
        #expect(!"\(key)".contains("scalar") && Mirror(reflecting: key).children.allSatisfy { $0.label == "publicKey" })
    }
}

@Suite struct AES256GCMTests {
    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// Test case 16 of the GCM specification.
    @Test func sealsAsInTheSpecification() throws {
        let key = Self.bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
        let nonce = Self.bytes("cafebabefacedbaddecaf888")
        let plain = Self.bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39")
        let authenticated = Self.bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let sealed = try AES256GCM.seal(plain, key: key, nonce: nonce, authenticating: authenticated)
        #expect(
            sealed
                == Self.bytes(
                    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                        + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
                        + "76fc6ece0f4e1768cddf8853bb2d551b"))
        #expect(try AES256GCM.open(sealed, key: key, nonce: nonce, authenticating: authenticated) == plain)
    }

    @Test func nothingThatWasChangedOpens() throws {
        let key = [UInt8](repeating: 1, count: 32)
        let nonce = [UInt8](repeating: 2, count: 12)
        for plain in [[], [UInt8](repeating: 3, count: 50)] {
            let sealed = try AES256GCM.seal(plain, key: key, nonce: nonce, authenticating: [7])
            #expect(try AES256GCM.open(sealed, key: key, nonce: nonce, authenticating: [7]) == plain)
            for index in sealed.indices {
                var changed = sealed
                changed[index] ^= 0x80
                #expect { try AES256GCM.open(changed, key: key, nonce: nonce, authenticating: [7]) } throws: {
                    ($0 as? CryptographyError)?.code == .notAuthentic
                }
            }
            #expect(throws: CryptographyError.self) { try AES256GCM.open(sealed, key: key, nonce: nonce) }
            #expect(throws: CryptographyError.self) {
                try AES256GCM.open(Array(sealed.prefix(15)), key: key, nonce: nonce, authenticating: [7])
            }
        }
        #expect(throws: CryptographyError.self) { try AES256GCM.seal([], key: [1], nonce: nonce) }
        #expect(throws: CryptographyError.self) { try AES256GCM.seal([], key: key, nonce: [1]) }
    }
}
