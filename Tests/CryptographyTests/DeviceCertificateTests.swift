import Foundation
import SyncTestKit
import Testing

@testable import Cryptography

/// 2026-11-21 13:37:00 UTC.
private let someTime: Int64 = 1_795_268_220

private func code(_ certificate: String, _ key: String) -> CryptographyError.Code? {
    do throws(CryptographyError) {
        _ = try DeviceCertificate(certificatePEM: certificate, privateKeyPEM: key)
        return nil
    } catch {
        return error.code
    }
}

@Suite struct DeviceCertificateGenerationTests {
    @Test(arguments: DeviceCertificate.Curve.allCases)
    func opensslReadsWhatWasMade(curve: DeviceCertificate.Curve) throws {
        let made = try DeviceCertificate.generate(curve: curve, notBefore: someTime)
        #expect(made.commonName == "syncthing")
        #expect(made.keyType == (curve == .p256 ? .p256 : .p384))
        #expect(made.privateKeyPEM.hasPrefix("-----BEGIN EC PRIVATE KEY-----\n"))

        let tool = try OpenSSLTool()
        try tool.write(made.certificatePEM, to: "cert.pem")
        try tool.write(made.privateKeyPEM, to: "key.pem")
        #expect(try tool.run("verify -check_ss_sig -CAfile cert.pem cert.pem") == "cert.pem: OK\n")
        #expect(try tool.run("ec -in key.pem -noout -check").contains("EC Key valid."))
        #expect(try tool.run("x509 -in cert.pem -noout -pubkey") == tool.run("pkey -in key.pem -pubout"))
        let dates = try tool.run("x509 -in cert.pem -noout -dates")
        #expect(dates == "notBefore=Nov 21 00:00:00 2026 GMT\nnotAfter=Nov 16 00:00:00 2046 GMT\n")
        try tool.run("x509 -in cert.pem -outform DER -out cert.der")
        #expect(try tool.readBytes("cert.der") == made.certificateDER)

        #expect(
            try DeviceCertificate(certificatePEM: made.certificatePEM, privateKeyPEM: made.privateKeyPEM) == made)
    }

    /// Each value of the DER with its type: of numbers, keys, signatures and dates the type only.
    private func shape(_ certificate: String, _ tool: OpenSSLTool) throws -> [String] {
        try tool.write(certificate, to: "shape.pem")
        let known = ["OBJECT", "PRINTABLESTRING", "UTF8STRING", "BOOLEAN", "OCTET STRING"]
        return try tool.run("asn1parse -in shape.pem").split(separator: "\n").map { line in
            let value = try #require(line.split(separator: /(cons|prim): */).last)
            return String(known.contains { value.hasPrefix($0) } ? value : value.prefix { $0 != ":" })
                .trimmingCharacters(in: .whitespaces)
        }
    }

    @Test func itIsBuiltAsSyncthingBuildsIts() throws {
        let tool = try OpenSSLTool()
        let made = try DeviceCertificate.generate(notBefore: someTime)
        let ours = try shape(made.certificatePEM, tool)
        let theirs = try shape(syncthingCertificate, tool)
        #expect(theirs.count > 40)
        #expect(ours == theirs)
    }

    @Test func everyIdentityIsNew() throws {
        let tool = try OpenSSLTool()
        var serials: Set<String> = []
        var identities: Set<SHA256Digest> = []
        for _ in 0..<20 {
            let made = try DeviceCertificate.generate(notBefore: someTime)
            identities.insert(SHA256.digest(made.certificateDER))
            try tool.write(made.certificatePEM, to: "cert.pem")
            serials.insert(try tool.run("x509 -in cert.pem -noout -serial"))
        }
        #expect(identities.count == 20)
        #expect(serials.count == 20)
        #expect(serials.allSatisfy { !$0.contains("-") })
    }

    @Test(
        arguments: [
            (0, "notBefore=Jan  1 00:00:00 1970 GMT\nnotAfter=Dec 27 00:00:00 1989 GMT\n"),
            (86_399, "notBefore=Jan  1 00:00:00 1970 GMT\nnotAfter=Dec 27 00:00:00 1989 GMT\n"),
            (2_493_072_000, "notBefore=Jan  1 00:00:00 2049 GMT\nnotAfter=Dec 27 00:00:00 2068 GMT\n"),
            (252_771_580_799, "notBefore=Jan  5 00:00:00 9980 GMT\nnotAfter=Dec 31 00:00:00 9999 GMT\n"),
        ] as [(Int64, String)])
    func itBeginsAtMidnight(time: Int64, dates: String) throws {
        let tool = try OpenSSLTool()
        try tool.write(DeviceCertificate.generate(notBefore: time).certificatePEM, to: "cert.pem")
        #expect(try tool.run("x509 -in cert.pem -noout -dates") == dates)
    }

    @Test(arguments: [-1, .min, .max, 252_771_580_800] as [Int64])
    func aTimeThatNoCertificateCanHoldIsRefused(time: Int64) {
        #expect(throws: CryptographyError.self) { try DeviceCertificate.generate(notBefore: time) }
    }

    @Test func theKeyStaysOutOfLogs() throws {
        let made = try DeviceCertificate.generate(notBefore: someTime)
        let secret = made.privateKeyPEM.split(separator: "\n")[1]
        var dumped = ""
        dump(made, to: &dumped)
        for text in ["\(made)", String(reflecting: made), dumped] {
            #expect(!text.contains(secret))
            #expect(!text.contains("PRIVATE"))
        }
    }
}

