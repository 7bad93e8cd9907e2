import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

/// Time and request ids.
struct ConnectionMachineTests {
    static let request = BlockRequest(folder: FolderID("f"), name: "a", offset: 0, size: 100, hash: nil)

    /// A machine that has said what must come first, as its peer has.
    static func machine(at now: MonotonicTime = .zero) throws -> ConnectionMachine {
        var machine = ConnectionMachine(compression: .never, now: now)
        _ = machine.send(.clusterConfig(ClusterConfig()), at: now)
        machine.receive(ByteBuffer(bytes: Frame.hello() + Frame.message(Frame.clusterConfig)), at: now)
        while try machine.nextEvent() != nil {}
        return machine
    }

    static func response(_ id: Int32, byteCount: Int = 3) -> ByteBuffer {
        ByteBuffer(
            bytes: Frame.message(
                Frame.response, Proto().signed(1, Int64(id)).bytes(2, [UInt8](repeating: 1, count: byteCount))))
    }

    // MARK: what is cut short

    @Test func `of an answer that is cut short the first bytes are known`() throws {
        let bytes = Self.response(0, byteCount: 100)
        for count in 0..<bytes.readableBytes {
            var machine = try Self.machine()
            _ = machine.request(Self.request, at: .zero)
            machine.receive(bytes.getSlice(at: bytes.readerIndex, length: count) ?? ByteBuffer(), at: .zero)
            #expect(try machine.nextEvent() == nil)
            // The data are the last bytes of the message.
            let expected = max(0, count - (bytes.readableBytes - 100))
            #expect(machine.unfinishedResponse?.id == (expected > 0 ? 0 : nil))
            #expect((machine.unfinishedResponse?.data.readableBytes ?? 0) == expected)
        }
        var machine = try Self.machine()
        machine.receive(bytes.getSlice(at: bytes.readerIndex, length: 80) ?? ByteBuffer(), at: .zero)
        #expect(try machine.nextEvent() == nil)
        #expect(machine.unfinishedResponse == nil, "nobody has asked for it")
    }

    @Test(arguments: [0, 1, 99, 100, 101, 200] as [Int32])
    func `of an answer that is cut short no more is kept than was asked for`(asked: Int32) throws {
        let bytes = Self.response(0, byteCount: 200)
        var machine = try Self.machine()
        var request = Self.request
        request.size = asked
        _ = machine.request(request, at: .zero)
        // 100 bytes of the 200 have come.
        machine.receive(
            bytes.getSlice(at: bytes.readerIndex, length: bytes.readableBytes - 100) ?? ByteBuffer(), at: .zero)
        #expect(try machine.nextEvent() == nil)
        #expect(machine.unfinishedResponse?.data.readableBytes == (asked < 100 ? nil : 100))
    }

    // MARK: time

    @Test func `pings after 45 seconds of own silence`() throws {
        var machine = try Self.machine(at: .seconds(1000))
        #expect(machine.nextDeadline == .seconds(1045))
        #expect(machine.advance(to: .seconds(1000)) == .none)
        #expect(machine.advance(to: .milliseconds(1_044_999)) == .none)
        guard case .write(let bytes) = machine.advance(to: .seconds(1045)) else {
            Issue.record("no ping")
            return
        }
        #expect(Array(bytes.readableBytesView) == (try Golden.named("ping")).bytes)
        // The ping itself was written.
        #expect(machine.advance(to: .seconds(1046)) == .none)
        #expect(machine.nextDeadline == .seconds(1090))
    }

    @Test func `nothing comes before the cluster config, not even a ping`() throws {
        var machine = ConnectionMachine(compression: .never, now: .zero)
        _ = machine.start(Hello(deviceName: "", clientName: "", clientVersion: ""), at: .zero)
        machine.receive(ByteBuffer(bytes: Frame.hello() + Frame.message(Frame.clusterConfig)), at: .zero)
        while try machine.nextEvent() != nil {}
        #expect(machine.send(.ping, at: .seconds(1)).readableBytes == 0)
        for second in [46, 91] {
            #expect(machine.nextDeadline == .seconds(second))
            #expect(machine.advance(to: .seconds(second)) == .none)
        }
        #expect(machine.send(.clusterConfig(ClusterConfig()), at: .seconds(92)).readableBytes > 0)
        #expect(machine.send(.ping, at: .seconds(93)).readableBytes > 0)
        #expect(machine.nextDeadline == .seconds(138))
        #expect(machine.advance(to: .seconds(138)) != .none)
    }

