import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

struct FramingTests {
    // MARK: Hello

    @Test func `refuses what is no Hello`() {
        #expect(Peer.refusal([0, 0, 0, 0], before: .hello) == .invalidHello)
        #expect(Peer.refusal(Array("GET / HTTP/1.1\r\n".utf8), before: .hello) == .invalidHello)
        for magic in [0x9F79_BC40, 0x0001_0000, 0x0001_0001] as [UInt32] {
            guard case .failure(let error) = Peer.outcome(Frame.bigEndian(magic), before: .hello) else {
                Issue.record("taken")
                continue
            }
            #expect(error.code == .invalidHello)
            #expect(error.message.contains("too old"))
        }
    }

    @Test func `an empty Hello is a Hello, and unknown fields of it are passed over`() throws {
        let empty = Hello(deviceName: "", clientName: "", clientVersion: "")
        #expect(try Peer.outcome(Frame.hello(), before: .hello).get() == [.hello(empty)])
        let unknown = Proto().bytes(77, [1, 2]).varint(78, 5).fixed32(79, 1).fixed64(80, 2)
        #expect(try Peer.outcome(Frame.hello(unknown), before: .hello).get() == [.hello(empty)])
    }

    // MARK: order

    @Test(arguments: [
        Frame.index, Frame.indexUpdate, Frame.request, Frame.response, Frame.downloadProgress, Frame.ping,
    ])
    func `nothing comes before the cluster config`(type: Int) {
        #expect(Peer.refusal(Frame.message(type), before: .clusterConfig) == .unexpectedMessage)
        #expect(Peer.refusal(Frame.message(type, compression: 1), before: .clusterConfig) == .unexpectedMessage)
        #expect(Peer.refusal(Frame.message(type, length: 5), before: .clusterConfig) == .unexpectedMessage)
    }

