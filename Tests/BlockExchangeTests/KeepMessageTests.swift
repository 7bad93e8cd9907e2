import Cryptography
import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

/// What two synctrain devices say of promises to keep files.
struct KeepMessageTests {
    private static func entry(_ random: inout SeededGenerator) -> KeepRequest.Entry {
        let kind = random.pick([FileInfo.Kind.file, .directory, .symlink])
        return KeepRequest.Entry(
            name: random.name(),
            content: KeepContent(
                version: random.realVersion(), kind: kind, size: kind == .file ? Int64(random.next() >> 1) : 0,
                digest: kind == .directory ? nil : random.digest()))
    }

    private static func request(_ random: inout SeededGenerator, entries: Int? = nil) -> KeepRequest {
        KeepRequest(
            folder: FolderID(random.text(1...10)), kind: random.pick(KeepRequest.Kind.allCases),
            mode: random.pick([nil, .full, .selective]), promiseCount: Int64(random.next() >> 1),
            entries: (0..<(entries ?? random.int(0...6))).map { _ in entry(&random) })
    }

    @Test(arguments: [CompressionPolicy.metadata, .never, .always])
    func whatIsSentArrives(compression: CompressionPolicy) throws {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<200 {
            var sender = ConnectionMachine(compression: compression, now: .zero)
            let request = Self.request(&random)
            let (id, bytes) = sender.keep(request, at: .zero)
            let sent = Array(bytes.readableBytesView)
            #expect(try Peer.outcome(sent).get() == [.keepRequest(id: id, request)])
            let answer = KeepAnswer(
                isAccepted: random.isOne(in: 2), granted: (0..<1000).filter { _ in random.isOne(in: 3) },
                promiseCount: Int64(random.next() >> 1))
            let reply = Array(sender.send(.keepAnswer(id: id, answer), at: .zero).readableBytesView)
            #expect(try Peer.outcome(reply).get() == [.keepAnswer(id: id, answer)])
            var peer = Peer()
            let cut = random.int(0...sent.count)
            #expect(try peer.feed(sent[..<cut]) + peer.feed(sent[cut...]) == [.keepRequest(id: id, request)])
        }
    }