@Suite struct DeviceCertificateLoadingTests {
    @Test func theDeviceIDVectorIsReproduced() throws {
        let blocks = try PEMBlock.all(in: syncthingCertificate)
        let block = try #require(blocks.first)
        #expect(blocks.count == 1)
        let digest = "41704766a6831ef34f78c088f1374b183afb4ffa93b10024059a0e098e0a8bff"
        #expect(SHA256.digest(block.contents).description == digest)
        #expect(try block.text() == syncthingCertificate)
    }

    @Test(arguments: [
        ("-newkey ec -pkeyopt ec_paramgen_curve:P-256", DeviceCertificate.KeyType.p256),
        ("-newkey ec -pkeyopt ec_paramgen_curve:P-384", .p384),
        ("-newkey rsa:2048", .rsa(bitCount: 2048)),
        ("-newkey ed25519", .ed25519),
    ])
    func everyKeyOfAPeerIsTaken(options: String, type: DeviceCertificate.KeyType) throws {
        let tool = try OpenSSLTool()
        let (certificate, key) = try tool.selfSigned(options, subject: "/O=x/CN=näme")
        let loaded = try DeviceCertificate(certificatePEM: certificate, privateKeyPEM: key)
        #expect(loaded.keyType == type)
        #expect(loaded.commonName == "näme" || loaded.commonName == "nÃ¤me")
        #expect(loaded.certificatePEM == certificate)
        #expect(loaded.privateKeyPEM == key)
        try tool.run("x509 -in cert.pem -outform DER -out cert.der")
        #expect(try tool.readBytes("cert.der") == loaded.certificateDER)
        guard type != .ed25519 else { return }

        // The older form of the same key: SEC 1 or PKCS#1.
        try tool.run("pkey -in key.pem -traditional -out old.pem")
        let old = try tool.read("old.pem")
        #expect(old != key)
        #expect(try DeviceCertificate(certificatePEM: certificate, privateKeyPEM: old).keyType == type)
    }

    @Test func textAroundTheBlocksIsAllowed() throws {
        let tool = try OpenSSLTool()
        try tool.run("ecparam -name secp384r1 -genkey -out key.pem")
        try tool.run("req -x509 -key key.pem -days 9 -subj /CN=syncthing -out cert.pem")
        let key = try tool.read("key.pem")
        #expect(key.hasPrefix("-----BEGIN EC PARAMETERS-----"))
        let certificate = try "subject=mine\n\n" + tool.read("cert.pem") + "\nthe end\n"
        let loaded = try DeviceCertificate(certificatePEM: certificate, privateKeyPEM: key)
        #expect(loaded.keyType == .p384)
        #expect(loaded.certificatePEM == (try tool.read("cert.pem")))
        // And with the line ends of another system.
        let foreign = certificate.replacing("\n", with: "\r\n")
        #expect(try DeviceCertificate(certificatePEM: foreign, privateKeyPEM: key) == loaded)
    }

    @Test func aCertificateWithoutCommonNameHasNone() throws {
        let tool = try OpenSSLTool()
        let (certificate, key) = try tool.selfSigned("-newkey ed25519", subject: "/O=x")
        #expect(try DeviceCertificate(certificatePEM: certificate, privateKeyPEM: key).commonName == nil)
    }

    @Test func aKeyOfAnotherCertificateIsRefused() throws {
        let one = try DeviceCertificate.generate(notBefore: someTime)
        let other = try DeviceCertificate.generate(notBefore: someTime)
        let small = try DeviceCertificate.generate(curve: .p256, notBefore: someTime)
        #expect(code(one.certificatePEM, other.privateKeyPEM) == .keyDoesNotMatch)
        #expect(code(one.certificatePEM, small.privateKeyPEM) == .keyDoesNotMatch)
        #expect(code(syncthingCertificate, one.privateKeyPEM) == .keyDoesNotMatch)
    }

    @Test(arguments: [
        "-newkey ec -pkeyopt ec_paramgen_curve:secp256k1", "-newkey ec -pkeyopt ec_paramgen_curve:P-521",
        "-newkey rsa:1024", "-newkey ed448",
    ])
    func aKeyThatDevicesDoNotUseIsRefused(options: String) throws {
        let (certificate, key) = try OpenSSLTool().selfSigned(options)
        #expect(code(certificate, key) == .unsupportedKey)
    }