    @Test func `but a Close, and types that nobody knows`() throws {
        let close = Frame.message(Frame.close, Proto().text(1, "bye"))
        #expect(try Peer.outcome(close, before: .clusterConfig).get() == [.closed(reason: "bye")])
        #expect(
            try Peer.outcome(Frame.message(99, Proto().varint(1, 1)) + close, before: .clusterConfig).get() == [
                .closed(reason: "bye")
            ])
    }

    @Test func `a cluster config may come again`() throws {
        let config = Frame.message(Frame.clusterConfig, Proto().varint(2, 1))
        #expect(
            try Peer.outcome(config + config).get() == [
                .clusterConfig(ClusterConfig(isSecondary: true)), .clusterConfig(ClusterConfig(isSecondary: true)),
            ])
    }

    @Test func `nothing follows a Close`() throws {
        var peer = Peer()
        let bytes = Frame.message(Frame.close) + Frame.message(Frame.index) + [0xFF, 0xFF, 0xFF]
        #expect(try peer.feed(bytes) == [.closed(reason: "")])
        #expect(try peer.feed([UInt8](repeating: 0xFF, count: 100)) == [])
        #expect(peer.reader.bufferedByteCount == 0)
    }

    @Test func `an error stays`() throws {
        var peer = Peer(before: .clusterConfig)
        var errors: [ProtocolError] = []
        for bytes in [Frame.message(Frame.ping), Frame.message(Frame.clusterConfig), []] {
            do { _ = try peer.feed(bytes) } catch { errors.append(error) }
        }
        #expect(errors.count == 3)
        #expect(Set(errors.map(\.message)).count == 1)
        #expect(peer.reader.bufferedByteCount == 0)
    }

    // MARK: types and compression

    @Test(arguments: [8, 9, 127, 128, 1 << 20, Int(Int32.max)])
    func `skips messages of unknown types`(type: Int) throws {
        let unknown = Frame.message(type, Proto().raw([UInt8](repeating: 0xFF, count: 1000)))
        let known = Frame.message(Frame.clusterConfig)
        for pieceSize in [1, 13, 100_000] {
            var peer = Peer()
            var events: [ConnectionEvent] = []
            let bytes = unknown + Frame.message(type) + unknown + known
            for start in stride(from: 0, to: bytes.count, by: pieceSize) {
                events += try peer.feed(bytes[start..<min(start + pieceSize, bytes.count)])
            }
            #expect(events == [.clusterConfig(ClusterConfig())])
        }
    }

    @Test func `skipping 400 MB holds none of it`() throws {
        var peer = Peer()
        let length = 400_000_000
        let piece = ByteBuffer(repeating: 0x0A, count: 1 << 20)
        #expect(try peer.feed(Frame.message(99, length: length)) == [])
        var sent = 0
        while sent < length {
            let count = min(piece.readableBytes, length - sent)
            #expect(try peer.feed(piece.getSlice(at: 0, length: count) ?? ByteBuffer()) == [])
            sent += count
            guard peer.reader.bufferedByteCount == 0, peer.reader.storageByteCount == 0 else {
                Issue.record("holds \(peer.reader.storageByteCount) bytes after \(sent)")
                return
            }
        }
        #expect(try peer.feed(Frame.message(Frame.clusterConfig)) == [.clusterConfig(ClusterConfig())])
    }

    @Test func `the buffer does not grow by what passed through it`() throws {
        // Pieces that never end with a message: something is always left over.
        let ping = Frame.message(Frame.ping)
        let request = Frame.message(Frame.request, Proto().text(2, "f").text(3, "a/b"))
        let stream = (0..<64).flatMap { _ in ping + request + ping }
        var peer = Peer()
        var largest = 0
        _ = try peer.feed(ping.prefix(3))
        let pieces = Array(ping.dropFirst(3)) + stream.dropFirst(ping.count) + ping.prefix(3)
        for _ in 0..<2000 {
            _ = try peer.feed(pieces)
            #expect(peer.reader.bufferedByteCount == 3)
            largest = max(largest, peer.reader.storageByteCount)
        }
        #expect(largest <= 4 * stream.count)
    }

    @Test func `an idle reader holds no memory`() throws {
        var peer = Peer()
        _ = try peer.feed(Frame.message(Frame.response, Proto().bytes(2, [UInt8](repeating: 1, count: 1 << 20))))
        #expect(peer.reader.storageByteCount == 0)
        _ = try peer.feed(Frame.message(Frame.ping))
        #expect(peer.reader.storageByteCount == 0)
    }

    @Test(arguments: [2, 3, 127, 1 << 40])
    func `unknown compression is an error, whatever the type`(compression: Int) {
        for type in [Frame.clusterConfig, Frame.index, Frame.ping, 99] {
            #expect(Peer.refusal(Frame.message(type, compression: compression)) == .invalidCompression)
        }
    }

    @Test func `a header of no bytes is a cluster config`() throws {
        #expect(try Peer.outcome([0, 0, 0, 0, 0, 0]).get() == [.clusterConfig(ClusterConfig())])
    }

    @Test func `unknown fields of a header are passed over`() throws {
        let header = Proto().varint(1, 7).bytes(9, [1, 2, 3]).varint(10, 5)
        let bytes = Frame.bigEndian(UInt16(header.bytes.count)) + header.bytes + Frame.bigEndian(UInt32(0))
        #expect(try Peer.outcome(bytes).get() == [.closed(reason: "")])
    }

    @Test func `large messages come in pieces and are held once`() throws {
        let data = [UInt8](repeating: 0x5A, count: 16 << 20)
        let frame = ByteBuffer(bytes: Frame.message(Frame.response, Proto().varint(1, 3).bytes(2, data)))
        var peer = Peer()
        var events: [ConnectionEvent] = []
        for start in stride(from: 0, to: frame.readableBytes, by: 1 << 16) {
            let piece = frame.getSlice(at: start, length: min(1 << 16, frame.readableBytes - start)) ?? ByteBuffer()
            events += try peer.feed(piece)
            guard peer.reader.storageByteCount <= 33 << 20 else {
                Issue.record("holds \(peer.reader.storageByteCount) bytes")
                return
            }
        }
        #expect(events == [.response(BlockResponse(id: 3, data: ByteBuffer(bytes: data), code: .ok))])
    }

    @Test func `many large messages in one piece`() throws {
        let messages = (0..<40).map { index in
            Frame.message(
                Frame.response,
                Proto().varint(1, UInt64(index)).bytes(2, [UInt8](repeating: UInt8(index), count: 50_000)))
        }
        let events = try Peer.outcome(messages.flatMap { $0 }).get()
        #expect(events.count == 40)
        for (index, event) in events.enumerated() {
            guard case .response(let response) = event else { continue }
            #expect(response.id == Int32(index))
            #expect(response.data == ByteBuffer(repeating: UInt8(index), count: 50_000))
        }
    }

    // MARK: requests and configurations

    static let malformedRequests: [Proto] = [
        Proto().signed(5, -1), Proto().signed(4, -1), Proto().signed(4, .max).varint(5, 1), Proto().bytes(6, [1]),
        Proto().bytes(6, [UInt8](repeating: 0, count: 33)), Proto().bytes(3, [0xFF]), Proto().varint(3, 1),
    ]

    @Test(arguments: malformedRequests)
    func `refuses requests that say nothing sensible`(request: Proto) {
        #expect(Peer.refusal(Frame.message(Frame.request, request)) == .malformed)
    }

    @Test func `a request for a name that is no path is passed on, to be answered`() throws {
        let events = try Peer.outcome(
            Frame.message(Frame.request, Proto().varint(1, 5).text(2, "f").text(3, "../x").bytes(6, []))
        ).get()
        #expect(
            events == [
                .request(id: 5, BlockRequest(folder: FolderID("f"), name: "../x", offset: 0, size: 0, hash: nil))
            ])
    }

    @Test func `refuses folders and devices that are named twice or not at all`() {
        let device = LimitsTests.device(1)
        let folder = Proto().text(1, "f")
        for config in [
            Proto().message(1, folder).message(1, folder), Proto().message(1, Proto()),
            Proto().message(1, folder.message(16, device).message(16, device)),
            Proto().message(1, folder.message(16, Proto().text(2, "nobody"))),
            Proto().message(1, folder.message(16, Proto().bytes(1, [1, 2, 3]))),
        ] {
            #expect(Peer.refusal(Frame.message(Frame.clusterConfig, config)) == .malformed)
        }
        let twoFolders = Proto().message(1, folder.message(16, device)).message(
            1, Proto().text(1, "g").message(16, device))
        #expect(Peer.refusal(Frame.message(Frame.clusterConfig, twoFolders)) == nil)
    }

    @Test func `numbers of a cluster config that cannot be are made harmless`() throws {
        let device = LimitsTests.device(1, Proto().signed(6, -5).varint(4, 99).varint(8, .max))
        guard
            case .clusterConfig(let config) = try Peer.outcome(
                LimitsTests.config(Proto().text(1, "f").message(16, device))
            ).get().first
        else {
            Issue.record("no cluster config")
            return
        }
        let read = config.folders[0].devices[0]
        #expect(read.maxSequence == 0)
        #expect(read.compression == .metadata)
        #expect(read.indexID == IndexID(rawValue: .max))
    }

    @Test func `block indexes come packed or not`() throws {
        let update = Proto().text(2, "a").varint(4, 0).bytes(4, [1, 0x80, 0x01]).varint(4, 7)
        guard
            case .downloadProgress(let progress) = try Peer.outcome(
                Frame.message(Frame.downloadProgress, Proto().message(2, update))
            ).get().first
        else {
            Issue.record("no download progress")
            return
        }
        #expect(progress.updates[0].blockIndexes == [0, 1, 128, 7])
        #expect(
            Peer.refusal(Frame.message(Frame.downloadProgress, Proto().message(2, Proto().bytes(4, [0x80]))))
                == .malformed)
    }

    @Test func `an unknown answer code is an error of some kind`() throws {
        #expect(
            try Peer.outcome(Frame.message(Frame.response, Proto().varint(1, 4).varint(3, 99))).get() == [
                .response(BlockResponse(id: 4, data: ByteBuffer(), code: .generic))
            ])
    }
}
