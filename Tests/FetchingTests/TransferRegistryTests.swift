import BlockExchange
import ControlAPI
import Cryptography
import NIOCore
import Synchronization
import Testing

@testable import Fetching

@Suite struct TransferRegistryTests {
    private final class Hand: Sendable {
        private let time = Mutex(MonotonicTime.zero)
        var now: MonotonicTime { time.withLock { $0 } }
        func pass(_ duration: Duration) { time.withLock { $0 += duration } }
    }

    private static let folder = FolderID("f")
    private static let alice = DeviceID(digest: SHA256.digest([1]))
    private static let bob = DeviceID(digest: SHA256.digest([2]))

    private let hand = Hand()
    private let registry: TransferRegistry

    init() { registry = TransferRegistry(now: { [hand] in hand.now }) }

    private func rows(_ transports: [DeviceID: String] = [alice: "tcp"]) -> [TransferEntry] {
        registry.list { transports[$0] }.transfers
    }

    private func serve(_ name: String, _ byteCount: Int, of size: Int64 = 1000, to device: DeviceID = alice) {
        let request = BlockRequest(
            folder: Self.folder, name: name, offset: 0, size: Int32(byteCount), hash: nil, weakHash: 0, blockIndex: 0)
        let bytes = ByteBuffer(repeating: 0, count: byteCount)
        registry.served([request], [BlockAnswer(bytes, fileSize: size)], of: Self.folder, to: device)
    }

    @Test func aFetchHasARowForEachDeviceThatGives() {
        let id = registry.begin(folder: Self.folder, path: "film", bytesTotal: 10_000)
        #expect(
            rows() == [
                TransferEntry(
                    folder: "f", path: "film", direction: .incoming, bytesDone: 0, fileBytesDone: 0, size: 10_000)
            ])
        hand.pass(.seconds(1))
        registry.progressed(id, by: 1000, from: Self.alice)
        registry.progressed(id, by: 500, from: nil)
        hand.pass(.seconds(1))
        registry.progressed(id, by: 2500, from: Self.bob)
        let rows = rows()
        #expect(rows.map(\.device) == [Self.alice.description, Self.bob.description])
        #expect(rows.map(\.transport) == ["tcp", nil])
        #expect(rows.map(\.bytesDone) == [1000, 2500])
        #expect(rows.allSatisfy { $0.fileBytesDone == 4000 && $0.size == 10_000 && $0.direction == .incoming })
        // 4,000 bytes in two seconds, and 6,000 to go.
        #expect(rows.map(\.secondsLeft) == [3, 3])
        #expect(registry.all.map(\.bytesPerSecond) == [2000])
        #expect(registry.all.first?.holders == [Self.alice.description, Self.bob.description])
        registry.end(id)
        #expect(self.rows().isEmpty && registry.all.isEmpty && !registry.isFetching(Self.folder))
        // What comes too late is nobody's.
        registry.progressed(id, by: 1, from: Self.alice)
        #expect(self.rows().isEmpty)
    }

    @Test func whatAReaderHasNotReadYetCameAllTheSame() {
        let id = registry.begin(folder: Self.folder, path: "film", bytesTotal: 10_000)
        hand.pass(.seconds(1))
        registry.came(id, 4000, from: Self.alice)
        registry.progressed(id, by: 100, from: nil)
        #expect(rows().map(\.bytesDone) == [4000] && rows().map(\.fileBytesDone) == [100])
    }

    @Test func whatIsServedIsOnItsWayOutUntilNobodyAsks() {
        serve("a", 400)
        hand.pass(.seconds(1))
        serve("a", 400)
        serve("a", 400, to: Self.bob)
        let rows = rows()
        #expect(rows.count == 2 && rows.allSatisfy { $0.direction == .outgoing && $0.size == 1000 })
        let toAlice = rows.first { $0.device == Self.alice.description }
        #expect(toAlice?.bytesDone == 800 && toAlice?.transport == "tcp" && toAlice?.fileBytesDone == nil)
        hand.pass(.seconds(1))
        serve("a", 400)
        // Asked for twice, it is not more of the file.
        #expect(self.rows().first?.bytesDone == 1000 && self.rows().first?.secondsLeft == 0)
        hand.pass(.seconds(6))
        #expect(self.rows().isEmpty)
        serve("a", 400)
        #expect(self.rows().map(\.bytesDone) == [400])
    }

    @Test func refusalsAndAnswersOfNoFileAreNoTransfers() {
        let request = BlockRequest(
            folder: Self.folder, name: "x", offset: 0, size: 5, hash: nil, weakHash: 0, blockIndex: 0)
        registry.served(
            [request, request], [BlockAnswer(.noSuchFile), BlockAnswer(ByteBuffer(repeating: 0, count: 5))],
            of: Self.folder, to: Self.alice)
        #expect(rows().isEmpty)
    }

    @Test func manySmallFilesAreNotAllRemembered() {
        for number in 0..<10_000 {
            serve("\(number)", 1)
            hand.pass(.microseconds(1))
        }
        let list = registry.list { _ in nil }
        #expect(list.total <= 512 && list.transfers.count <= TransferList.limit)
        #expect(list.transfers.first?.path == "9999")
        let ids = (0..<2000).map { registry.begin(folder: Self.folder, path: "\($0)", bytesTotal: 1) }
        let full = registry.list { _ in nil }
        #expect(full.transfers.count == TransferList.limit && full.total >= 2000)
        #expect(full.transfers.first?.direction == .incoming)
        ids.forEach(registry.end)
    }
}
