import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

struct LZ4Tests {
    static let close = Proto().text(1, "bye")

    @Test func `takes literals only`() throws {
        let frame = Frame.compressed(
            Frame.close, declared: Self.close.bytes.count, block: Frame.literals(Self.close.bytes))
        #expect(try Peer.outcome(frame).get() == [.closed(reason: "bye")])
    }

    static let bombs: [(why: String, frame: [UInt8], code: ProtocolError.Code)] = [
        ("64 MiB and one", Frame.compressed(Frame.index, declared: 64 << 20 + 1, block: bomb), .tooLarge),
        ("500 MB", Frame.compressed(Frame.index, declared: 500_000_000, block: bomb), .tooLarge),
        ("4 GiB", Frame.compressed(Frame.index, declared: Int(UInt32.max), block: bomb), .tooLarge),
        (
            "64 MiB in three bytes", Frame.compressed(Frame.index, declared: 64 << 20, block: [1, 2, 3]),
            .invalidCompression
        ),
        (
            "beyond what LZ4 can pack", Frame.compressed(Frame.index, declared: 3 * 255 + 17, block: [1, 2, 3]),
            .invalidCompression
        ),
        ("a ping of 64 KiB and one", Frame.compressed(Frame.ping, declared: 64 << 10 + 1, block: bomb), .tooLarge),
        ("a request of 1 MiB", Frame.compressed(Frame.request, declared: 1 << 20, block: bomb), .tooLarge),
        (
            "a cluster config of 17 MiB", Frame.compressed(Frame.clusterConfig, declared: 17 << 20, block: bomb),
            .tooLarge
        ),
        ("a response of 33 MiB", Frame.compressed(Frame.response, declared: 33 << 20, block: bomb), .tooLarge),
        ("no size", Frame.message(Frame.index, compression: 1), .invalidCompression),
        ("half a size", Frame.message(Frame.index, Proto().raw([0, 0]), compression: 1), .invalidCompression),
        ("no block", Frame.compressed(Frame.index, declared: 5, block: []), .invalidCompression),
        ("nothing in it", Frame.compressed(Frame.index, declared: 0, block: [0]), .invalidCompression),
        (
            "less than declared", Frame.compressed(Frame.close, declared: 6, block: Frame.literals(close.bytes)),
            .invalidCompression
        ),
        (
            "more than declared", Frame.compressed(Frame.close, declared: 4, block: Frame.literals(close.bytes)),
            .invalidCompression
        ),
        (
            "a match before the start", Frame.compressed(Frame.close, declared: 20, block: [0x10, 65, 0xFF, 0xFF, 0]),
            .invalidCompression
        ),
        (
            "a match at no distance", Frame.compressed(Frame.close, declared: 20, block: [0x1F, 65, 0, 0, 0]),
            .invalidCompression
        ),
        (
            "literals that are not there", Frame.compressed(Frame.close, declared: 200, block: [0xF0, 255]),
            .invalidCompression
        ),
    ]

    /// A block that says again and again what it said: it unpacks to about 255 times its size.
    static let bomb: [UInt8] = [0x1F, 65, 1, 0] + [UInt8](repeating: 255, count: 4000) + [0, 0x50, 1, 2, 3, 4, 5]

    @Test(arguments: bombs)
    func `refuses bombs and garbage`(why: String, frame: [UInt8], code: ProtocolError.Code) {
        #expect(Peer.refusal(frame) == code, "\(why)")
    }

    @Test(arguments: [64 << 20, 3 * 255 + 17])
    func `does not claim memory that three bytes cannot fill`(declared: Int) {
        guard
            case .failure(let error) = Peer.outcome(
                Frame.compressed(Frame.index, declared: declared, block: [1, 2, 3]))
        else {
            Issue.record("taken")
            return
        }
        // Refused by the sizes alone, not by trying.
        #expect(error.message.contains("more than LZ4 can pack"))
    }