    @Test func aLockedKeyIsRefusedWithoutAskingForItsPassphrase() throws {
        let tool = try OpenSSLTool()
        let made = try DeviceCertificate.generate(notBefore: someTime)
        try tool.write(made.privateKeyPEM, to: "key.pem")
        try tool.run("pkcs8 -topk8 -in key.pem -passout pass:secret -out new.pem")
        try tool.run("ec -in key.pem -aes128 -passout pass:secret -out old.pem")
        #expect(try tool.read("new.pem").contains("BEGIN ENCRYPTED PRIVATE KEY"))
        #expect(try tool.read("old.pem").contains("Proc-Type: 4,ENCRYPTED"))
        #expect(code(made.certificatePEM, try tool.read("new.pem")) == .privateKeyEncrypted)
        #expect(code(made.certificatePEM, try tool.read("old.pem")) == .privateKeyEncrypted)
    }

    @Test func whatIsNoCertificateOrKeyIsRefusedByName() throws {
        let made = try DeviceCertificate.generate(notBefore: someTime)
        let certificate = made.certificatePEM
        let key = made.privateKeyPEM
        let lines = certificate.split(separator: "\n")
        let notACertificate = try PEMBlock(label: "CERTIFICATE", header: "", contents: [0x30, 1, 0]).text()
        let withATail = try PEMBlock(label: "CERTIFICATE", header: "", contents: made.certificateDER + [0]).text()
        let notAKey = try PEMBlock(label: "PRIVATE KEY", header: "", contents: [0x30, 0]).text()
        let table: [(String, String, CryptographyError.Code)] = [
            ("", key, .certificateUnreadable),
            ("garbage", key, .certificateUnreadable),
            (key, key, .certificateUnreadable),
            (String(certificate.dropLast(30)), key, .certificateUnreadable),
            (lines.dropLast().joined(separator: "\n"), key, .certificateUnreadable),
            (notACertificate, key, .certificateUnreadable),
            (withATail, key, .certificateUnreadable),
            (String(repeating: " ", count: 1 << 20) + certificate, key, .certificateUnreadable),
            (certificate + certificate, key, .severalCertificates),
            (certificate + syncthingCertificate, key, .severalCertificates),
            (certificate, "", .privateKeyUnreadable),
            (certificate, "garbage\u{0}", .privateKeyUnreadable),
            (certificate, certificate, .privateKeyUnreadable),
            (certificate, notAKey, .privateKeyUnreadable),
            (certificate, String(key.dropLast(40)), .privateKeyUnreadable),
        ]
        for (index, row) in table.enumerated() {
            #expect(code(row.0, row.1) == row.2, "row \(index)")
        }
    }

    @Test func damagedTextNeverGivesAnotherIdentity() throws {
        let made = try DeviceCertificate.generate(curve: .p256, notBefore: someTime)
        var generator = SeededGenerator(seed: 7)
        for round in 0..<600 {
            var certificate = Array(made.certificatePEM.utf8)
            var key = Array(made.privateKeyPEM.utf8)
            if round.isMultiple(of: 2) {
                certificate[Int.random(in: 0..<certificate.count, using: &generator)] = .random(
                    in: 0...255, using: &generator)
            } else {
                key[Int.random(in: 0..<key.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            let loaded = try? DeviceCertificate(
                certificatePEM: String(decoding: certificate, as: UTF8.self),
                privateKeyPEM: String(decoding: key, as: UTF8.self))
            guard let loaded else { continue }
            // The text around the base64 may differ, and bytes of the certificate that its key does not cover; the key
            // that comes out is the one of the certificate in any case.
            #expect(loaded.keyType == .p256)
            #expect(try publicKey(loaded.certificatePEM) == publicKey(made.certificatePEM))
        }
    }

    /// The key's bits, which in a certificate of Syncthing's shape follow the name of the curve.
    private func publicKey(_ certificate: String) throws -> [UInt8] {
        let bytes = try #require(PEMBlock.all(in: certificate).first).contents
        let curve: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00]
        let start = try #require(bytes.firstRange(of: curve)).upperBound
        return Array(bytes[start..<start + 65])
    }

    @Test func everyErrorSaysWhatToDo() throws {
        let made = try DeviceCertificate.generate(notBefore: someTime)
        #expect(throws: CryptographyError.self) {
            try DeviceCertificate(certificatePEM: "", privateKeyPEM: made.privateKeyPEM)
        }
        do throws(CryptographyError) {
            _ = try DeviceCertificate(certificatePEM: made.certificatePEM, privateKeyPEM: "x")
            Issue.record("garbage was taken for a key")
        } catch {
            #expect(error.message.contains("key file"))
            #expect(error.message.contains("restore it from a backup"))
            #expect(!"\(error)".isEmpty)
        }
    }
}
