import SyncTestKit
import Testing

@testable import FolderWatcher

@Suite struct WatchFrameTests {
    /// Frames and their bytes, written out by hand from docs/decisions/watching.md.
    static let golden: [(WatchFrame, [UInt8])] = [
        (
            .hello(device: 0xFE00, inode: 0x01_0203_0405),
            [0, 18, 0x68, 1, 0, 0, 0, 0, 0, 0, 0xFE, 0, 0, 0, 0, 1, 2, 3, 4, 5]
        ),
        (.watching(request: 1, watch: 2, wasWatched: false), [0, 10, 0x77, 0, 0, 0, 1, 0, 0, 0, 2, 0]),
        (
            .watching(request: 0xFFFF_FFFF, watch: 3, wasWatched: true),
            [0, 10, 0x77, 255, 255, 255, 255, 0, 0, 0, 3, 1]
        ),
        (.failed(request: 3, error: 28), [0, 9, 0x66, 0, 0, 0, 3, 0, 0, 0, 28]),
        (
            .event(WatchEvent(watch: 1, mask: 0x4000_0100, cookie: 5, name: [0x61, 0xFF])),
            [0, 15, 0x65, 0, 0, 0, 1, 0x40, 0, 1, 0, 0, 0, 0, 5, 0x61, 0xFF]
        ),
        (
            .event(WatchEvent(watch: 1, mask: 0x800, cookie: 0, name: [])),
            [0, 13, 0x65, 0, 0, 0, 1, 0, 0, 8, 0, 0, 0, 0, 0]
        ),
        (.gone(watch: 9), [0, 5, 0x67, 0, 0, 0, 9]),
        (.overflow, [0, 1, 0x6F]),
        (.fatal(stage: .instance, error: 24), [0, 6, 0x78, 2, 0, 0, 0, 24]),
    ]

    static let flaws: [(WatchFrameDecoder.Flaw, [UInt8])] = [
        (.length, [0, 0]),
        (.length, [255, 255]),
        (.length, [1, 13, 0x65]),
        (.kind, [0, 1, 0x7A]),
        (.content, [0, 2, 0x6F, 0]),
        (.content, [0, 4, 0x67, 0, 0, 9]),
        (.content, [0, 5, 0x67, 0, 0, 0, 0]),
        (.content, [0, 5, 0x67, 255, 255, 255, 255]),
        (.content, [0, 6, 0x78, 99, 0, 0, 0, 24]),
        (.version, [0, 18, 0x68, 2, 0, 0, 0, 0, 0, 0, 0xFE, 0, 0, 0, 0, 1, 2, 3, 4, 5]),
    ]

    private func decode(_ bytes: [UInt8], inPiecesOf size: Int) throws(WatchFrameDecoder.Flaw) -> [WatchFrame] {
        var decoder = WatchFrameDecoder()
        var frames: [WatchFrame] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            decoder.feed(bytes[start..<min(start + size, bytes.count)])
            while let frame = try decoder.next() { frames.append(frame) }
        }
        return frames
    }

    @Test func decodesWholeGluedAndByteByByte() throws {
        for (frame, bytes) in Self.golden { #expect(try decode(bytes, inPiecesOf: 1 << 16) == [frame]) }
        let glued = Self.golden.flatMap(\.1)
        for size in [1, 2, 3, 7, 1 << 16] {
            #expect(try decode(glued, inPiecesOf: size) == Self.golden.map(\.0))
        }
    }

    @Test(arguments: flaws) func refuses(_ flaw: WatchFrameDecoder.Flaw, _ bytes: [UInt8]) {
        #expect(throws: flaw) { try decode(bytes, inPiecesOf: 1 << 16) }
    }

    @Test func mutatedBytesNeitherTrapNorPileUp() {
        var random = SeededGenerator(seed: 3)
        let glued = Self.golden.flatMap(\.1)
        var refused = 0
        for _ in 0..<20_000 {
            var bytes = glued
            for _ in 0...random.int(0...3) {
                switch random.int(0...2) {
                case 0: bytes[random.int(0...bytes.count - 1)] = UInt8(random.int(0...255))
                case 1: bytes.remove(at: random.int(0...bytes.count - 1))
                default: bytes.insert(UInt8(random.int(0...255)), at: random.int(0...bytes.count))
                }
            }
            var decoder = WatchFrameDecoder()
            decoder.feed(bytes)
            do {
                while try decoder.next() != nil {}
                #expect(decoder.heldCount <= 2 + WatchFrameDecoder.lengthLimit)
            } catch {
                refused += 1
            }
        }
        #expect(refused > 5000)
    }

    @Test func encodesCommands() {
        var bytes: [UInt8] = []
        WatchCommand.watch(request: 0x0102_0304, path: "a/b").encode(into: &bytes)
        WatchCommand.unwatch(watch: 7).encode(into: &bytes)
        #expect(bytes == [0, 8, 0x77, 1, 2, 3, 4, 0x61, 0x2F, 0x62, 0, 5, 0x75, 0, 0, 0, 7])
        bytes = []
        WatchCommand.watch(request: 1, path: String(repeating: "x", count: 4095)).encode(into: &bytes)
        #expect(bytes.count == 2 + 4100 && bytes.starts(with: [0x10, 0x04]))
    }
}