    @Test func `whatever is written puts the ping off, what is read does not`() throws {
        typealias Act = (inout ConnectionMachine) -> Void
        let writes: [Act] = [
            { _ = $0.start(Hello(deviceName: "", clientName: "", clientVersion: ""), at: .seconds(40)) },
            { _ = $0.send(.ping, at: .seconds(40)) }, { _ = $0.request(Self.request, at: .seconds(40)) },
            { _ = $0.send(.clusterConfig(ClusterConfig()), at: .seconds(40)) },
        ]
        for write in writes {
            var machine = try Self.machine()
            write(&machine)
            #expect(machine.nextDeadline == .seconds(85))
            #expect(machine.advance(to: .seconds(84)) == .none)
            #expect(machine.advance(to: .seconds(85)) != .none)
        }
        var machine = try Self.machine()
        machine.receive(ByteBuffer(bytes: Frame.message(Frame.ping)), at: .seconds(40))
        #expect(machine.nextDeadline == .seconds(45))
    }

    @Test func `ends after 300 seconds of the peer's silence`() throws {
        var machine = try Self.machine()
        for second in stride(from: 45, through: 270, by: 45) {
            #expect(machine.nextDeadline == .seconds(second))
            guard case .write = machine.advance(to: .seconds(second)) else {
                Issue.record("no ping at \(second) s")
                return
            }
        }
        #expect(machine.nextDeadline == .seconds(300))
        #expect(machine.advance(to: .milliseconds(299_999)) == .none)
        guard case .timedOut(let error) = machine.advance(to: .seconds(300)) else {
            Issue.record("no end")
            return
        }
        #expect(error.code == .timedOut)
        #expect(error.message.contains("300 s"))
    }

    /// Feeds `machine` the arrivals at their times; returns when and why it times out.
    static func end(
        of machine: inout ConnectionMachine, receiving arrivals: [(second: Int, bytes: [UInt8])] = []
    ) throws -> (time: MonotonicTime, error: ProtocolError) {
        func outcome(until limit: MonotonicTime) -> (MonotonicTime, ProtocolError)? {
            while machine.nextDeadline <= limit {
                let time = machine.nextDeadline
                if case .timedOut(let error) = machine.advance(to: time) { return (time, error) }
            }
            return nil
        }
        for (second, bytes) in arrivals {
            if let outcome = outcome(until: .seconds(second)) { return outcome }
            machine.receive(ByteBuffer(bytes: bytes), at: .seconds(second))
            while try machine.nextEvent() != nil {}
        }
        return try #require(outcome(until: .seconds(1_000_000)))
    }

    static let hello = Frame.hello()

