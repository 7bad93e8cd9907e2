import BlockExchange
import Cryptography
import Foundation
import SyncTestKit
import Testing

struct DeviceIDTests {
    static let vectors: [(hex: String, text: String)] = [
        (
            "41704766a6831ef34f78c088f1374b183afb4ffa93b10024059a0e098e0a8bff",
            "IFYEOZV-GQMPPGR-T3YYCEP-CN2LDA5-5PWT72S-OYQAJA3-FTIHATD-QKRP7QI"
        ),
        (
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "AAAQEAY-EAUDAOB-CAJBIFQ-YDIOB4B-IBCEQTC-QKRMFYX-YDENBWH-A5DYPQG"
        ),
        (
            String(repeating: "f", count: 64),
            "7777777-777777N-7777777-777777N-7777777-777777N-7777777-77777Q4"
        ),
        (
            String(repeating: "0", count: 64),
            "AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA"
        ),
    ]

    /// The bytes of the certificate of the first vector, in base 64.
    static let certificate = syncthingCertificate.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        .joined(separator: "\n")

    static func deviceID(hex: String) throws -> DeviceID { DeviceID(digest: try #require(SHA256Digest(hex: hex))) }

    @Test(arguments: vectors)
    func `prints and reads real ids`(hex: String, text: String) throws {
        let id = try Self.deviceID(hex: hex)
        #expect(id.description == text)
        #expect(try DeviceID(parsing: text) == id)
    }

    @Test func `is the hash of the certificate as Syncthing made it`() throws {
        let der = try #require(Data(base64Encoded: Self.certificate, options: .ignoreUnknownCharacters))
        let id = DeviceID(certificateDER: der)
        #expect(id.description == Self.vectors[0].text)
        #expect(id.shortID.rawValue == 0x4170_4766_a683_1ef3)
        #expect(id.shortID.description == "IFYEOZV")
    }

    @Test func `reads the forms that people type`() throws {
        let text = Self.vectors[0].text
        let id = try Self.deviceID(hex: Self.vectors[0].hex)
        let plain = text.replacing("-", with: "")
        let withoutChecks = String(plain.enumerated().filter { $0.offset % 14 != 13 }.map(\.element))
        #expect(withoutChecks.count == 52)
        for form in [
            plain, text.lowercased(), text.replacing("-", with: " "), "  \(text) - ", withoutChecks,
            withoutChecks.lowercased(), plain.map { "\($0)-" }.joined(),
        ] {
            #expect(try DeviceID(parsing: form) == id, "\(form)")
        }
    }

    @Test func `takes the digits 0, 1 and 8 for the letters they look like`() throws {
        // The second vector holds all three letters.
        let (hex, text) = Self.vectors[1]
        let typed = text.replacing("O", with: "0").replacing("I", with: "1").replacing("B", with: "8")
        #expect(typed.contains("0") && typed.contains("1") && typed.contains("8"))
        #expect(try DeviceID(parsing: typed) == Self.deviceID(hex: hex))
    }

    @Test(arguments: 1...4)
    func `refuses every wrong check character and names its group`(group: Int) throws {
        let plain = Array(Self.vectors[0].text.replacing("-", with: ""))
        let place = group * 14 - 1
        for character in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" where character != plain[place] {
            var wrong = plain
            wrong[place] = character
            #expect(throws: DeviceIDError.wrongCheckCharacter(group: group)) {
                try DeviceID(parsing: String(wrong))
            }
        }
    }

    @Test func `a single wrong character is always found`() {
        let plain = Array(Self.vectors[1].text.replacing("-", with: ""))
        for place in plain.indices {
            for character in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" where character != plain[place] {
                var wrong = plain
                wrong[place] = character
                #expect(throws: DeviceIDError.wrongCheckCharacter(group: place / 14 + 1)) {
                    try DeviceID(parsing: String(wrong))
                }
            }
        }
    }

    static let refused: [(text: String, error: DeviceIDError)] = [
        ("", .wrongLength), ("A", .wrongLength), (String(repeating: "A", count: 51), .wrongLength),
        (String(repeating: "A", count: 53), .wrongLength), (String(repeating: "A", count: 55), .wrongLength),
        (String(repeating: "A", count: 57), .wrongLength), (String(repeating: "A", count: 1_000_000), .wrongLength),
        (String(repeating: "9", count: 52), .wrongCharacter), (String(repeating: "9", count: 56), .wrongCharacter),
        (String(repeating: "é", count: 26), .wrongCharacter), (String(repeating: "\0", count: 56), .wrongCharacter),
        (String(repeating: "AAAA=", count: 11) + "A", .wrongCharacter),
    ]

    @Test(arguments: refused.indices)
    func `refuses what is no id`(row: Int) {
        let (text, error) = Self.refused[row]
        #expect(throws: error) { try DeviceID(parsing: text) }
        #expect(error.description.isEmpty == false)
    }

    @Test func `every id reads back from its text`() throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<1000 {
            let id = random.deviceID()
            #expect(try DeviceID(parsing: id.description) == id)
            #expect(id.description.hasPrefix(id.shortID.description))
        }
    }

    @Test func `ids and short ids are ordered as their bytes`() throws {
        let ids = try Self.vectors.map { try Self.deviceID(hex: $0.hex) }.sorted()
        #expect(ids.map { $0.digest.bytes[0] } == [0x00, 0x00, 0x41, 0xff])
        #expect(ids[0] < ids[1])
        #expect(ids.map(\.shortID) == ids.map(\.shortID).sorted())
    }

    @Test func `folder ids differ if their bytes do`() {
        let composed = FolderID("caf\u{E9}")
        let decomposed = FolderID("cafe\u{301}")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect(decomposed < composed)
        #expect(FolderID("a") < FolderID("ab"))
    }
}
