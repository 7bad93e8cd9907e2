import BlockExchange
import NIOCore
import NIOEmbedded
import SyncTestKit
import Testing
import Transport

@testable import TransportRelay

/// The handlers on a loop whose time the tests move.
@Suite struct HandlerTests {
    /// A conversation on a channel in memory.
    private final class Subject {
        let channel = EmbeddedChannel()
        var reports: [RelayReport] = []
        var ends: [RelayError?] = []

        init(_ machine: some RelayConversation) throws {
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 22067)).wait()
            try channel.pipeline.syncOperations.addHandler(
                RelayConversationHandler(
                    machine: machine, report: { self.reports.append($0) }, ended: { self.ends.append($0) }))
        }

        func receive(_ message: RelayMessage) throws { try channel.writeInbound(message.encoded) }

        func sent() throws -> [RelayMessage] {
            var reader = RelayFrameReader()
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) { reader.append(bytes) }
            var messages: [RelayMessage] = []
            while let message = try reader.next() { messages.append(message) }
            return messages
        }
    }

    @Test func joinsAtOnceAndAnswersPings() throws {
        let subject = try Subject(JoinMachine(token: "t"))
        #expect(try subject.sent() == [.joinRelayRequest(token: "t")])
        try subject.receive(response(0))
        #expect(try subject.sent() == [.ping])
        subject.channel.embeddedEventLoop.advanceTime(by: .milliseconds(40))
        try subject.receive(.pong)
        try subject.receive(.ping)
        #expect(try subject.sent() == [.pong])
        #expect(subject.reports == [.joined, .roundTrip(.milliseconds(40))])
    }

    /// A relay that pings every minute is kept for ever; one that falls silent is pinged and left.
    @Test func silenceEndsTheConnection() throws {
        let subject = try Subject(JoinMachine())
        try subject.receive(response(0))
        for _ in 0..<10 {
            subject.channel.embeddedEventLoop.advanceTime(by: .seconds(60))
            try subject.receive(.ping)
            // The answer to the first ping of this side is still due: no other is sent.
            #expect(subject.ends.isEmpty)
        }
        try subject.receive(.pong)
        _ = try subject.sent()
        subject.channel.embeddedEventLoop.advanceTime(by: .seconds(90))
        #expect(try subject.sent() == [.ping])
        #expect(subject.channel.isActive)
        subject.channel.embeddedEventLoop.advanceTime(by: .seconds(30))
        #expect(subject.ends.map { $0?.code } == [.silent])
        #expect(!subject.channel.isActive)
    }

    @Test func aRelayThatDoesNotAnswerIsLeftAfterTenSeconds() throws {
        for machine in [JoinMachine(), InvitationMachine(device: someDevice)] as [any RelayConversation] {
            let subject = try Subject(machine)
            subject.channel.embeddedEventLoop.advanceTime(by: .milliseconds(9999))
            #expect(subject.ends.isEmpty)
            subject.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
            #expect(subject.ends.map { $0?.code } == [.timedOut])
        }
    }

    @Test func doubtIsAnEventOfThePipeline() throws {
        let subject = try Subject(JoinMachine())
        try subject.receive(response(0))
        try subject.receive(.pong)
        subject.channel.pipeline.fireUserInboundEventTriggered(RelayDoubt())
        subject.channel.embeddedEventLoop.advanceTime(by: .seconds(3))
        #expect(subject.ends.map { $0?.code } == [.silent])
    }

    /// Pings without end from a relay that reads no answer do not pile up here.
    @Test func aRelayThatDoesNotReadIsLeft() throws {
        let subject = try Subject(JoinMachine())
        try subject.receive(response(0))
        subject.channel.isWritable = false
        try subject.receive(.ping)
        #expect(subject.ends.map { $0?.code } == [.silent])
    }

    @Test func bytesAfterTheEndChangeNothing() throws {
        let subject = try Subject(JoinMachine())
        var bytes = response(3).encoded
        bytes.writeImmutableBuffer(response(0).encoded)
        try subject.channel.writeInbound(bytes)
        #expect(subject.ends.map { $0?.code } == [.wrongToken])
        #expect(subject.reports.isEmpty)
    }

    @Test func wrongBytesEndTheConnection() throws {
        let subject = try Subject(InvitationMachine(device: someDevice))
        try subject.channel.writeInbound(ByteBuffer(string: "HTTP/1.1 400 Bad Request"))
        #expect(subject.ends.map { $0?.code } == [.malformed])
        #expect(!subject.channel.isActive)
    }

    /// Collects what a session's pipe brings.
    private final class Pipe: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        var bytes = ByteBuffer()

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            bytes.writeImmutableBuffer(unwrapInboundIn(data))
        }
    }

    /// However the relay cuts them, the peer's bytes reach the handlers that the installer adds.
    @Test(arguments: 1...30) func thePipeBeginsBehindTheResponse(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let pipe = Pipe()
        let (channel, outcome) = try session { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(pipe)
                return 7
            }
        }
        let request = try #require(try channel.readOutbound(as: ByteBuffer.self))
        #expect(request == RelayMessage.joinSessionRequest(key: [1, 2, 3]).encoded)
        let peers = random.bytes(200)
        var rest = Array(buffer: response(0, "success").encoded) + peers
        while !rest.isEmpty {
            let count = min(rest.count, random.int(1...120))
            try channel.writeInbound(ByteBuffer(bytes: rest.prefix(count)))
            rest.removeFirst(count)
        }
        #expect(try outcome.wait() == 7)
        #expect(Array(buffer: pipe.bytes) == peers)
    }

    @Test func aSessionThatDoesNotBegin() throws {
        let (silent, timeout) = try session { $0.eventLoop.makeSucceededFuture(7) }
        silent.embeddedEventLoop.advanceTime(by: .seconds(10))
        #expect { try timeout.wait() } throws: { ($0 as? RelayError)?.code == .timedOut }
        #expect(!silent.isActive)
        let (closed, end) = try session { $0.eventLoop.makeSucceededFuture(7) }
        _ = try closed.finish()
        #expect { try end.wait() } throws: { ($0 as? RelayError)?.code == .closed }
        let (used, refusal) = try session { $0.eventLoop.makeSucceededFuture(7) }
        try used.writeInbound(response(1, "not found").encoded)
        #expect { try refusal.wait() } throws: { ($0 as? RelayError)?.code == .sessionExpired }
    }

    /// The timer of a session that stands is gone.
    @Test func aSessionThatStandsIsLeftAlone() throws {
        let (channel, outcome) = try session { $0.eventLoop.makeSucceededFuture(7) }
        try channel.writeInbound(response(0).encoded)
        channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        #expect(try outcome.wait() == 7)
        #expect(channel.isActive)
    }

    private func session(
        start: @escaping (any Channel) -> EventLoopFuture<Int>
    ) throws -> (EmbeddedChannel, EventLoopFuture<Int>) {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 22067)).wait()
        let promise = channel.eventLoop.makePromise(of: Int.self)
        try channel.pipeline.syncOperations.addHandler(
            RelaySessionHandler(
                machine: SessionMachine(key: [1, 2, 3]), limit: .seconds(10), promise: promise, start: start))
        return (channel, promise.futureResult)
    }
}
