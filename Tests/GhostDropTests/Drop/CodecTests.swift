import SyncTestKit
import Testing

@testable import GhostDrop

@Suite struct JSONTests {
    @Test func textsAreReadAsTheyMean() throws {
        let values: [(String, DropJSON)] = [
            (" { } ", .object([:])), ("[1, -2,0]", .array([.integer(1), .integer(-2), .integer(0)])),
            ("18446744073709551615", .unsigned(.max)), ("9223372036854775807", .integer(.max)),
            ("-9223372036854775808", .integer(.min)), ("\"\\u00e9\\ud83d\\ude00\\n\\/\"", .string("é😀\n/")),
            (
                "{\"a\":{\"b\":[true,false,null]}}",
                .object(["a": .object(["b": .array([.boolean(true), .boolean(false), .null])])])
            ),
        ]
        for (text, value) in values {
            #expect(try DropJSON(parsing: Array(text.utf8)[...]) == value, "\(text)")
            #expect(try DropJSON(parsing: value.text[...]) == value, "\(text)")
        }
    }

    @Test(arguments: [
        "", "{", "[1", "{\"a\"}", "{\"a\":1,}", "[1,]", "01", "1.5", "1e3", "18446744073709551616", "nul", "\"\\x\"",
        "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "{\"a\":1,\"a\":2}", "[[[[[[1]]]]]]", "1 2",
        "-", "+1",
        "\"\\u+123\"", "tru",
    ])
    func whatIsNoneIsRefused(text: String) {
        #expect(throws: GhostDropError.self) { try DropJSON(parsing: Array(text.utf8)[...]) }
    }

    @Test func invalidUTF8IsRefused() {
        #expect(throws: GhostDropError.self) { try DropJSON(parsing: [0x22, 0xFF, 0x22]) }
    }
}

@Suite struct DropFrameTests {
    @Test func longFramesAreRefusedBeforeTheyAreHeld() {
        var header = Array("GHST".utf8) + [1, 12, 0, 0x10, 0, 1]
        #expect(throws: GhostDropError.self) { try DropFrame.byteCount(header) }
        header[9] = 0
        #expect(try! DropFrame.byteCount(header) == 10 + (1 << 20))
        for (index, byte) in [(0, UInt8(0x16)), (4, 2), (5, 0), (5, 13)] {
            var changed = header
            changed[index] = byte
            #expect(throws: GhostDropError.self, "\(index)") { try DropFrame.byteCount(changed) }
        }
    }

    @Test(arguments: [
        ("../../etc/passwd", "passwd"), ("a\\b.txt", "b.txt"), ("..", "file"), (".bashrc", "bashrc"), ("", "file"),
        ("x\u{0}\n.bin", "x.bin"), ("photo.jpg", "photo.jpg"), ("a/", "a"),
        (String(repeating: "é", count: 200), String(repeating: "é", count: 127)),
    ])
    func namesAreNamesOfFilesHere(name: String, local: String) throws {
        var random = SeededGenerator(seed: 1)
        let metadata = DropMetadata(
            transferID: UniqueID(using: &random), filename: name, size: 1, mimeType: "", sha256: [], chunkSize: 1)
        #expect(metadata.localName == local)
    }

    @Test func damagedFramesAreRefusedOrReadAndNeverTrap() throws {
        let frames = try Vectors.load().frames.map { [UInt8](hex: $0.hex) }
        for seed in UInt64(0)..<2000 {
            var random = SeededGenerator(seed: seed)
            var frame = random.pick(frames)
            for _ in 0..<random.int(1...3) { frame[random.int(0...frame.count - 1)] = UInt8(random.int(0...255)) }
            if random.isOne(in: 3) { frame.removeLast(random.int(0...frame.count)) }
            guard let read = try? DropFrame(parsing: frame) else { continue }
            #expect(try DropFrame(parsing: read.bytes) == read)
        }
    }
}

@Suite struct DropPacketTests {
    private let frame = DropFrame.cancel(reason: String(repeating: "x", count: 300))

    @Test func unfinishedFramesAreForgottenAfterTenSeconds() throws {
        var packetizer = DropPacketizer()
        let packets = try packetizer.packets(frame, maximumPacket: 100)
        var reassembler = DropReassembler()
        for packet in packets.dropLast() { #expect(try reassembler.receive(packet, at: .zero) == nil) }
        var late = reassembler
        #expect(try reassembler.receive(try #require(packets.last), at: .milliseconds(9999)) == frame)
        #expect(try late.receive(try #require(packets.last), at: .seconds(10)) == nil)
    }

    @Test func onlySoMuchIsHeld() throws {
        var packetizer = DropPacketizer()
        let first = try packetizer.packets(frame, maximumPacket: 100)
        var reassembler = DropReassembler()
        for packet in first.dropLast() { _ = try reassembler.receive(packet, at: .zero) }
        // As many other frames as are held: the first is given up.
        for _ in 0..<64 {
            let other = try packetizer.packets(frame, maximumPacket: 100)
            _ = try reassembler.receive(other[0], at: .seconds(1))
        }
        #expect(try reassembler.receive(try #require(first.last), at: .seconds(2)) == nil)
    }

    @Test func contradictionsAndNonsenseAreRefused() throws {
        var packetizer = DropPacketizer()
        let packets = try packetizer.packets(frame, maximumPacket: 100)
        for damage in [(0, UInt8(0)), (7, 9), (9, 0)] {
            var packet = packets[0]
            packet[damage.0] = damage.1
            var reassembler = DropReassembler()
            #expect(throws: GhostDropError.self, "\(damage)") { try reassembler.receive(packet, at: .zero) }
        }
        var reassembler = DropReassembler()
        _ = try reassembler.receive(packets[0], at: .zero)
        var other = packets[1]
        other[9] += 1
        #expect(throws: GhostDropError.self) { try reassembler.receive(other, at: .zero) }
        #expect(throws: GhostDropError.self) { try packetizer.packets(frame, maximumPacket: 11) }
    }
}