    /// Against bytes that were built by hand, so that a field that is wrong both ways is seen.
    @Test func whereTheFieldsAre() throws {
        let hash = [UInt8](repeating: 7, count: 32)
        let request = KeepRequest(
            folder: FolderID("f"), kind: .ask, mode: .selective, promiseCount: 9,
            entries: [
                .init(
                    name: "a",
                    content: KeepContent(
                        version: VersionVector([.init(id: ShortID(rawValue: 3), value: 4)]), kind: .symlinkToFile,
                        size: 5, digest: SHA256Digest(hash)))
            ])
        let entry = Proto().text(1, "a").message(2, Proto().message(1, Proto().varint(1, 3).varint(2, 4)))
            .varint(3, 4).varint(4, 5).bytes(5, hash)
        let expected = Proto().varint(1, 300).text(2, "f").varint(3, 1).varint(4, 2).varint(5, 9).message(6, entry)
        #expect(request.encoded(id: 300) == expected.bytes)
        let answer = KeepAnswer(isAccepted: true, granted: [0, 9, 10], promiseCount: 2)
        #expect(
            answer.encoded(id: 300)
                == Proto().varint(1, 300).varint(2, 1).bytes(3, [1, 6]).varint(4, 2).bytes)
        var config = ClusterConfig.Folder(id: FolderID("f"), mode: .full)
        (config.takesKeepRequests, config.refusesChanges) = (true, true)
        var writer = WireWriter()
        config.encode(into: &writer)
        #expect(writer.bytes == Proto().text(1, "f").varint(1000, 1).varint(1001, 1).varint(1002, 1).bytes)
        // Syncthing does not say it.
        let silent = try Peer.outcome(
            Frame.message(Frame.clusterConfig, Proto().message(1, Proto().text(1, "f"))), before: .clusterConfig
        ).get()
        guard case .clusterConfig(let heard) = silent.first else {
            Issue.record("no cluster config")
            return
        }
        #expect(heard.folders.map(\.takesKeepRequests) == [false] && heard.folders.map(\.refusesChanges) == [false])
        let said = try Peer.outcome(
            Frame.message(Frame.clusterConfig, Proto().message(1, Proto().text(1, "f").varint(1002, 1))),
            before: .clusterConfig
        ).get()
        guard case .clusterConfig(let refusing) = said.first else {
            Issue.record("no cluster config")
            return
        }
        #expect(refusing.folders.map(\.refusesChanges) == [true])
    }

    @Test func whatIsTooMuchOrWrongEndsTheLink() {
        func refusal(_ type: Int, _ body: Proto, before: Peer.Stage = .messages) -> ProtocolError.Code? {
            Peer.refusal(Frame.message(type, body), before: before)
        }
        let entry = Proto().text(1, "a")
        func request(_ count: Int) -> Proto {
            (0..<count).reduce(Proto().text(2, "f").varint(3, 1)) { all, _ in all.message(6, entry) }
        }
        #expect(refusal(1000, request(1000)) == nil)
        #expect(refusal(1000, request(1001)) == .tooMany)
        #expect(refusal(1000, request(1), before: .clusterConfig) == .unexpectedMessage)
        #expect(refusal(1000, Proto().varint(3, 3)) == .malformed)
        #expect(refusal(1000, Proto().message(6, Proto())) == .malformed, "no name")
        #expect(
            refusal(1000, Proto().message(6, Proto().text(1, "a").varint(4, .max))) == .malformed, "a negative size")
        #expect(refusal(1000, Proto().message(6, Proto().text(1, "a").varint(3, 9))) == .malformed)
        #expect(refusal(1000, Proto().message(6, Proto().text(1, "a").bytes(5, [1]))) == .malformed)
        #expect(refusal(1000, Proto().message(6, Proto().text(1, String(repeating: "x", count: 4097)))) == .tooLarge)
        #expect(refusal(1000, Proto().bytes(99, [UInt8](repeating: 0, count: 2 << 20))) == .tooLarge)
        #expect(refusal(1001, Proto().bytes(3, [UInt8](repeating: 0, count: 125))) == nil)
        #expect(refusal(1001, Proto().bytes(3, [UInt8](repeating: 0, count: 126))) == .tooLarge)
        #expect(refusal(1001, Proto().bytes(99, [UInt8](repeating: 0, count: 64 << 10))) == .tooLarge)
    }

    @Test func answersBelongToRequests() throws {
        func hear(_ answer: KeepAnswer, to asked: KeepRequest?, forgotten: Bool = false) throws -> [ConnectionEvent] {
            var (one, other) = (ConnectionMachine(now: .zero), ConnectionMachine(now: .zero))
            let hello = Hello(deviceName: "", clientName: "", clientVersion: "")
            one.receive(other.start(hello, at: .zero), at: .zero)
            one.receive(other.send(.clusterConfig(ClusterConfig()), at: .zero), at: .zero)
            let id = asked.map { one.keep($0, at: .zero).id } ?? 0
            if forgotten { one.forgetKeep(id) }
            one.receive(other.send(.keepAnswer(id: id, answer), at: .zero), at: .zero)
            var events: [ConnectionEvent] = []
            while let event = try one.nextEvent() { events.append(event) }
            return Array(events.dropFirst(2))
        }
        var random = SeededGenerator(seed: 4)
        let request = Self.request(&random, entries: 3)
        let answer = KeepAnswer(isAccepted: true, granted: [0, 2])
        #expect(try hear(answer, to: request) == [.keepAnswer(id: 0, answer)])
        #expect(try hear(answer, to: nil) == [])
        #expect(try hear(answer, to: request, forgotten: true) == [])
        #expect(throws: ProtocolError.self) { try hear(KeepAnswer(isAccepted: true, granted: [3]), to: request) }
    }

    @Test(arguments: [21, 22, 23] as [UInt64]) func damagedBytesNeverTrap(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (taken, refused) = (0, 0)
        for _ in 0..<3000 {
            var sender = ConnectionMachine(compression: .never, now: .zero)
            let whole =
                random.isOne(in: 3)
                ? sender.send(.keepAnswer(id: 5, KeepAnswer(isAccepted: true, granted: [1, 8, 99])), at: .zero)
                : sender.keep(Self.request(&random), at: .zero).bytes
            switch Peer.outcome(MutationTests.damaged(Array(whole.readableBytesView), &random)) {
            case .success(let events):
                taken += 1
                for case .keepRequest(_, let request) in events {
                    #expect(request.entries.count <= 1000 && request.promiseCount >= 0)
                    #expect(request.entries.allSatisfy { !$0.name.isEmpty && $0.content.size >= 0 })
                }
                for case .keepAnswer(_, let answer) in events {
                    #expect(answer.granted.allSatisfy { $0 >= 0 && $0 < 1000 })
                }
            case .failure: refused += 1
            }
        }
        #expect(taken > 100 && refused > 100)
    }
}
