import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

/// Each limit met exactly, and missed by one.
struct LimitsTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var code: ProtocolError.Code
        /// Smaller than the standard ones where that keeps the test small.
        var limits = ExchangeLimits.standard
        var stage = Peer.Stage.messages
        /// Bytes whose size is `count` where the limit counts.
        var bytes: @Sendable (_ count: Int) -> [UInt8]
        var limit: Int

        var testDescription: String { name }
    }

    static func limits(_ change: (inout ExchangeLimits) -> Void) -> ExchangeLimits {
        var limits = ExchangeLimits.standard
        change(&limits)
        return limits
    }

    static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    /// A body of `count` bytes in one field that nobody knows.
    static func body(ofSize count: Int) -> Proto {
        // Key of two bytes, length of one to four.
        for lengthSize in 1...4 {
            let payload = count - 2 - lengthSize
            if payload >= 0, Proto.varint(UInt64(payload)).count == lengthSize {
                return Proto().bytes(99, [UInt8](repeating: 0, count: payload))
            }
        }
        return Proto().varint(99, 0).raw([UInt8](repeating: 0, count: 0))
    }

    static func index(_ entry: Proto) -> [UInt8] {
        Frame.message(Frame.index, Proto().text(1, "f").message(2, entry))
    }

    static func config(_ folder: Proto) -> [UInt8] { Frame.message(Frame.clusterConfig, Proto().message(1, folder)) }

    static func device(_ number: Int, _ more: Proto = Proto()) -> Proto {
        Proto().bytes(1, [UInt8](repeating: 0, count: 24) + Frame.bigEndian(UInt64(number))).raw(more.bytes)
    }

    static func repeated(_ count: Int, _ part: (Int) -> Proto) -> Proto {
        (0..<count).reduce(Proto()) { $0.raw(part($1).bytes) }
    }

    static let framing: [Row] = [
        Row(
            name: "a message on the wire", code: .tooLarge,
            bytes: { Frame.message(77, length: $0) }, limit: 500_000_000),
        Row(
            name: "an index on the wire", code: .tooLarge,
            bytes: { Frame.message(Frame.index, Proto().text(1, "f"), length: $0) }, limit: 500_000_000),
        Row(
            name: "a header", code: .tooLarge,
            bytes: { count in
                let header = body(ofSize: min(count, 32_767))
                return Frame.bigEndian(UInt16(count)) + header.bytes + Frame.bigEndian(UInt32(0))
            }, limit: 32_767),
        Row(
            name: "a Hello", code: .tooLarge, stage: .hello,
            bytes: { [0x2E, 0xA7, 0xD9, 0x0B] + Frame.bigEndian(UInt16($0)) }, limit: 32_767),
        Row(
            name: "a packed index", code: .tooLarge,
            bytes: { Frame.message(Frame.index, compression: 1, length: $0) }, limit: 64 << 20),
        Row(
            name: "an index entry", code: .tooLarge,
            bytes: { count in
                Frame.message(
                    Frame.index, Proto().text(1, "f").key(2, wireType: 2).raw(Proto.varint(UInt64(count))),
                    length: 400_000_000)
            }, limit: 64 << 20),
        Row(
            name: "a response", code: .tooLarge, bytes: { Frame.message(Frame.response, length: $0) },
            limit: (32 << 20) + 1024),
        Row(name: "a request", code: .tooLarge, bytes: { Frame.message(Frame.request, length: $0) }, limit: 64 << 10),
        Row(name: "a ping", code: .tooLarge, bytes: { Frame.message(Frame.ping, length: $0) }, limit: 64 << 10),
        Row(name: "a close", code: .tooLarge, bytes: { Frame.message(Frame.close, length: $0) }, limit: 64 << 10),
        Row(
            name: "a cluster config", code: .tooLarge, bytes: { Frame.message(Frame.clusterConfig, length: $0) },
            limit: 16 << 20),
        Row(
            name: "a download progress", code: .tooLarge,
            bytes: { Frame.message(Frame.downloadProgress, length: $0) }, limit: 16 << 20),
    ]

    static let entries: [Row] = [
        Row(
            name: "a name", code: .invalidEntry,
            bytes: { count in
                let component = text(1000) + "/"
                let name = String(repeating: component, count: count / 1001) + text(count % 1001)
                return index(.file(name))
            }, limit: 4096),
        Row(name: "a component", code: .invalidEntry, bytes: { index(.file("a/" + text($0))) }, limit: 1024),
        Row(
            name: "the depth of a path", code: .invalidEntry,
            bytes: { index(.file(String(repeating: "a/", count: $0 - 1) + "a")) }, limit: 512),
        Row(
            name: "a link's target", code: .tooLarge,
            bytes: { index(Proto().text(1, "x").varint(2, 4).text(17, text($0))) }, limit: 8192),
        Row(
            name: "blocks of a file", code: .tooMany, limits: limits { $0.blocksPerFile = 20 },
            bytes: { count in
                let size = Int64(BlockSize.minimum)
                let file = Proto().text(1, "x").signed(3, size * Int64(count))
                return index(
                    file.raw(
                        repeated(count) { Proto().message(16, .block(offset: size * Int64($0), size: size)) }.bytes))
            }, limit: 20),
        Row(
            name: "counters of a vector", code: .tooMany,
            bytes: { count in
                index(
                    .file("x").message(
                        9, repeated(count) { Proto().message(1, Proto().varint(1, UInt64($0 + 1)).varint(2, 1)) }))
            }, limit: 1024),
        Row(
            name: "bytes that are carried", code: .tooLarge, limits: limits { $0.carriedByteCount = 1000 },
            bytes: { count in index(Proto.file("x").varint(98, 1).raw(body(ofSize: count - 3).bytes)) }, limit: 1000),
        Row(
            name: "an index's folder id", code: .tooLarge,
            bytes: { Frame.message(Frame.index, Proto().text(1, text($0))) }, limit: 1024),
    ]

    static let configurations: [Row] = [
        Row(
            name: "folders", code: .tooMany,
            bytes: {
                Frame.message(Frame.clusterConfig, repeated($0) { Proto().message(1, Proto().text(1, "\($0)")) })
            },
            limit: 4096),
        Row(
            name: "devices of all folders", code: .tooMany, limits: limits { $0.devicesPerClusterConfig = 50 },
            bytes: { count in
                Frame.message(
                    Frame.clusterConfig,
                    repeated(count) { Proto().message(1, Proto().text(1, "\($0)").message(16, device(1))) })
            }, limit: 50),
        Row(name: "a folder's id", code: .tooLarge, bytes: { config(Proto().text(1, text($0))) }, limit: 1024),
        Row(
            name: "a folder's label", code: .tooLarge, bytes: { config(Proto().text(1, "f").text(2, text($0))) },
            limit: 4096),
        Row(
            name: "a device's name", code: .tooLarge,
            bytes: { config(Proto().text(1, "f").message(16, device(1, Proto().text(2, text($0))))) }, limit: 4096),
        Row(
            name: "an address", code: .tooLarge,
            bytes: { config(Proto().text(1, "f").message(16, device(1, Proto().text(3, text($0))))) }, limit: 4096),
        Row(
            name: "a certificate's name", code: .tooLarge,
            bytes: { config(Proto().text(1, "f").message(16, device(1, Proto().text(5, text($0))))) }, limit: 4096),
        Row(
            name: "a password token", code: .tooLarge,
            bytes: { config(Proto().text(1, "f").message(16, device(1, Proto().text(10, text($0))))) }, limit: 4096),
        Row(
            name: "a Hello's device name", code: .tooLarge, stage: .hello,
            bytes: { Frame.hello(Proto().text(1, text($0))) }, limit: 4096),
        Row(
            name: "a Hello's client name", code: .tooLarge, stage: .hello,
            bytes: { Frame.hello(Proto().text(2, text($0))) }, limit: 4096),
        Row(
            name: "a Hello's client version", code: .tooLarge, stage: .hello,
            bytes: { Frame.hello(Proto().text(3, text($0))) }, limit: 4096),
        Row(
            name: "a requested name", code: .tooLarge,
            bytes: { Frame.message(Frame.request, Proto().text(3, text($0))) }, limit: 4096),
        Row(
            name: "a requested folder", code: .tooLarge,
            bytes: { Frame.message(Frame.request, Proto().text(2, text($0))) }, limit: 1024),
        Row(
            name: "the size of a request", code: .malformed,
            bytes: { Frame.message(Frame.request, Proto().varint(5, UInt64($0))) }, limit: 32 << 20),
        Row(
            name: "updates of a download progress", code: .tooMany,
            bytes: { Frame.message(Frame.downloadProgress, repeated($0) { _ in Proto().bytes(2, []) }) }, limit: 10_000),
        Row(
            name: "blocks of a download progress", code: .tooMany, limits: limits { $0.progressBlockIndexes = 100 },
            bytes: { count in
                Frame.message(
                    Frame.downloadProgress,
                    Proto().message(2, repeated(count - 10) { Proto().varint(4, UInt64($0)) })
                        .message(2, Proto().bytes(4, (0..<10).map { UInt8($0) })))
            }, limit: 100),
        Row(
            name: "a name in a download progress", code: .tooLarge,
            bytes: { Frame.message(Frame.downloadProgress, Proto().message(2, Proto().text(2, text($0)))) }, limit: 4096
        ),
        Row(
            name: "a download progress's folder", code: .tooLarge,
            bytes: { Frame.message(Frame.downloadProgress, Proto().text(1, text($0))) }, limit: 1024),
        Row(
            name: "counters of a download progress", code: .tooMany,
            bytes: { count in
                let vector = repeated(count) { Proto().message(1, Proto().varint(1, UInt64($0 + 1)).varint(2, 1)) }
                return Frame.message(Frame.downloadProgress, Proto().message(2, Proto().message(3, vector)))
            }, limit: 1024),
    ]

    @Test(arguments: framing + entries + configurations)
    func `takes as much as the limit and nothing beyond it`(row: Row) {
        #expect(Peer.refusal(row.bytes(row.limit), limits: row.limits, before: row.stage) == nil)
        #expect(Peer.refusal(row.bytes(row.limit + 1), limits: row.limits, before: row.stage) == row.code)
    }

    @Test func `addresses beyond the limit are left out`() throws {
        let limit = ExchangeLimits.standard.addressesPerDevice
        for count in [limit, limit + 1, limit * 3] {
            let addresses = Self.repeated(count) { Proto().text(3, "tcp://\($0)") }
            let events = try Peer.outcome(
                Self.config(Proto().text(1, "f").message(16, Self.device(1, addresses)))
            ).get()
            guard case .clusterConfig(let config) = events.first else {
                Issue.record("no cluster config")
                return
            }
            #expect(config.folders[0].devices[0].addresses == (0..<min(count, limit)).map { "tcp://\($0)" })
        }
    }

    @Test func `a Close's reason beyond the limit is cut`() throws {
        let events = try Peer.outcome(Frame.message(Frame.close, Proto().text(1, Self.text(5000)))).get()
        #expect(events == [.closed(reason: Self.text(4096))])
    }

    @Test(arguments: [4096, 4097, 40_000])
    func `own texts are cut to what peers take`(count: Int) throws {
        var sender = ConnectionMachine(now: .zero)
        let text = String(repeating: "x", count: count)
        let hello = sender.start(Hello(deviceName: text, clientName: text, clientVersion: text), at: .zero)
        let cut = String(repeating: "x", count: 4096)
        #expect(
            try Peer.outcome(Array(hello.readableBytesView), before: .hello).get() == [
                .hello(Hello(deviceName: cut, clientName: cut, clientVersion: cut))
            ])
        let close = sender.send(.close(reason: text), at: .zero)
        #expect(try Peer.outcome(Array(close.readableBytesView)).get() == [.closed(reason: cut)])
    }

    @Test func `cutting keeps characters whole`() {
        let text = "aé日🚆"
        let cuts = (0...11).map { text.prefix(utf8ByteCount: $0) }
        #expect(cuts == ["", "a", "a", "aé", "aé", "aé", "aé日", "aé日", "aé日", "aé日", text, text])
    }
}
