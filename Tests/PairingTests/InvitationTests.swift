import Cryptography
import SyncTestKit
import Testing

@testable import Pairing

@Suite struct InvitationTests {
    static let device = SHA256.digest(Array("host".utf8))
    static let secret = [UInt8](0..<16)

    static func code(_ addresses: [String] = ["tcp://192.0.2.7:22000", "ble://AA:BB:CC:DD:EE:FF"]) throws
        -> InvitationCode
    {
        try #require(InvitationCode(device: device, secret: secret, addresses: addresses))
    }

    @Test(arguments: [
        [], ["tcp://192.0.2.7:22000"], ["tcp://[fe80::1%eth0]:1", "virtual://a", "ble://x", "tcp://h:2"],
    ])
    func aCodeIsReadAsItIsWritten(_ addresses: [String]) throws {
        let code = try Self.code(addresses)
        #expect(code.addresses == addresses)
        let text = code.description
        #expect(InvitationCode(parsing: text) == code)
        let broken = stride(from: 0, to: text.count, by: 20).map { text.dropFirst($0).prefix(20) }
        #expect(InvitationCode(parsing: broken.joined(separator: "\n ")) == code)
        #expect(text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") || $0 > 0x2F && $0 < 0x7B })
    }

    @Test func whatDoesNotFitIntoACodeIsLeftOut() throws {
        let long = "tcp://" + String(repeating: "a", count: 200)
        let code = try Self.code([long, "a b", "", "tcp://ä:1"] + (1...9).map { "tcp://h:\($0)" })
        #expect(code.addresses == (1...4).map { "tcp://h:\($0)" })
        #expect(code.description.utf8.count <= InvitationCode.textLimit)
        #expect(InvitationCode(device: Self.device, secret: [1, 2], addresses: []) == nil)
    }

    /// A code that was cut, mistyped or is none is never taken for another one.
    @Test func whatIsNoCodeIsToldFromOne() throws {
        let text = try Self.code().description
        for length in 0..<text.count { #expect(InvitationCode(parsing: String(text.prefix(length))) == nil) }
        let letters = Array("AZaz09-_x".utf8)
        var random = SeededGenerator(seed: 11)
        for _ in 0..<2000 {
            var bytes = Array(text.utf8)
            let place = Int.random(in: 0..<bytes.count, using: &random)
            let letter = letters.randomElement(using: &random) ?? 0
            guard bytes[place] != letter else { continue }
            bytes[place] = letter
            #expect(InvitationCode(parsing: String(decoding: bytes, as: UTF8.self)) == nil)
        }
        #expect(InvitationCode(parsing: text + "A") == nil)
        #expect(InvitationCode(parsing: String(repeating: "synctrain-", count: 1000)) == nil)
    }

    @Test func aSecretIsKnownByItsDigestAlone() {
        let digest = InvitationCode.digest(ofSecret: Self.secret)
        #expect(InvitationCode.isSame(digest, InvitationCode.digest(ofSecret: Self.secret)))
        for place in 0..<16 {
            var other = Self.secret
            other[place] ^= 1
            #expect(!InvitationCode.isSame(digest, InvitationCode.digest(ofSecret: other)))
        }
        #expect(digest != SHA256.digest(Self.secret))
    }

    static let introduction = PairingIntroduction(name: "nas ü", addresses: ["tcp://[::]:22000"])

    static func messages() throws -> [InvitationMessage] {
        let offer = try #require(
            InvitationOffer(folder: "docs", label: "", role: "read", introduction: introduction))
        return [.redeem(secret: secret, introduction), .offer(offer), .ready, .done]
            + InvitationRefusal.allCases.map { .refuse($0) }
    }

    @Test func messagesAreReadAsTheyAreWrittenInPiecesOfAnySize() throws {
        let messages = try Self.messages()
        let bytes = messages.flatMap(\.encoded)
        for size in [1, 2, 3, 7, 64, bytes.count] {
            var reader = InvitationMessageReader()
            var read: [InvitationMessage] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                reader.append(bytes[start..<min(start + size, bytes.count)])
                while let message = try reader.next() { read.append(message) }
            }
            #expect(read == messages)
        }
    }

    @Test func whatIsNoMessageIsRefused() throws {
        let wrong: [[UInt8]] = [
            [0], [6], [3, 0, 1], [5, 0, 0], [1, 0, 17], [2, 0xFF, 0xFF],
            // An offer without a folder, and one with a control character.
            [2, 0, 5, 0, 0, 0, 0, 0], [2, 0, 6, 1, 9, 0, 0, 0, 0],
        ]
        for bytes in wrong {
            var reader = InvitationMessageReader()
            reader.append(bytes)
            #expect(throws: InvitationRefusal.mistake) { while try reader.next() != nil {} }
        }
        #expect(InvitationOffer(folder: "a\n", label: "", role: "read", introduction: Self.introduction) == nil)
        var reader = InvitationMessageReader()
        reader.append([5, 0, 1, 200])
        #expect(try reader.next() == .refuse(.mistake))
    }

    @Test(arguments: 0..<20) func noBytesTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let good = try Self.messages().flatMap(\.encoded)
        for _ in 0..<200 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            var reader = InvitationMessageReader()
            reader.append(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            while let message = try? reader.next() { #expect(message.encoded.count < 70_000) }
        }
    }
}
