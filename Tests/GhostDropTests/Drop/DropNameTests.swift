import SyncTestKit
import Testing

@testable import GhostDrop

@Suite struct DropNameTests {
    @Test(
        arguments: [
            ("photo.jpg", "photo.jpg"), ("a/b/c.txt", "c.txt"), ("..\\..\\boot.ini", "boot.ini"), ("", "file"),
            ("..", "file"), (".", "file"), ("/", "file"), ("...", "file"), (".profile", "profile"), ("../.x", "x"),
            (" . .x ", "x"), ("~syncthing~a", "syncthing~a"), (".syncthing.a.tmp", "syncthing.a.tmp"),
            (".stfolder", "stfolder"), ("a\u{0}b\n\u{1B}[31m\u{7F}\u{85}", "ab[31m"),
            ("in\u{202E}gpj.exe", "ingpj.exe"), ("\u{2066}x\u{2069}\u{200E}", "x"), ("a\u{2028}b\u{2029}c", "abc"),
            ("\u{E000}\u{FFFF}", "file"), ("\u{1F468}\u{200D}\u{1F469}.png", "\u{1F468}\u{200D}\u{1F469}.png"),
            ("für Ömer – 10 %.pdf", "für Ömer – 10 %.pdf"), ("\u{3000}x\u{A0}", "x"),
            ("Sub/\u{301}x", "\u{301}x"), ("..\\\u{301}x", "\u{301}x"), ("\u{0D4E}/x", "x"), (".\u{301}x", "\u{301}x"),
        ])
    func aNameIsMadeHarmless(_ announced: String, _ local: String) {
        #expect(Array(DropName.local(announced).utf8) == Array(local.utf8))
    }

    @Test(
        arguments: [
            ("photo.jpg", 1, "photo (1).jpg"), ("photo", 12, "photo (12)"), ("a.tar.gz", 2, "a.tar (2).gz"),
            ("x.", 1, "x (1)."),
            ("ab.\(String(repeating: "c", count: 40))", 1, "ab.\(String(repeating: "c", count: 40)) (1)"),
        ])
    func aNumberGoesBeforeTheExtension(_ name: String, _ number: Int, _ numbered: String) {
        #expect(DropName.numbered(name, number) == numbered)
    }

    @Test func anyNameBecomesAName() {
        for seed in UInt64(0)..<300 {
            var random = SeededGenerator(seed: seed)
            let bytes = random.bytes(random.int(0...600)).map { random.int(0...3) == 0 ? $0 : UInt8(0x20 + $0 % 0x60) }
            let name = DropName.local(String(decoding: bytes, as: UTF8.self))
            for candidate in [name, DropName.numbered(name, random.int(1...999))] {
                #expect((1...255).contains(candidate.utf8.count))
                #expect(!candidate.utf8.contains(0) && !candidate.utf8.contains(UInt8(ascii: "/")))
                #expect(!candidate.hasPrefix(".") && !candidate.hasPrefix("~"))
            }
        }
    }
}

@Suite struct DropPacketStreamTests {
    private static let frames: [DropFrame] = [
        .ping(id: 7), .data(sequence: 3, payload: [UInt8](repeating: 9, count: 180)), .cancel(reason: "ü"),
        .ack(cumulative: 5, missing: 1),
    ]

    /// Cut anywhere, in packets of any size, in any order and some of them twice: every frame comes out once.
    @Test(arguments: UInt64(0)..<30) func framesComeOutAsTheyWentIn(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var sender = DropPacketStream(maximumPacket: random.int(20...510))
        var receiver = DropPacketStream(maximumPacket: 20)
        var bytes = Self.frames.flatMap(\.bytes)[...]
        while !bytes.isEmpty {
            let part = bytes.prefix(random.int(1...300))
            try sender.write(part)
            bytes = bytes.dropFirst(part.count)
        }
        var packets: [DropPacketStream.Packet] = []
        while let packet = sender.nextPacket() { packets.append(packet) }
        #expect(packets.contains { $0.isBulk } && packets.contains { !$0.isBulk })
        packets.append(random.pick(packets))
        packets.shuffle(using: &random)
        var arrived: [[UInt8]] = []
        for packet in packets {
            let frame = receiver.receive(packet.bytes, at: .zero)
            if !frame.isEmpty { arrived.append(frame) }
        }
        for frame in Self.frames { #expect(arrived.contains(frame.bytes)) }
        #expect(Set(arrived).count == Self.frames.count)
    }

    @Test func whatIsNoneIsAnErrorHereAndNothingThere() {
        var stream = DropPacketStream(maximumPacket: 100)
        #expect(throws: GhostDropError.self) { try stream.write("HTTP/1.1 200".utf8) }
        var random = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            let packet = Array("GD".utf8) + random.bytes(random.int(0...40))
            #expect(stream.receive(random.int(0...1) == 0 ? packet : random.bytes(20), at: .zero).isEmpty)
        }
    }
}