    @Test(
        arguments: [
            ([], 20), ([(19, [])], 20), ([(19, Array(hello.dropLast()))], 20),
            (hello.indices.map { (5 * $0, [hello[$0]]) }, 20),
            ([(19, hello)], 319), ([(1, Array(hello.dropLast(5))), (19, Array(hello.suffix(5)))], 319),
        ] as [([(second: Int, bytes: [UInt8])], Int)])
    func `the peer's Hello has to be complete within 20 seconds`(
        arrivals: [(second: Int, bytes: [UInt8])], second: Int
    ) throws {
        var machine = ConnectionMachine(now: .zero)
        let end = try Self.end(of: &machine, receiving: arrivals)
        #expect(end.time == .seconds(second))
        #expect(end.error.code == .timedOut)
        #expect(
            end.error.message
                == (second == 20
                    ? "the peer sent no Hello within 20 s" : "the peer sent no complete message for 300 s"))
    }

    static let ping = Frame.message(Frame.ping)
    static let unknown = Frame.message(77, Proto().raw([UInt8](repeating: 1, count: 1000)))
    static let block = Array(response(0, byteCount: 1 << 17).readableBytesView)

    /// What arrives after the cluster config (at 0 s), and when the link ends.
    struct Life: CustomTestStringConvertible {
        var testDescription: String
        var arrivals: [(second: Int, bytes: [UInt8])]
        var end: Int

        init(_ what: String, _ arrivals: [(second: Int, bytes: [UInt8])], end: Int) {
            (testDescription, self.arrivals, self.end) = (what, arrivals, end)
        }
    }

    static let lives: [Life] = [
        Life("nothing", [], end: 300),
        Life("no byte", [(100, [])], end: 300),
        Life("one byte", [(299, [0])], end: 300),
        Life("a ping, a byte each 299 s", ping.indices.map { (299 * ($0 + 1), [ping[$0]]) }, end: 300),
        Life("a ping, a byte each 40 s", ping.indices.map { (40 * ($0 + 1), [ping[$0]]) }, end: 300),
        Life("a ping", [(100, ping)], end: 400),
        Life("a ping each 299 s", (1...10).map { (299 * $0, ping) }, end: 3290),
        Life("a ping in halves", [(100, Array(ping.prefix(3))), (290, Array(ping.dropFirst(3)))], end: 590),
        Life("a ping and the beginning of another", [(100, ping), (250, Array(ping.prefix(3)))], end: 400),
        Life("an unknown message", [(100, unknown)], end: 400),
        Life("an unknown message but for a byte", [(100, Array(unknown.dropLast()))], end: 300),
        Life("a block but for a byte, at once", [(100, Array(block.dropLast()))], end: 400),
        Life("less of a block than counts", [(100, Array(block.prefix((16 << 10) - 1)))], end: 300),
        Life("as much of a block as counts", [(100, Array(block.prefix(16 << 10)))], end: 400),
        Life(
            "the same in two parts",
            [(100, Array(block.prefix(8 << 10))), (200, Array(block[(8 << 10)..<(16 << 10)]))], end: 500),
    ]

    @Test(arguments: lives) func `only complete messages and 16 KiB of one keep a link`(life: Life) throws {
        var machine = try Self.machine()
        let (time, error) = try Self.end(of: &machine, receiving: life.arrivals)
        #expect(time == .seconds(life.end))
        #expect(error.message == "the peer sent no complete message for 300 s")
    }

    /// 180 bytes a second: GhostDrop v1's GATT with one packet of 20 bytes each 50 ms, half of them overhead.
    @Test(arguments: [60, 180, 5000, 50_000]) func `large messages get through slow links`(bytesPerSecond: Int) throws {
        let megabyte = [UInt8](repeating: 1, count: 1 << 20)
        let messages = [
            Frame.message(Frame.index, Proto().text(1, "f").bytes(99, megabyte)),
            Frame.message(Frame.response, Proto().signed(1, 0).bytes(2, megabyte)),
            Frame.message(77, Proto().raw(megabyte)),
        ]
        for message in messages {
            var machine = try Self.machine()
            if message == messages[1] {
                _ = machine.request(
                    BlockRequest(folder: FolderID("f"), name: "a", offset: 0, size: 1 << 20, hash: nil), at: .zero)
            }
            let pieces = stride(from: 0, to: message.count, by: bytesPerSecond).map {
                ($0 / bytesPerSecond, Array(message[$0..<min($0 + bytesPerSecond, message.count)]))
            }
            let end = try Self.end(of: &machine, receiving: pieces)
            #expect(end.time == .seconds(300 + pieces.count - 1))
        }
    }

    /// What arrives while requests for blocks are open, the first of them, with id 0, of `size` bytes since 0 s.
    struct Wait: CustomTestStringConvertible {
        var testDescription: String
        var size: Int32 = 1 << 17
        /// When there is a second request, of 100 bytes.
        var second: Int?
        var arrivals: [(second: Int, bytes: [UInt8])]
        var end: Int
        var patience: Int?
    }

    static let pings = (1...100).map { (second: 30 * $0, bytes: ping) }

    static let waits: [Wait] = [
        Wait(testDescription: "pings", arrivals: pings, end: 316, patience: 316),
        Wait(testDescription: "pings, a small block", size: 100, arrivals: pings, end: 300, patience: 300),
        Wait(testDescription: "pings, 1 MiB", size: 1 << 20, arrivals: pings, end: 428, patience: 428),
        Wait(testDescription: "pings, 16 MiB", size: 16 << 20, arrivals: pings, end: 2348, patience: 2348),
        Wait(testDescription: "nothing, 16 MiB", size: 16 << 20, arrivals: [], end: 300),
        Wait(testDescription: "an answer, and pings", arrivals: [(100, answer)] + pings.dropFirst(3), end: 3300),
        // With a rate limit the second waits as long as the first takes.
        Wait(
            testDescription: "an answer to one of two", size: 1 << 20, second: 50,
            arrivals: [(100, answer)] + pings.dropFirst(3), end: 528, patience: 428),
        Wait(testDescription: "another request", second: 50, arrivals: pings, end: 316, patience: 316),
        Wait(
            testDescription: "an answer to nothing",
            arrivals: [(100, Array(response(7).readableBytesView))] + pings.dropFirst(3), end: 316, patience: 316),
        Wait(
            testDescription: "more than a KiB", arrivals: [(100, unknown + unknown)] + pings.dropFirst(3), end: 416,
            patience: 316),
        Wait(
            testDescription: "less than a KiB", arrivals: [(100, Array(repeating: ping, count: 100).flatMap(\.self))],
            end: 316, patience: 316),
    ]
    static let answer = Array(response(0).readableBytesView)

    @Test(arguments: waits) func `a peer that answers nothing keeps no link by pings`(wait: Wait) throws {
        var machine = try Self.machine()
        var request = Self.request
        request.size = wait.size
        #expect(machine.request(request, at: .zero).id == 0)
        if let second = wait.second { _ = machine.request(Self.request, at: .seconds(second)) }
        let (time, error) = try Self.end(of: &machine, receiving: wait.arrivals)
        #expect(time == .seconds(wait.end))
        #expect(
            error.message
                == (wait.patience.map { "the peer answered no request for a block for \($0) s" }
                    ?? "the peer sent no complete message for 300 s"))
    }

    /// An answer may have come long ago that this device has not read.
    @Test func `while nothing is read no answer is waited for`() throws {
        var machine = try Self.machine()
        _ = machine.request(Self.request, at: .zero)
        machine.receive(ByteBuffer(bytes: Self.ping), at: .seconds(100))
        #expect(try machine.nextEvent() == nil)
        machine.holdBack(at: .seconds(100))
        guard case .write = machine.advance(to: .seconds(390)) else {
            Issue.record("no ping")
            return
        }
        machine.goOn(at: .seconds(390))
        let (time, error) = try Self.end(of: &machine, receiving: [(391, Self.ping)])
        #expect(time == .seconds(590))
        #expect(error.message == "the peer answered no request for a block for 300 s")
    }

    /// A disk may be busy for long with what the peer has sent.
    @Test func `while nothing is read no message is waited for`() throws {
        var machine = try Self.machine()
        machine.holdBack(at: .seconds(10))
        for second in stride(from: 90, through: 900, by: 90) {
            guard case .write = machine.advance(to: .seconds(second)) else {
                Issue.record("no ping at \(second) s")
                return
            }
        }
        machine.goOn(at: .seconds(910))
        let (time, error) = try Self.end(of: &machine, receiving: [])
        #expect(time == .seconds(1200))
        #expect(error.message == "the peer sent no complete message for 300 s")
    }

    @Test func `writes nothing after a Close`() throws {
        var machine = try Self.machine()
        #expect(machine.send(.close(reason: "bye"), at: .seconds(10)).readableBytes > 0)
        #expect(machine.send(.ping, at: .seconds(11)).readableBytes == 0)
        #expect(machine.send(.close(reason: "again"), at: .seconds(11)).readableBytes == 0)
        #expect(
            machine.send(.response(BlockResponse(id: 0, data: ByteBuffer(), code: .ok)), at: .seconds(11)).readableBytes
                == 0)
        #expect(machine.request(Self.request, at: .seconds(11)).bytes.readableBytes == 0)
        #expect(machine.outstandingRequestCount == 0)
        // Nor is there a deadline that is never met.
        for second in [12, 55, 100, 299] {
            #expect(machine.advance(to: .seconds(second)) == .none)
            #expect(machine.nextDeadline > .seconds(second))
        }
    }

    // MARK: request ids

    @Test func `ids count from zero, and the first is not on the wire`() throws {
        var machine = try Self.machine()
        let (first, bytes) = machine.request(Self.request, at: .zero)
        #expect(first == 0)
        #expect(
            Array(bytes.readableBytesView)
                == Frame.message(Frame.request, Proto().text(2, "f").text(3, "a").varint(5, 100)).withoutZeroCompression
        )
        #expect((1...5).allSatisfy { machine.request(Self.request, at: .zero).id == $0 })
        #expect(machine.outstandingRequestCount == 6)
    }

    @Test func `ids start again after the largest, and pass over those in use`() throws {
        var machine = try Self.machine()
        #expect(machine.request(Self.request, at: .zero).id == 0)
        #expect(machine.request(Self.request, at: .zero).id == 1)
        machine.nextRequestID = .max - 1
        let ids = (0..<4).map { _ in machine.request(Self.request, at: .zero).id }
        // 0 and 1 are not answered yet.
        #expect(ids == [.max - 1, .max, 2, 3])
        machine.receive(Self.response(0), at: .zero)
        #expect(try machine.nextEvent() != nil)
        machine.nextRequestID = .max
        #expect(machine.request(Self.request, at: .zero).id == 0)
    }

    @Test func `answers come in any order, once each`() throws {
        var machine = try Self.machine()
        var random = SeededGenerator(seed: 201)
        let ids = (0..<100).map { _ in machine.request(Self.request, at: .zero).id }
        let order = ids.shuffled(using: &random)
        var answered: [Int32] = []
        for id in order {
            // Each twice, and one that nobody asked for.
            for stray in [id, id, 1000 + id, -1] { machine.receive(Self.response(stray), at: .zero) }
            while let event = try machine.nextEvent() {
                guard case .response(let response) = event else { continue }
                #expect(response.data.readableBytes == 3)
                answered.append(response.id)
            }
        }
        #expect(answered == order)
        #expect(machine.outstandingRequestCount == 0)
    }

    @Test func `an answer is as long as was asked for, or shorter`() throws {
        for (byteCount, isTaken) in [(0, true), (99, true), (100, true), (101, false)] {
            var machine = try Self.machine()
            let (id, _) = machine.request(Self.request, at: .zero)
            machine.receive(Self.response(id, byteCount: byteCount), at: .zero)
            if isTaken {
                #expect(try machine.nextEvent() != nil)
                #expect(try machine.nextEvent() == nil)
            } else {
                for _ in 0..<2 {
                    #expect(throws: ProtocolError(.tooLarge, "a request for 100 bytes was answered with 101 bytes")) {
                        try machine.nextEvent()
                    }
                }
            }
        }
    }

    @Test func `pings are heard and not passed on`() throws {
        var machine = try Self.machine()
        machine.receive(ByteBuffer(bytes: Frame.message(Frame.ping) + Frame.message(Frame.ping)), at: .zero)
        #expect(try machine.nextEvent() == nil)
        #expect(machine.bufferedByteCount == 0)
    }

    @Test func `two machines talk`() throws {
        var (left, right) = (ConnectionMachine(now: .zero), ConnectionMachine(now: .zero))
        var random = SeededGenerator(seed: 202)
        let hello = random.hello()
        let config = random.clusterConfig()
        right.receive(left.start(hello, at: .zero), at: .zero)
        right.receive(left.send(.clusterConfig(config), at: .zero), at: .zero)
        #expect(try right.nextEvent() == .hello(hello))
        #expect(try right.nextEvent() == .clusterConfig(config))
        left.receive(right.start(random.hello(), at: .zero), at: .zero)
        left.receive(right.send(.clusterConfig(ClusterConfig()), at: .zero), at: .zero)
        while try left.nextEvent() != nil {}
        let (id, bytes) = left.request(Self.request, at: .zero)
        right.receive(bytes, at: .zero)
        #expect(try right.nextEvent() == .request(id: id, Self.request))
        let answer = BlockResponse(id: id, data: ByteBuffer(repeating: 4, count: 100), code: .ok)
        left.receive(right.send(.response(answer), at: .zero), at: .zero)
        #expect(try left.nextEvent() == .response(answer))
    }
}

extension [UInt8] {
    /// A frame that was built with the field of the header that is zero, as it is sent: without it.
    fileprivate var withoutZeroCompression: [UInt8] { [0, 2] + self[2..<4] + self[6...] }
}
