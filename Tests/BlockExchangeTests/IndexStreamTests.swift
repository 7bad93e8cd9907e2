import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

/// Indexes are read as they come and handed on in batches.
struct IndexStreamTests {
    static func limits(entries: Int, bytes: Int = 1 << 20) -> ExchangeLimits {
        LimitsTests.limits {
            $0.entriesPerBatch = entries
            $0.bytesPerBatch = bytes
        }
    }

    static func index(_ count: Int, type: Int = Frame.index, tail: Proto = Proto()) -> Proto {
        LimitsTests.repeated(count) { Proto().message(2, Proto.file("\($0)").varint(10, UInt64($0 + 1))) }.prefixed("f")
            .raw(tail.bytes)
    }

    static func batches(_ events: [ConnectionEvent]) -> [IndexBatch] {
        events.compactMap { if case .index(let batch) = $0 { batch } else { nil } }
    }

    typealias Row = (count: Int, tail: Bool, sizes: [Int])

    static let rows: [Row] = [
        (0, false, [0]), (0, true, [0]), (1, false, [1]), (9, false, [9]), (10, false, [10]),
        // The tail comes after a batch that is full: the last one brings only the sequences.
        (10, true, [10, 0]), (11, false, [10, 1]), (20, false, [10, 10]), (20, true, [10, 10, 0]),
        (35, true, [10, 10, 10, 5]),
    ]