    @Test func `a real bomb within the limits is unpacked and read as what it is`() {
        let size = 1 + 4 + 15 + 4000 * 255 + 5
        let packed = Frame.bigEndian(UInt32(size)) + Self.bomb
        let unpacked = packed.withUnsafeBytes { try? LZ4.decompress($0, atMost: size) }
        #expect(unpacked?.readableBytes == size)
        #expect(packed.withUnsafeBytes { try? LZ4.decompress($0, atMost: size - 1) } == nil)
        // As a message it is a field that is cut off.
        #expect(Peer.refusal(Frame.compressed(Frame.index, declared: size, block: Self.bomb)) == .malformed)
    }

    @Test(arguments: Golden.vectors.filter { $0.what["compression"].int == 1 })
    func `refuses real blocks that are cut`(vector: GoldenVector) {
        for count in 0..<vector.frameBody.count {
            let cut = Array(vector.frameBody.prefix(count))
            #expect(throws: ProtocolError.self) {
                try cut.withUnsafeBytes { (bytes) throws(ProtocolError) in try LZ4.decompress(bytes, atMost: 1 << 20) }
            }
        }
    }

    @Test func `garbage never unpacks to more or less than declared`() {
        var random = SeededGenerator(seed: 71)
        for _ in 0..<20_000 {
            let declared = random.int(0...2000)
            let body = Frame.bigEndian(UInt32(declared)) + random.bytes(random.int(0...60))
            guard let unpacked = body.withUnsafeBytes({ try? LZ4.decompress($0, atMost: 1500) }) else { continue }
            #expect(unpacked.readableBytes == declared && declared <= 1500)
        }
    }

    @Test func `what is packed unpacks to the same`() throws {
        var random = SeededGenerator(seed: 72)
        var packedCount = 0
        for _ in 0..<500 {
            let word = random.bytes(random.int(1...40))
            let body = (0..<random.int(0...200)).flatMap { _ in random.isOne(in: 5) ? random.bytes(10) : word }
            guard let packed = LZ4.compress(body) else { continue }
            packedCount += 1
            #expect(packed.count < body.count - body.count / 32)
            let unpacked = try packed.withUnsafeBytes { try LZ4.decompress($0, atMost: body.count) }
            #expect(Array(unpacked.readableBytesView) == body)
        }
        #expect(packedCount > 200)
    }

    @Test func `what packs badly is sent plain`() {
        var random = SeededGenerator(seed: 73)
        #expect(LZ4.compress(random.bytes(1000)) == nil)
        #expect(LZ4.compress([]) == nil)
        #expect(LZ4.compress([1]) == nil)
    }

    static let policies: [(policy: CompressionPolicy, packsMetadata: Bool, packsResponses: Bool)] = [
        (.metadata, true, false), (.never, false, false), (.always, true, true),
    ]

    @Test(arguments: policies)
    func `packs what the policy says`(policy: CompressionPolicy, packsMetadata: Bool, packsResponses: Bool) throws {
        var sender = ConnectionMachine(compression: policy, now: .zero)
        let config = ClusterConfig(folders: [.init(id: FolderID("f"), label: String(repeating: "label", count: 100))])
        let response = BlockResponse(id: 1, data: ByteBuffer(repeating: 1, count: 5000), code: .ok)
        for (message, event, isPacked) in [
            (OutgoingMessage.clusterConfig(config), ConnectionEvent.clusterConfig(config), packsMetadata),
            (.response(response), .response(response), packsResponses),
        ] {
            let bytes = Array(sender.send(message, at: .zero).readableBytesView)
            #expect((bytes.count < 300) == isPacked)
            #expect(try Peer.outcome(bytes).get() == [event])
        }
        // Short bodies are always plain.
        #expect(sender.send(.close(reason: String(repeating: "a", count: 100)), at: .zero).readableBytes > 100)
    }
}
