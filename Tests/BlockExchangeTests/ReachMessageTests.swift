import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

/// What two synctrain devices say of where one of them is reached.
struct ReachMessageTests {
    private static func request(_ random: inout SeededGenerator) -> ReachRequest {
        ReachRequest(addresses: (0..<random.int(0...16)).map { _ in random.text(0...40) })
    }

    private static func answer(_ random: inout SeededGenerator) -> ReachAnswer {
        guard !random.isOne(in: 4) else { return ReachAnswer(refusal: random.pick(ReachAnswer.Refusal.allCases)) }
        return ReachAnswer(
            results: (0..<random.int(0...16)).map { _ in
                ReachAnswer.Result(
                    random.pick(ReachAnswer.Outcome.allCases),
                    address: random.isOne(in: 2) ? "tcp://" + random.text(1...20) : nil)
            })
    }

    @Test func whatIsSentArrives() throws {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<200 {
            var sender = ConnectionMachine(now: .zero)
            let request = Self.request(&random)
            let (id, bytes) = sender.reach(request, at: .zero)
            #expect(try Peer.outcome(Array(bytes.readableBytesView)).get() == [.reachRequest(id: id, request)])
            let answer = Self.answer(&random)
            let reply = Array(sender.send(.reachAnswer(id: id, answer), at: .zero).readableBytesView)
            #expect(try Peer.outcome(reply).get() == [.reachAnswer(id: id, answer)])
        }
    }

    /// Against bytes that were built by hand, so that a field that is wrong both ways is seen.
    @Test func whereTheFieldsAre() throws {
        let request = ReachRequest(addresses: ["tcp://h:1", "", "tcp://:2"])
        #expect(
            request.encoded(id: 300)
                == Proto().varint(1, 300).text(2, "tcp://h:1").bytes(2, []).text(2, "tcp://:2").bytes)
        let answer = ReachAnswer(results: [.init(.timedOut), .init(.reached, address: "a"), .init(.notTried)])
        #expect(
            answer.encoded(id: 300)
                == Proto().varint(1, 300).message(3, Proto().varint(1, 3)).message(
                    3, Proto().varint(1, 1).text(2, "a")
                ).message(3, Proto()).bytes)
        #expect(ReachAnswer(refusal: .tooSoon).encoded(id: 1) == Proto().varint(1, 1).varint(2, 2).bytes)
        var writer = WireWriter()
        ClusterConfig(takesReachTests: true).encode(into: &writer)
        #expect(writer.bytes == Proto().varint(1000, 1).bytes)
        // Syncthing does not say it.
        let silent = try Peer.outcome(Frame.message(Frame.clusterConfig), before: .clusterConfig).get()
        #expect(silent == [.clusterConfig(ClusterConfig(takesReachTests: false))])
    }

    @Test func whatIsTooMuchOrWrongEndsTheLink() {
        func refusal(_ type: Int, _ body: Proto, before: Peer.Stage = .messages) -> ProtocolError.Code? {
            Peer.refusal(Frame.message(type, body), before: before)
        }
        func addresses(_ count: Int) -> Proto { (0..<count).reduce(Proto()) { all, _ in all.text(2, "tcp://h:1") } }
        func results(_ count: Int) -> Proto { (0..<count).reduce(Proto()) { all, _ in all.message(3, Proto()) } }
        #expect(refusal(1002, addresses(16)) == nil)
        #expect(refusal(1002, addresses(17)) == .tooMany)
        #expect(refusal(1002, addresses(1), before: .clusterConfig) == .unexpectedMessage)
        #expect(refusal(1002, Proto().text(2, String(repeating: "x", count: 2083))) == nil)
        #expect(refusal(1002, Proto().text(2, String(repeating: "x", count: 2084))) == .tooLarge)
        #expect(refusal(1002, Proto().bytes(99, [UInt8](repeating: 0, count: 64 << 10))) == .tooLarge)
        #expect(refusal(1003, results(16)) == nil)
        #expect(refusal(1003, results(17)) == .tooMany)
        #expect(refusal(1003, Proto().message(3, Proto().text(2, String(repeating: "x", count: 2084)))) == .tooLarge)
    }

    /// What a later version says is read as the nearest that this one knows.
    @Test func unknownWords() throws {
        let body = Proto().message(3, Proto().varint(1, 99)).varint(2, 99)
        let heard = try Peer.outcome(Frame.message(1003, body)).get()
        #expect(heard == [.reachAnswer(id: 0, ReachAnswer(refusal: .unavailable, results: [.init(.notTried)]))])
    }

    @Test func answersBelongToRequests() throws {
        func hear(_ answer: ReachAnswer, to asked: ReachRequest?, forgotten: Bool = false) throws -> [ConnectionEvent] {
            var (one, other) = (ConnectionMachine(now: .zero), ConnectionMachine(now: .zero))
            let hello = Hello(deviceName: "", clientName: "", clientVersion: "")
            one.receive(other.start(hello, at: .zero), at: .zero)
            one.receive(other.send(.clusterConfig(ClusterConfig()), at: .zero), at: .zero)
            let id = asked.map { one.reach($0, at: .zero).id } ?? 0
            if forgotten { one.forgetReach(id) }
            one.receive(other.send(.reachAnswer(id: id, answer), at: .zero), at: .zero)
            var events: [ConnectionEvent] = []
            while let event = try one.nextEvent() { events.append(event) }
            return Array(events.dropFirst(2))
        }
        let request = ReachRequest(addresses: ["tcp://h:1", "tcp://h:2"])
        let answer = ReachAnswer(results: [.init(.reached), .init(.refused)])
        #expect(try hear(answer, to: request) == [.reachAnswer(id: 0, answer)])
        #expect(
            try hear(ReachAnswer(refusal: .busy), to: request) == [.reachAnswer(id: 0, ReachAnswer(refusal: .busy))])
        #expect(try hear(answer, to: nil) == [])
        #expect(try hear(answer, to: request, forgotten: true) == [])
        #expect(throws: ProtocolError.self) { try hear(ReachAnswer(results: [.init(.reached)]), to: request) }
        #expect(throws: ProtocolError.self) {
            try hear(ReachAnswer(refusal: .busy, results: answer.results), to: request)
        }
    }

    @Test(arguments: [31, 32, 33] as [UInt64]) func damagedBytesNeverTrap(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (taken, refused) = (0, 0)
        for _ in 0..<3000 {
            var sender = ConnectionMachine(compression: .never, now: .zero)
            let whole =
                random.isOne(in: 2)
                ? sender.send(.reachAnswer(id: 5, Self.answer(&random)), at: .zero)
                : sender.reach(Self.request(&random), at: .zero).bytes
            switch Peer.outcome(MutationTests.damaged(Array(whole.readableBytesView), &random)) {
            case .success(let events):
                taken += 1
                for case .reachRequest(_, let request) in events { #expect(request.addresses.count <= 16) }
                for case .reachAnswer(_, let answer) in events { #expect(answer.results.count <= 16) }
            case .failure: refused += 1
            }
        }
        #expect(taken > 100 && refused > 100)
    }
}
