import Testing

@testable import Cryptography

@Suite struct PasswordDigestTests {
    /// RFC 7914, 12: the first 32 bytes, which do not depend on how many are asked for.
    @Test(
        arguments: [
            ("", "", 16, 1, 1, "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"),
            ("password", "NaCl", 1024, 8, 16, "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"),
            (
                "pleaseletmein", "SodiumChloride", 16384, 8, 1,
                "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
            ),
        ] as [(String, String, UInt64, UInt64, UInt64, String)])
    func isWhatTheSpecificationSays(
        password: String, salt: String, cost: UInt64, block: UInt64, lanes: UInt64, digest: String
    ) throws {
        let parameters = Scrypt.Parameters(cost: cost, blockSize: block, parallelism: lanes)
        let made = try Scrypt.digest(of: Array(password.utf8), salt: Array(salt.utf8), parameters)
        #expect(made.description == digest)
        #expect(made.isSame(as: try #require(SHA256Digest(hex: digest))))
        #expect(!made.isSame(as: SHA256.digest(Array("x".utf8))))
    }

    @Test(
        arguments: [
            (0, 8, 1), (1, 8, 1), (3, 8, 1), (1 << 21, 1, 1), (1 << 20, 8, 1), (2, 0, 1), (2, 33, 1), (2, 1, 0),
            (2, 1, 17),
            (.max, .max, .max),
        ] as [(UInt64, UInt64, UInt64)])
    func whatWouldTakeTooMuchIsRefused(cost: UInt64, block: UInt64, lanes: UInt64) {
        let parameters = Scrypt.Parameters(cost: cost, blockSize: block, parallelism: lanes)
        #expect(!parameters.isSound)
        #expect(throws: CryptographyError.self) { try Scrypt.digest(of: [1], salt: [1], parameters) }
    }

    @Test func theUsualOnesAndTheLargestCanBeUsed() throws {
        #expect(Scrypt.Parameters.usual.isSound)
        let largest = Scrypt.Parameters(cost: 1 << 18, blockSize: 8, parallelism: 1)
        #expect(largest.isSound)
        _ = try Scrypt.digest(of: [1], salt: [1], largest)
        #expect(throws: CryptographyError.self) {
            try Scrypt.digest(of: [UInt8](repeating: 1, count: Scrypt.passwordLimit + 1), salt: [1], .usual)
        }
    }
}

@Suite struct PageCertificateTests {
    @Test func opensslReadsWhatWasMade() throws {
        let made = try PageCertificate.generate(
            names: ["nas", "nas.local", "a,DNS:evil.example", "x\ny", ""],
            addresses: ["192.0.2.1", "::1", "1.2.3", "192.0.2.1,DNS:x", "fe80::1%eth0"], notBefore: 1_795_289_512)
        let tool = try OpenSSLTool()
        try tool.write(made.certificate, to: "cert.pem")
        try tool.write(made.key, to: "key.pem")
        #expect(try tool.run("verify -check_ss_sig -CAfile cert.pem cert.pem") == "cert.pem: OK\n")
        #expect(try tool.run("x509 -in cert.pem -noout -pubkey") == tool.run("pkey -in key.pem -pubout"))
        #expect(
            try tool.run("x509 -in cert.pem -noout -dates")
                == "notBefore=Nov 21 00:00:00 2026 GMT\nnotAfter=Feb 18 00:00:00 2029 GMT\n")
        let names = try tool.run("x509 -in cert.pem -noout -ext subjectAltName")
        #expect(names.contains("DNS:nas, DNS:nas.local, IP Address:192.0.2.1, IP Address:0:0:0:0:0:0:0:1\n"))
        #expect(!names.contains("evil") && !names.contains("DNS:x"))
        // Nothing in it leads to the device.
        #expect(try !tool.run("x509 -in cert.pem -noout -subject -ext subjectAltName").contains("yncthing"))
    }

    @Test func thereIsAlwaysAName() throws {
        let tool = try OpenSSLTool()
        try tool.write(
            try PageCertificate.generate(names: ["a b"], addresses: [], notBefore: 0).certificate, to: "c.pem")
        #expect(try tool.run("x509 -in c.pem -noout -ext subjectAltName").contains("DNS:localhost\n"))
        for time in [-1, Int64.max] {
            #expect(throws: CryptographyError.self) {
                try PageCertificate.generate(names: [], addresses: [], notBefore: time)
            }
        }
    }
}
