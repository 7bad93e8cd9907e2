import BlockExchange
import Cryptography
import Synchronization
import Testing

@testable import PeerLinks

@Suite(.timeLimit(.minutes(1))) struct IndexInboxTests {
    private static func batch(
        _ folder: String = "a", _ sequences: ClosedRange<Int64>, full: Bool = false, first: Bool = true, blocks: Int = 1
    ) -> IndexBatch {
        IndexBatch(
            folder: FolderID(folder),
            files: sequences.map {
                FileInfo(
                    name: "file-\($0)", sequence: $0,
                    blocks: Array(repeating: BlockInfo(offset: 0, size: 1, hash: SHA256.digest([])), count: blocks))
            }, isFullIndex: full, isFirst: first, isLast: true, lastSequence: sequences.upperBound)
    }

    /// As many entries as a slow link brings while a folder is looked at for the first time, ten seconds, and nobody takes
    /// one: whoever reads the link goes on to the answer behind them.
    @Test func tenSecondsOfASlowLinkDoNotHoldUpWhatComesBehind() async {
        let inbox = IndexInbox()
        for number in 0..<120 {
            let isTaken = await inbox.send(
                .batch(Self.batch("a", Int64(number * 100 + 1)...Int64(number * 100 + 100))))
            #expect(isTaken)
        }
        inbox.finish()
        var sequences: [Int64] = []
        var batches = 0
        while case .batch(let batch)? = await inbox.next() {
            sequences += batch.files.map(\.sequence)
            batches += 1
            #expect(batch.files.count <= IndexInbox.entriesTogether)
        }
        #expect(sequences == Array(1...12_000))
        #expect(batches == 12)
    }

    /// A peer that announces without end is held back, and goes on once something was taken.
    @Test func tooMuchWaitsForRoom() async {
        let inbox = IndexInbox()
        // 2 MiB each.
        let large = Self.batch("a", 1...10, blocks: 4400)
        let sent = SendCount()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<8 {
                    guard await inbox.send(.batch(large)) else { return }
                    sent.add()
                }
                inbox.finish()
            }
            var taken = 0
            while case .batch(let batch)? = await inbox.next() {
                taken += batch.files.count
                #expect(sent.value * 10 - taken <= 40)
            }
            #expect(taken == 80)
        }
    }

    @Test func whoWaitsForRoomIsLetGo() async {
        let inbox = IndexInbox()
        let large = Self.batch("a", 1...10, blocks: 100_000)
        #expect(await inbox.send(.batch(large)))
        async let second = inbox.send(.batch(large))
        inbox.finish()
        #expect(await second == false)
        #expect(await inbox.next() == .batch(large))
        #expect(await inbox.next() == nil)
    }

    /// What a config says of indexes goes by those before it; what this device has to say waits for none of them.
    @Test func aConfigKeepsItsPlaceAndAnInterruptionGoesFirst() async {
        let inbox = IndexInbox()
        let config = ClusterConfig(folders: [ClusterConfig.Folder(id: FolderID("a"))])
        for item in [
            .batch(Self.batch("a", 1...2)), .batch(Self.batch("a", 3...4)), .config(config),
            .batch(Self.batch("a", 5...6)),
        ] as [IndexInbox.Item] {
            #expect(await inbox.send(item))
        }
        inbox.interrupt()
        inbox.interrupt()
        #expect(await inbox.next() == .interruption)
        #expect(await inbox.next() == .batch(Self.batch("a", 1...4)))
        inbox.interrupt()
        inbox.finish()
        #expect(await inbox.next() == .interruption)
        #expect(await inbox.next() == .config(config))
        #expect(await inbox.next() == .batch(Self.batch("a", 5...6)))
        #expect(await inbox.next() == nil)
        #expect(await inbox.send(.config(config)) == false)
    }

    struct Joining: Sendable {
        var batches: [IndexBatch]
        var count: Int
        var isFullIndex = false
        var isFirst = true
    }

    @Test(arguments: [
        Joining(batches: [], count: 0),
        Joining(batches: [batch("a", 1...2), batch("a", 3...4)], count: 2),
        Joining(batches: [batch("a", 1...2), batch("b", 3...4), batch("a", 5...6)], count: 1),
        // The beginning of a whole index drops what is known, so nothing before it may go with it.
        Joining(batches: [batch("a", 1...2), batch("a", 1...2, full: true)], count: 1),
        Joining(
            batches: [batch("a", 1...2, full: true), batch("a", 3...4, full: true, first: false), batch("a", 5...6)],
            count: 3,
            isFullIndex: true),
        Joining(
            batches: [batch("a", 1...2, full: true, first: false), batch("a", 3...4)], count: 2, isFullIndex: true,
            isFirst: false),
        Joining(batches: [batch("a", 1...600), batch("a", 601...1000), batch("a", 1001...1001)], count: 2),
        Joining(batches: [batch("a", 1...1200), batch("a", 1201...1202)], count: 1),
    ])
    func batchesAreJoinedWhereTheyGoOn(_ joining: Joining) {
        let (joined, count) = IndexInbox.joined(joining.batches)
        #expect(count == joining.count)
        let files = joining.batches.prefix(joining.count).flatMap(\.files)
        #expect(joined?.files ?? [] == files)
        guard count > 0 else { return }
        #expect(joined?.isFullIndex == joining.isFullIndex)
        #expect(joined?.isFirst == joining.isFirst)
        #expect(joined?.lastSequence == files.last?.sequence)
    }
}

private final class SendCount: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .sequentiallyConsistent) }

    func add() { count.add(1, ordering: .sequentiallyConsistent) }
}