    @Test(arguments: rows)
    func `cuts an index into batches and marks the first and the last`(row: Row) throws {
        let tail = row.tail ? Proto().varint(3, 77).varint(4, 66) : Proto()
        let body = Self.index(row.count, tail: tail)
        for (type, frame) in [
            (Frame.index, Frame.message(Frame.index, body)),
            (Frame.indexUpdate, Frame.message(Frame.indexUpdate, body)),
            (Frame.index, Frame.compressed(Frame.index, declared: body.bytes.count, block: Frame.literals(body.bytes))),
        ] {
            for pieceSize in [1, 50, 1 << 20] {
                var peer = Peer(limits: Self.limits(entries: 10))
                var events: [ConnectionEvent] = []
                for start in stride(from: 0, to: frame.count, by: pieceSize) {
                    events += try peer.feed(frame[start..<min(start + pieceSize, frame.count)])
                }
                let batches = Self.batches(events)
                #expect(batches.map(\.files.count) == row.sizes)
                #expect(batches.map(\.isFirst) == row.sizes.indices.map { $0 == 0 })
                #expect(batches.map(\.isLast) == row.sizes.indices.map { $0 == row.sizes.count - 1 })
                #expect(batches.allSatisfy { $0.isFullIndex == (type == Frame.index) && $0.folder == FolderID("f") })
                #expect(batches.flatMap(\.files).map(\.name) == (0..<row.count).map { "\($0)" })
                #expect(batches.flatMap(\.files).map(\.sequence) == (0..<row.count).map { Int64($0 + 1) })
                #expect(
                    batches.map(\.lastSequence)
                        == row.sizes.indices.map { $0 == row.sizes.count - 1 && row.tail ? 77 : 0 })
                #expect(
                    batches.map(\.previousSequence)
                        == row.sizes.indices.map { $0 == row.sizes.count - 1 && row.tail ? 66 : 0 })
            }
        }
    }

    @Test func `a batch is full by its bytes, too`() throws {
        let body = Proto().text(1, "f").raw(
            LimitsTests.repeated(10) {
                Proto().message(2, Proto.file("\($0)").bytes(40, [UInt8](repeating: 1, count: 900)))
            }
            .bytes)
        let events = try Peer.outcome(
            Frame.message(Frame.index, body), limits: Self.limits(entries: 1000, bytes: 2500)
        ).get()
        #expect(Self.batches(events).map(\.files.count) == [3, 3, 3, 1])
    }

    @Test func `fields that nobody knows make no batch of their own`() throws {
        let noise = LimitsTests.repeated(20) { _ in Proto().bytes(50, [UInt8](repeating: 1, count: 900)) }
        let body = Proto().raw(noise.bytes).text(1, "f").raw(noise.bytes).message(2, .file("a")).raw(noise.bytes)
        let events = try Peer.outcome(
            Frame.message(Frame.index, body), limits: Self.limits(entries: 1000, bytes: 2500)
        ).get()
        #expect(Self.batches(events).map(\.files.count) == [1, 0])
    }

    @Test(arguments: [
        Proto(), Proto().varint(3, 5), Proto().message(2, .file("a")), Proto().message(2, .file("a")).text(1, "f"),
        Proto().text(1, "f").text(1, "f"), Proto().bytes(1, [0xFF]), Proto().varint(1, 1),
        Proto().text(1, "f").varint(2, 1),
        Proto().text(1, "f").bytes(3, [1]), Proto().text(1, "f").key(2, wireType: 2).raw([5, 1]),
        Proto().text(1, "f").key(3, wireType: 0), Proto().text(1, "f").raw([0x80]),
    ])
    func `refuses an index that is none`(body: Proto) {
        #expect(Peer.refusal(Frame.message(Frame.index, body)) == .malformed)
        let packed = Frame.compressed(Frame.index, declared: body.bytes.count, block: Frame.literals(body.bytes))
        #expect(Peer.refusal(packed) == (body.bytes.isEmpty ? .invalidCompression : .malformed))
    }

    @Test func `another message follows an index at once`() throws {
        let frames = Frame.message(Frame.index, Self.index(25)) + Frame.message(Frame.close, Proto().text(1, "bye"))
        let events = try Peer.outcome(frames, limits: Self.limits(entries: 10)).get()
        #expect(Self.batches(events).map(\.files.count) == [10, 10, 5])
        #expect(events.last == .closed(reason: "bye"))
    }

    @Test func `an index of 300 MB is never held`() throws {
        // Small entries and large ones by turns; one of them is longer than a batch.
        let small = LimitsTests.repeated(400) { Proto().message(2, .file("directory/of/small/files/\($0)")) }
        let large = LimitsTests.repeated(20) {
            Proto().message(2, Proto.file("large/\($0)").bytes(40, [UInt8](repeating: 1, count: 140_000)))
        }
        let huge = Proto().message(2, Proto.file("huge").bytes(40, [UInt8](repeating: 2, count: 1_000_000)))
        let part = ByteBuffer(bytes: small.bytes + large.bytes + huge.bytes)
        let partCount = 300_000_000 / part.readableBytes
        let head = Proto().text(1, "f")
        let length = head.bytes.count + part.readableBytes * partCount

        let limits = ExchangeLimits.standard
        let pieceSize = 64 << 10
        // One entry that is not whole, one batch that is not full, one piece.
        let bufferBound = 1_000_100 + pieceSize
        let bound = bufferBound + limits.bytesPerBatch + 1_000_100
        var peer = Peer(limits: limits)
        var batches: [IndexBatch] = []
        var entryCount = 0
        var firstCount = 0
        var worst = (buffered: 0, storage: 0, entries: 0, bytes: 0)
        func feed(_ bytes: ByteBuffer) throws {
            peer.reader.append(bytes)
            while let event = try peer.reader.next() {
                guard case .index(let batch) = event else { continue }
                entryCount += batch.files.count
                firstCount += batch.isFirst ? 1 : 0
                worst.entries = max(worst.entries, batch.files.count)
                worst.bytes = max(worst.bytes, batch.files.reduce(0) { $0 + $1.carriedFields.count })
                batches = [batch]
            }
            worst.buffered = max(worst.buffered, peer.reader.bufferedByteCount)
            worst.storage = max(worst.storage, peer.reader.storageByteCount)
        }
        try feed(ByteBuffer(bytes: Frame.message(Frame.index, head, length: length)))
        for _ in 0..<partCount {
            for start in stride(from: 0, to: part.readableBytes, by: pieceSize) {
                let piece = part.getSlice(at: start, length: min(pieceSize, part.readableBytes - start))
                try feed(piece ?? ByteBuffer())
            }
        }
        #expect(length > 290_000_000)
        #expect(entryCount == 421 * partCount)
        #expect(firstCount == 1)
        #expect(batches.first?.isLast == true)
        #expect(worst.entries <= limits.entriesPerBatch)
        #expect(worst.bytes <= limits.bytesPerBatch + 1_000_100)
        #expect(worst.buffered <= bound)
        // Memory is claimed in powers of two.
        #expect(worst.storage <= 4 * bufferBound)
    }

    @Test func `an entry that never ends is refused before it is held`() throws {
        var peer = Peer(limits: LimitsTests.limits { $0.bufferedByteCount = 1 << 20 })
        let head = Proto().text(1, "f").key(99, wireType: 2).raw(Proto.varint(300_000_000))
        _ = try peer.feed(Frame.message(Frame.index, head, length: 400_000_000))
        let piece = ByteBuffer(repeating: 0, count: 64 << 10)
        var fed = 0
        #expect(throws: ProtocolError.self) {
            while fed < 300_000_000 {
                _ = try peer.feed(piece)
                fed += piece.readableBytes
            }
        }
        #expect(fed <= 1 << 20)
    }
}

extension Proto {
    /// These fields behind a folder's id.
    fileprivate func prefixed(_ folder: String) -> Proto { Proto().text(1, folder).raw(bytes) }
}
