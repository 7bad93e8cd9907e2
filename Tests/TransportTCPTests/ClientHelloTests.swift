import NIOCore
import SyncTestKit
import Testing

@testable import LinkSecurity

@Suite struct ClientHelloTests {
    private func hello(extensions: [UInt8]?, type: UInt8 = 1) -> [UInt8] {
        var body: [UInt8] = [3, 3] + [UInt8](repeating: 7, count: 32)
        body += [0] + [0, 2, 0x13, 1] + [1, 0]
        if let extensions { body += [UInt8(extensions.count >> 8), UInt8(extensions.count & 0xFF)] + extensions }
        return [type, 0, UInt8(body.count >> 8), UInt8(body.count & 0xFF)] + body
    }

    private func records(_ message: [UInt8], of size: Int) -> ByteBuffer {
        var buffer = ByteBuffer()
        for start in stride(from: 0, to: message.count, by: size) {
            let part = message[start..<min(start + size, message.count)]
            buffer.writeBytes([22, 3, 1, UInt8(part.count >> 8), UInt8(part.count & 0xFF)] + part)
        }
        return buffer
    }

    static let serverName: [UInt8] = [0, 0, 0, 4, 1, 2, 3, 4]
    static let protocols: [UInt8] = [0, 16, 0, 14, 0, 12, 7] + Array("bep/1.0".utf8) + [3] + Array("h/2".utf8)

    @Test(arguments: [1, 3, 5, 16_384])
    func readsTheProtocolsOffered(recordSize: Int) {
        let offers = records(hello(extensions: Self.serverName + Self.protocols), of: recordSize)
        #expect(ClientHelloReading(offers) == .offers(applicationProtocols: ["bep/1.0", "h/2"]))
        #expect(
            ClientHelloReading(records(hello(extensions: Self.serverName), of: recordSize))
                == .offers(applicationProtocols: []))
        #expect(
            ClientHelloReading(records(hello(extensions: nil), of: recordSize)) == .offers(applicationProtocols: []))
    }

    @Test func waitsForTheWholeMessage() {
        let whole = records(hello(extensions: Self.protocols), of: 30)
        for count in 0..<whole.readableBytes {
            #expect(ClientHelloReading(whole.getSlice(at: 0, length: count) ?? ByteBuffer()) == .incomplete)
        }
    }

    @Test func doesNotReadAnythingElse() {
        for bytes in [
            Array("GET / HTTP/1.1".utf8), [22, 3, 1, 0, 0], [22, 3, 1, 0xFF, 0xFF], [22, 3, 1, 0, 4, 2, 0, 0, 0],
            [22, 3, 1, 0, 4, 1, 0xFF, 0, 0],
        ] as [[UInt8]] {
            #expect(ClientHelloReading(ByteBuffer(bytes: bytes)) == .unreadable)
        }
        for broken in [
            Array(Self.protocols.dropLast()), [0, 16, 0, 2, 0, 0], [0, 16, 0, 4, 0, 9, 1, 65], [0, 16, 0],
        ] {
            #expect(ClientHelloReading(records(hello(extensions: broken), of: 100)) == .unreadable)
        }
        #expect(ClientHelloReading(records(hello(extensions: [], type: 2), of: 100)) == .unreadable)
        let endless = ByteBuffer(bytes: [22, 3, 1, 0, 1, 1].repeated(5500))
        #expect(ClientHelloReading(endless) == .unreadable)
    }

    @Test func mutatedBytesNeverTrap() {
        let good = Array(records(hello(extensions: Self.serverName + Self.protocols), of: 40).readableBytesView)
        let certificate = Array(Self.minimalCertificate)
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<3_000 {
            var bytes = good, der = certificate
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
                der[Int.random(in: 0..<der.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = ClientHelloReading(ByteBuffer(bytes: bytes))
            _ = CertificateNames(certificateDER: der)
        }
        #expect(CertificateNames(certificateDER: certificate)?.commonName == "ab")
    }

    /// Only what the reader looks at: serial number, four sequences of which the third is the subject, and a key.
    static let minimalCertificate: [UInt8] = {
        func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, UInt8(content.count)] + content }
        let name = element(0x30, element(0x31, element(0x30, [6, 3, 0x55, 4, 3] + element(0x0C, Array("ab".utf8)))))
        let body = element(0x02, [1]) + element(0x30, []) + element(0x30, []) + element(0x30, []) + name
        return element(0x30, element(0x30, body + element(0x30, [])))
    }()
}

extension [UInt8] {
    fileprivate func repeated(_ count: Int) -> [UInt8] { (0..<count).flatMap { _ in self } }
}
