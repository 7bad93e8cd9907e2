import Cryptography
import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

/// What two synctrain devices say of something that one of them is to rename for the other.
struct RenameMessageTests {
    private static func request(_ random: inout SeededGenerator) -> RenameRequest {
        RenameRequest(
            folder: FolderID(random.text(1...20)), from: random.text(1...40), to: random.text(1...40),
            nameCount: Int64(random.int(0...1_000_000)),
            digest: random.isOne(in: 4) ? nil : SHA256.digest([UInt8(random.int(0...255))]))
    }

    private static func answer(_ random: inout SeededGenerator) -> RenameAnswer {
        RenameAnswer(random.pick(RenameAnswer.Outcome.allCases))
    }

    @Test func whatIsSentArrives() throws {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<200 {
            var sender = ConnectionMachine(now: .zero)
            let request = Self.request(&random)
            let (id, bytes) = sender.rename(request, at: .zero)
            #expect(try Peer.outcome(Array(bytes.readableBytesView)).get() == [.renameRequest(id: id, request)])
            let answer = Self.answer(&random)
            let reply = Array(sender.send(.renameAnswer(id: id, answer), at: .zero).readableBytesView)
            #expect(try Peer.outcome(reply).get() == [.renameAnswer(id: id, answer)])
        }
    }

    /// Against bytes that were built by hand, so that a field that is wrong both ways is seen.
    @Test func whereTheFieldsAre() throws {
        let digest = SHA256.digest([1])
        let request = RenameRequest(folder: FolderID("f"), from: "a/b", to: "c", nameCount: 3, digest: digest)
        #expect(
            request.encoded(id: 300)
                == Proto().varint(1, 300).text(2, "f").text(3, "a/b").text(4, "c").varint(5, 3).bytes(6, digest.bytes)
                .bytes)
        #expect(RenameAnswer(.taken).encoded(id: 1) == Proto().varint(1, 1).varint(2, 3).bytes)
        var config = ClusterConfig.Folder(id: FolderID("f"))
        config.takesRenameRequests = true
        var writer = WireWriter()
        config.encode(into: &writer)
        #expect(writer.bytes == Proto().text(1, "f").varint(1003, 1).bytes)
        let said = try Peer.outcome(
            Frame.message(Frame.clusterConfig, Proto().message(1, Proto().text(1, "f").varint(1003, 1))),
            before: .clusterConfig
        ).get()
        #expect(said == [.clusterConfig(ClusterConfig(folders: [config]))])
        // Syncthing does not say it.
        config.takesRenameRequests = false
        let silent = try Peer.outcome(
            Frame.message(Frame.clusterConfig, Proto().message(1, Proto().text(1, "f"))), before: .clusterConfig
        ).get()
        #expect(silent == [.clusterConfig(ClusterConfig(folders: [config]))])
    }

    @Test func whatIsTooMuchOrWrongEndsTheLink() {
        func refusal(_ type: Int, _ body: Proto, before: Peer.Stage = .messages) -> ProtocolError.Code? {
            Peer.refusal(Frame.message(type, body), before: before)
        }
        #expect(refusal(1004, Proto()) == nil, "refused by an answer")
        #expect(refusal(1004, Proto().text(3, "a"), before: .clusterConfig) == .unexpectedMessage)
        #expect(refusal(1004, Proto().text(3, String(repeating: "x", count: 4097))) == .tooLarge)
        #expect(refusal(1004, Proto().text(4, String(repeating: "x", count: 4097))) == .tooLarge)
        #expect(refusal(1004, Proto().bytes(6, [1])) == .malformed)
        #expect(refusal(1004, Proto().bytes(99, [UInt8](repeating: 0, count: 64 << 10))) == .tooLarge)
        #expect(refusal(1005, Proto().bytes(99, [UInt8](repeating: 0, count: 64 << 10))) == .tooLarge)
    }

    /// What a later version says is no reason to take something for renamed.
    @Test func unknownWords() throws {
        let heard = try Peer.outcome(Frame.message(1005, Proto().varint(2, 99))).get()
        #expect(heard == [.renameAnswer(id: 0, RenameAnswer(.failed))])
        #expect(try Peer.outcome(Frame.message(1005, Proto())).get() == [.renameAnswer(id: 0, RenameAnswer(.failed))])
    }

    @Test func answersBelongToRequests() throws {
        func hear(isAsked: Bool, isForgotten: Bool = false) throws -> [ConnectionEvent] {
            var (one, other) = (ConnectionMachine(now: .zero), ConnectionMachine(now: .zero))
            let hello = Hello(deviceName: "", clientName: "", clientVersion: "")
            one.receive(other.start(hello, at: .zero), at: .zero)
            one.receive(other.send(.clusterConfig(ClusterConfig()), at: .zero), at: .zero)
            let request = RenameRequest(folder: FolderID("f"), from: "a", to: "b", nameCount: 1, digest: nil)
            if isAsked { _ = one.rename(request, at: .zero) }
            if isForgotten { one.forgetRename(0) }
            // Twice: the second one answers nothing.
            for _ in 0..<2 { one.receive(other.send(.renameAnswer(id: 0, RenameAnswer(.done)), at: .zero), at: .zero) }
            var events: [ConnectionEvent] = []
            while let event = try one.nextEvent() { events.append(event) }
            return Array(events.dropFirst(2))
        }
        #expect(try hear(isAsked: true) == [.renameAnswer(id: 0, RenameAnswer(.done))])
        #expect(try hear(isAsked: false) == [])
        #expect(try hear(isAsked: true, isForgotten: true) == [])
    }

    @Test(arguments: [31, 32, 33] as [UInt64]) func damagedBytesNeverTrap(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (taken, refused) = (0, 0)
        for _ in 0..<3000 {
            var sender = ConnectionMachine(compression: .never, now: .zero)
            let whole =
                random.isOne(in: 4)
                ? sender.send(.renameAnswer(id: 5, Self.answer(&random)), at: .zero)
                : sender.rename(Self.request(&random), at: .zero).bytes
            switch Peer.outcome(MutationTests.damaged(Array(whole.readableBytesView), &random)) {
            case .success: taken += 1
            case .failure: refused += 1
            }
        }
        #expect(taken > 100 && refused > 100)
    }

    @Test func digestsTellWhatDiffers() {
        func digest(_ entries: [(String, UInt64, Int64)]) -> SHA256Digest {
            var digest = RenameDigest()
            for (path, version, size) in entries {
                digest.add(
                    path,
                    KeepContent(
                        version: VersionVector([.init(id: ShortID(rawValue: 7), value: version)]), kind: .file,
                        size: size, digest: SHA256.digest([UInt8(truncatingIfNeeded: size)])))
            }
            return digest.finish()
        }
        let one = digest([("", 1, 0), ("/a", 2, 3), ("/b", 3, 4)])
        #expect(one == digest([("", 1, 0), ("/a", 2, 3), ("/b", 3, 4)]))
        let others: [[(String, UInt64, Int64)]] = [
            [("", 1, 0), ("/a", 2, 3)], [("", 1, 0), ("/b", 3, 4), ("/a", 2, 3)],
            [("", 1, 0), ("/a", 2, 3), ("/c", 3, 4)],
            [("", 1, 0), ("/a", 2, 3), ("/b", 4, 4)], [("", 1, 0), ("/a", 2, 3), ("/b", 3, 5)],
        ]
        for other in others { #expect(digest(other) != one) }
    }
}
