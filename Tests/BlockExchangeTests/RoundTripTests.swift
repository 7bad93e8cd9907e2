import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

/// What one machine sends is what another one hears.
struct RoundTripTests {
    @Test(arguments: [CompressionPolicy.metadata, .never, .always])
    func `random messages arrive as they were sent`(compression: CompressionPolicy) throws {
        var random = SeededGenerator(seed: 101)
        for round in 0..<300 {
            let message: OutgoingMessage
            let event: ConnectionEvent
            switch random.int(0...4) {
            case 0:
                let config = random.clusterConfig()
                (message, event) = (.clusterConfig(config), .clusterConfig(config))
            case 1:
                var batch = IndexBatch(
                    folder: FolderID(random.text(1...10)),
                    files: (0..<random.int(0...8)).map { _ in random.fileInfo() },
                    isFullIndex: random.isOne(in: 2))
                batch.lastSequence = batch.files.last?.sequence ?? 0
                batch.previousSequence = batch.isFullIndex ? 0 : Int64(random.int(0...1000))
                message = .index(
                    folder: batch.folder, files: batch.files, isFullIndex: batch.isFullIndex,
                    previousSequence: batch.previousSequence)
                event = .index(batch)
            case 2:
                let response = BlockResponse(
                    id: Int32(random.int(0...Int(Int32.max))),
                    data: ByteBuffer(bytes: random.bytes(random.int(0...2000))),
                    code: random.pick([.ok, .generic, .noSuchFile, .invalidFile]))
                (message, event) = (.response(response), .response(response))
            case 3:
                let progress = random.downloadProgress()
                (message, event) = (.downloadProgress(progress), .downloadProgress(progress))
            default:
                let reason = random.text(0...40)
                (message, event) = (.close(reason: reason), .closed(reason: reason))
            }
            var sender = ConnectionMachine(compression: compression, now: .zero)
            let bytes = Array(sender.send(message, at: .zero).readableBytesView)
            #expect(try Peer.outcome(bytes).get() == [event], "round \(round)")
            // In pieces it says the same.
            var peer = Peer()
            let cut = random.int(0...bytes.count)
            #expect(try peer.feed(bytes[..<cut]) + peer.feed(bytes[cut...]) == [event], "round \(round), cut at \(cut)")
        }
    }

    @Test func `random requests and Hellos arrive as they were sent`() throws {
        var random = SeededGenerator(seed: 102)
        for _ in 0..<300 {
            var sender = ConnectionMachine(now: .zero)
            let hello = random.hello()
            let greeting = Array(sender.start(hello, at: .zero).readableBytesView)
            #expect(try Peer.outcome(greeting, before: .hello).get() == [.hello(hello)])
            let request = random.blockRequest()
            sender.nextRequestID = Int32(random.int(0...Int(Int32.max)))
            let (id, bytes) = sender.request(request, at: .zero)
            #expect(try Peer.outcome(Array(bytes.readableBytesView)).get() == [.request(id: id, request)])
        }
    }

    @Test func `what an entry carries is sent on byte by byte`() throws {
        var random = SeededGenerator(seed: 103)
        for _ in 0..<300 {
            let carried = random.unknownFields()
            let file = try #require(try Peer.entry(Proto.file("x").raw(carried)))
            #expect(file.carriedFields == carried)
            var writer = WireWriter()
            file.encode(into: &writer)
            #expect(writer.bytes.suffix(carried.count) == carried[...])
        }
    }

    @Test func `the fields are where BEP has them`() {
        // Against bytes that were built by hand, so that a field that is wrong both ways is seen.
        let hash = [UInt8](repeating: 7, count: 32)
        let file = FileInfo(
            name: "a", kind: .file, size: 5, permissions: 0o644, modifiedSeconds: -2, modifiedNanoseconds: 3,
            isDeleted: false, isInvalid: false, hasNoPermissions: true,
            version: VersionVector([.init(id: ShortID(rawValue: .max), value: 9)]), sequence: 11,
            modifiedBy: ShortID(rawValue: 12), blockSize: 131_072,
            blocks: [BlockInfo(offset: 0, size: 5, hash: .init(hash)!, weakHash: 77)], symlinkTarget: [1],
            blocksHash: .init(hash), carriedFields: [0xF0, 0x01, 5])
        var writer = WireWriter()
        file.encode(into: &writer)
        let expected = Proto().text(1, "a").varint(3, 5).varint(4, 0o644).signed(5, -2).varint(8, 1)
            .message(9, Proto().message(1, Proto().varint(1, .max).varint(2, 9))).varint(10, 11).varint(11, 3)
            .varint(12, 12).varint(13, 131_072)
            .message(16, Proto().varint(2, 5).bytes(3, hash).varint(4, 77)).bytes(17, [1]).bytes(18, hash).varint(30, 5)
        #expect(writer.bytes == expected.bytes)
        var deleted = FileInfo(name: "a", kind: .directory, permissions: 0, isDeleted: true, isInvalid: true)
        deleted.version = VersionVector()
        writer = WireWriter()
        deleted.encode(into: &writer)
        #expect(writer.bytes == Proto().text(1, "a").varint(2, 1).varint(6, 1).varint(7, 1).bytes)
    }

    @Test func `a request's fields are where BEP has them`() {
        let request = BlockRequest(
            folder: FolderID("f"), name: "a", offset: 131_072, size: 100, hash: .init([UInt8](repeating: 7, count: 32)),
            isFromTemporary: true, weakHash: 0xffff_ffff, blockIndex: 1)
        let expected = Proto().varint(1, 300).text(2, "f").text(3, "a").varint(4, 131_072).varint(5, 100)
            .bytes(6, [UInt8](repeating: 7, count: 32)).varint(7, 1).varint(8, 0xffff_ffff)
            .varint(9, 1)
        #expect(request.encoded(id: 300) == expected.bytes)
    }

    @Test func `nested messages of every length up to 70,000`() throws {
        for count in [0, 1, 126, 127, 128, 129, 16_383, 16_384, 70_000] {
            let payload = [UInt8](repeating: 3, count: count)
            var writer = WireWriter()
            writer.message(5) { $0.raw(payload) }
            writer.field(6, flag: true)
            #expect(writer.bytes == Proto().bytes(5, payload).varint(6, 1).bytes)
        }
    }
}
