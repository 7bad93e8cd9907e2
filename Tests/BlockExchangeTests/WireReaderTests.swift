import SyncTestKit
import Testing

@testable import BlockExchange

/// Numbers, wherever they stand: those with eight bytes behind them are read in another way than the last ones.
struct WireReaderTests {
    /// The number in `bytes`, followed by nothing and by more, and how many bytes it took.
    private static func read(_ bytes: [UInt8], behind: Int) throws -> (value: UInt64, count: Int) {
        try (bytes + [UInt8](repeating: 0xFF, count: behind)).withUnsafeBytes { buffer in
            var reader = WireReader(buffer)
            return (try reader.varint(), reader.offset)
        }
    }

    @Test func `numbers of every length read back`() throws {
        var random = SeededGenerator(seed: 301)
        let edges = (0...63).flatMap { shift in [UInt64(1) << shift, (UInt64(1) << shift) - 1, ~(UInt64(1) << shift)] }
        for value in edges + [0, .max] + (0..<2000).map({ _ in random.next() >> UInt64(random.int(0...63)) }) {
            let bytes = Proto.varint(value)
            for behind in [0, 1, 7, 8, 20] {
                let (read, count) = try Self.read(bytes, behind: behind)
                #expect(read == value && count == bytes.count)
            }
        }
    }

    @Test func `numbers may be longer than they need`() throws {
        for length in 1...10 {
            let bytes = [0x85] + [UInt8](repeating: 0x80, count: length - 1) + [0]
            guard length < 10 else {
                #expect(throws: ProtocolError(.malformed, "a protobuf number has more than 10 bytes")) {
                    try Self.read(bytes, behind: 0)
                }
                continue
            }
            for behind in [0, 8] {
                let (read, count) = try Self.read(bytes, behind: behind)
                #expect(read == 5 && count == bytes.count)
            }
        }
    }

    @Test func `numbers that are cut are truncated`() {
        let bytes = Proto.varint(.max)
        for count in 0..<bytes.count {
            #expect(throws: WireReader.truncated) { try Self.read(Array(bytes.prefix(count)), behind: 0) }
        }
    }

    @Test func `the tenth byte holds one bit`() {
        let nine = [UInt8](repeating: 0xFF, count: 9)
        #expect(throws: Never.self) { try Self.read(nine + [1], behind: 3) }
        for last in [2, 0x7F] as [UInt8] {
            #expect(throws: ProtocolError(.malformed, "a protobuf number has more than 64 bits")) {
                try Self.read(nine + [last], behind: 3)
            }
        }
    }

    @Test func `texts are UTF-8 or none`() {
        for text in ["", "a", "cafe\u{301}", "日本語 🚆", String(repeating: "x", count: 1000)] {
            #expect(Array(text.utf8).withUnsafeBytes { String(validUTF8: $0) } == text)
        }
        for bytes in [[0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0x61, 0xFF], [0xE2, 0x82]] as [[UInt8]] {
            #expect(bytes.withUnsafeBytes { String(validUTF8: $0) } == nil)
        }
    }
}
