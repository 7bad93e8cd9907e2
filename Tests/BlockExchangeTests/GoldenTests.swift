import Cryptography
import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

/// Bytes that Syncthing 1.19.2 sent.
struct GoldenTests {
    @Test func `every kind of message is there`() {
        let types = Set(Golden.vectors.map { $0.what["type"].string })
        #expect(
            types == [
                "", "ClusterConfig", "Index", "IndexUpdate", "Request", "Response", "DownloadProgress", "Ping", "Close",
            ])
        #expect(Golden.vectors.count >= 22)
    }

    @Test(arguments: Golden.vectors)
    func `decodes to what it says`(vector: GoldenVector) throws {
        let expected = try Golden.events(of: vector)
        let events = try Peer.outcome(vector.bytes, before: Golden.stage(of: vector)).get()
        #expect(events == expected)
        // Swift calls texts equal that look alike; names must be so byte by byte.
        #expect(names(events).map { Array($0.utf8) } == names(expected).map { Array($0.utf8) })
    }

    @Test(arguments: Golden.vectors)
    func `comes in two pieces`(vector: GoldenVector) throws {
        let expected = try Golden.events(of: vector)
        for cut in 0...vector.bytes.count {
            var peer = Peer(before: Golden.stage(of: vector))
            let early = try peer.feed(vector.bytes[..<cut])
            let late = try peer.feed(vector.bytes[cut...])
            #expect(early + late == expected, "cut at \(cut)")
            #expect(peer.reader.bufferedByteCount == 0)
        }
    }

    @Test(arguments: Golden.vectors)
    func `comes byte by byte`(vector: GoldenVector) throws {
        var peer = Peer(before: Golden.stage(of: vector))
        var events: [ConnectionEvent] = []
        for byte in vector.bytes { events += try peer.feed([byte]) }
        #expect(events == (try Golden.events(of: vector)))
    }

    @Test func `all of them in one piece, as one connection`() throws {
        let order = ["", "ClusterConfig"]
        let vectors = Golden.vectors.filter { $0.what["type"].string != "Close" }.enumerated().sorted {
            func rank(_ vector: GoldenVector) -> Int { order.firstIndex(of: vector.what["type"].string) ?? 2 }
            return (rank($0.element), $0.offset) < (rank($1.element), $1.offset)
        }.map(\.element)
        let bytes = vectors.flatMap(\.bytes)
        let expected = try vectors.flatMap { try Golden.events(of: $0) }
        for pieceSize in [1, 7, 64, 1000, bytes.count] {
            var peer = Peer(before: .hello)
            var events: [ConnectionEvent] = []
            for start in stride(from: 0, to: bytes.count, by: pieceSize) {
                events += try peer.feed(bytes[start..<min(start + pieceSize, bytes.count)])
            }
            #expect(events == expected, "in pieces of \(pieceSize)")
        }
    }

    @Test(arguments: Golden.vectors)
    func `encodes to a body that decodes to the same`(vector: GoldenVector) throws {
        for event in try Golden.events(of: vector) {
            var sender = ConnectionMachine(compression: .never, now: .zero)
            let bytes: ByteBuffer
            switch event {
            case .hello(let hello): bytes = sender.start(hello, at: .zero)
            case .request(let id, let request):
                sender.nextRequestID = id
                bytes = sender.request(request, at: .zero).bytes
            default: bytes = sender.send(try #require(event.message), at: .zero)
            }
            let again = try Peer.outcome(Array(bytes.readableBytesView), before: Golden.stage(of: vector)).get()
            guard case .index(var batch) = event else {
                #expect(again == [event])
                continue
            }
            // What was sent by 1.19 has no last sequence; this device says it.
            batch.lastSequence = batch.files.last?.sequence ?? 0
            #expect(again == [.index(batch)])
        }
    }

    /// The messages in which this device says nothing else than Syncthing 1.19 does.
    @Test(arguments: [
        "hello", "cluster-config", "download-progress-append", "download-progress-forget", "response",
        "response-no-such-file", "response-invalid", "response-generic-error", "close-ping-before-cluster-config",
        "close-file-without-blocks",
    ])
    func `encodes to the very bytes that Syncthing sends`(name: String) throws {
        let vector = try Golden.named(name)
        var sender = ConnectionMachine(compression: .never, now: .zero)
        let event = try #require(try Golden.events(of: vector).first)
        let bytes =
            if case .hello(let hello) = event { sender.start(hello, at: .zero) } else {
                sender.send(try #require(event.message), at: .zero)
            }
        #expect(Array(bytes.readableBytesView) == vector.bytes)
    }

    @Test func `ping is a frame without a body`() throws {
        var sender = ConnectionMachine(now: .zero)
        _ = sender.send(.clusterConfig(ClusterConfig()), at: .zero)
        #expect(Array(sender.send(.ping, at: .zero).readableBytesView) == (try Golden.named("ping")).bytes)
    }

    @Test(arguments: Golden.vectors.filter { $0.what["compression"].int == 1 })
    func `unpacks to the body that was packed`(vector: GoldenVector) throws {
        let body = try vector.frameBody.withUnsafeBytes { try LZ4.decompress($0, atMost: 1 << 20) }
        #expect(body.readableBytes == vector.what["bodyLength"].asInt)
        #expect(SHA256.digest(body.readableBytesView).description == vector.what["bodySHA256"].string)
    }

    @Test(arguments: Golden.vectors.filter { $0.what["type"].string != "" && $0.what["compression"].int == 0 })
    func `has the body it says`(vector: GoldenVector) {
        #expect(vector.frameBody.count == vector.what["bodyLength"].asInt)
        #expect(SHA256.digest(vector.frameBody).description == vector.what["bodySHA256"].string)
    }

    @Test(arguments: Golden.vectors)
    func `cut short it asks for more`(vector: GoldenVector) throws {
        for count in 0..<vector.bytes.count {
            var peer = Peer(before: Golden.stage(of: vector))
            #expect(try peer.feed(vector.bytes[..<count]) == [], "cut at \(count)")
        }
    }

    @Test(arguments: Golden.vectors.filter { $0.what["type"].string != "" && $0.what["compression"].int == 0 })
    func `a body that is cut inside its frame is refused or complete as far as it goes`(vector: GoldenVector) throws {
        var refusals = 0
        for count in 0..<vector.frameBody.count {
            var bytes = Array(vector.bytes.prefix(vector.what["headerLength"].asInt + 2))
            bytes += Frame.bigEndian(UInt32(count)) + vector.frameBody.prefix(count)
            var peer = Peer(before: Golden.stage(of: vector))
            do {
                // Cut between two fields it is a message of its own; the next one must be read all the same.
                let events = try peer.feed(bytes)
                #expect(events.count == (vector.what["type"].string == "Ping" ? 0 : 1), "cut at \(count)")
            } catch {
                #expect([.malformed, .invalidEntry].contains(error.code), "cut at \(count): \(error)")
                refusals += 1
            }
        }
        #expect(refusals >= vector.frameBody.count / 2)
    }

    private func names(_ events: [ConnectionEvent]) -> [String] {
        events.flatMap { event -> [String] in
            switch event {
            case .index(let batch): batch.files.map(\.name)
            case .request(_, let request): [request.name]
            default: []
            }
        }
    }
}
