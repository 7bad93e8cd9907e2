import BlockExchange
import Cryptography
import NIOCore
import SyncTestKit
import Synchronization
import Testing

@testable import AsyncTools
@testable import Fetching
@testable import PeerLinks
@testable import SyncDecisions

@Suite struct PartialBlockTests {
    /// Slices in any order, overlapping, beyond the end: the block is what a plain array says, and so is what is missing.
    @Test(arguments: 0..<50) func aBlockIsWhatItsSlicesMakeOfIt(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let count = Int.random(in: 1...300, using: &random)
        let content = (0..<count).map { _ in UInt8.random(in: 1...255, using: &random) }
        var block = PartialBlock(byteCount: count)
        var model = [UInt8](repeating: 0, count: count)
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            let offset = Int.random(in: 0..<count, using: &random)
            let bytes = content[offset...].prefix(Int.random(in: 0...80, using: &random)) + [7, 7]
            block.put(ByteBuffer(bytes: offset + bytes.count > count ? bytes : bytes.dropLast(2)), at: offset)
            let end = min(count, offset + (offset + bytes.count > count ? bytes.count : bytes.count - 2))
            for index in offset..<max(offset, end) where index < offset + bytes.count - 2 {
                model[index] = content[index]
            }
        }
        let missing = Set(block.missing.flatMap { Array($0) })
        for index in 0..<count where !missing.contains(index) {
            #expect(block.bytes.readableBytesView[index] != 0)
        }
        for index in 0..<count where model[index] != 0 {
            #expect(!missing.contains(index))
            #expect(block.bytes.readableBytesView[index] == content[index])
        }
        #expect(block.missingByteCount == missing.count)
    }

    @Test func theOldestIsForgottenWhenThereIsTooMuch() {
        let store = PartialBlocks(limit: 30)
        let keys = (0..<4).map { PartialBlocks.Key(folder: FolderID("f"), hash: SHA256.digest([UInt8($0)])) }
        for key in keys {
            var block = store.take(key, byteCount: 10)
            block.put(ByteBuffer(bytes: [1, 2, 3]), at: 0)
            store.keep(block, as: key)
        }
        #expect(keys.map { store.take($0, byteCount: 10).missingByteCount } == [10, 7, 7, 7])
        // Taken is gone, and one of another length is another block.
        #expect(store.take(keys[1], byteCount: 10).missingByteCount == 10)
    }
}

@Suite struct SliceWindowTests {
    @Test func aSliceIsAFifthOfASecondWithinBounds() {
        for (rate, slice) in [
            (1_000, 4 << 10), (30_000, 4 << 10), (50_000, 8 << 10), (100_000, 16 << 10), (200_000, 24 << 10),
            (9_000_000, 24 << 10),
        ] {
            var window = SliceWindow()
            var now = MonotonicTime.zero
            var underWay: [Int] = []
            // Two seconds and more: the link carries one slice after the other, and two come at a time.
            while now < .seconds(20) {
                while let taken = window.take(atMost: 1 << 20, at: now) { underWay.append(taken) }
                let burst = underWay.prefix(2)
                underWay.removeFirst(burst.count)
                now += .seconds(1) * burst.reduce(0, +) / rate
                for slice in burst { window.arrived(slice, at: now) }
            }
            #expect(window.sliceByteCount == slice, "at \(rate) bytes a second")
        }
    }

    /// Links that are lost after 300 KB, however soon that is: the first of them is known before it goes, and from then on
    /// slices are as large as they may be.
    @Test(arguments: [200_000, 800_000, 3_000_000]) func aLinkNeedNotLastToBeKnown(rate: Int) {
        var remembered: Double?
        var slices = 0
        for link in 0..<4 {
            var window = SliceWindow(rate: remembered)
            var now = MonotonicTime.seconds(link * 10)
            var underWay: [Int] = []
            var left = 300_000
            while left > 0 {
                while let taken = window.take(atMost: 1 << 20, at: now) { underWay.append(taken) }
                let slice = underWay.removeFirst()
                now += .seconds(1) * slice / rate
                window.arrived(slice, at: now)
                left -= slice
                slices += 1
            }
            remembered = window.rate
            #expect(abs((remembered ?? 0) - Double(rate)) < Double(rate) / 100)
        }
        #expect(slices <= 70, "\(slices) slices, of 49 that are needed and 147 of 8 KiB")
    }

    /// What an earlier link was is forgotten with the first half second of one that is slower.
    @Test func aRememberedRateIsReplacedNotSmoothed() {
        var window = SliceWindow(rate: 500_000)
        #expect(window.sliceByteCount == 24 << 10)
        let slice = window.take(atMost: 1 << 20, at: .zero)
        window.arrived(slice ?? 0, at: .seconds(2))
        #expect(window.rate == Double(24 << 10) / 2)
        #expect(window.sliceByteCount == 4 << 10)
    }

    @Test func twoSlicesAreUnderWayAndAtLeastOne() {
        var window = SliceWindow()
        var underWay: [Int] = []
        while let slice = window.take(atMost: 1 << 20, at: .zero) { underWay.append(slice) }
        #expect(underWay == [8 << 10, 8 << 10])
        for slice in underWay { window.giveBack(slice) }
        let small = window.take(atMost: 5, at: .zero)
        #expect(small == 5)
    }
}

@Suite struct SlicedRequestTests {
    /// A peer with one block, which it gives in parts; what it was asked for; and whether its link still holds.
    private final class Peer: Sendable {
        let content: [UInt8]
        private let state: Mutex<(ranges: [Range<Int>], answersLeft: Int)>

        init(byteCount: Int, answers: Int = .max) {
            var random = SeededGenerator(seed: 1)
            content = (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &random) }
            state = Mutex(([], answers))
        }

        var ranges: [Range<Int>] { state.withLock { $0.ranges } }

        var request: BlockRequest {
            BlockRequest(
                folder: FolderID("f"), name: "n", offset: 0, size: Int32(content.count),
                hash: SHA256.digest(content), weakHash: 9)
        }

        func mend() { state.withLock { $0 = ([], .max) } }

        func answer(_ request: BlockRequest) throws -> ByteBuffer {
            #expect(request.hash == nil && request.weakHash == 0)
            let range = Int(request.offset)..<Int(request.offset) + Int(request.size)
            let holds = state.withLock { state in
                guard state.answersLeft > 0 else { return false }
                state.answersLeft -= 1
                state.ranges.append(range)
                return true
            }
            guard holds else { throw RequestError.linkLost }
            return ByteBuffer(bytes: content[range])
        }
    }

    private func sliced(_ peer: Peer, _ partials: PartialBlocks, _ turns: RequestTurns<SliceWindow>? = nil)
        -> SlicedRequest
    {
        SlicedRequest(turns: turns ?? RequestTurns(SliceWindow()) { .zero }, partials: partials, isBulk: true) {
            try peer.answer($0)
        }
    }

    @Test func aBlockComesInSlicesEachOnce() async throws {
        let peer = Peer(byteCount: 200_000)
        let bytes = try await sliced(peer, PartialBlocks()).run(peer.request)
        #expect(Array(bytes.readableBytesView) == peer.content)
        #expect(peer.ranges.reduce(0) { $0 + $1.count } == 200_000)
        #expect(peer.ranges.allSatisfy { $0.count <= SliceWindow.largestSlice })
    }

    @Test(arguments: [1, 3, 7, 12]) func whatCameBeforeTheLinkWentIsNotAskedForAgain(answers: Int) async throws {
        let peer = Peer(byteCount: 200_000, answers: answers)
        let partials = PartialBlocks()
        await #expect(throws: RequestError.linkLost) { try await sliced(peer, partials).run(peer.request) }
        let before = peer.ranges
        peer.mend()
        let bytes = try await sliced(peer, partials).run(peer.request)
        #expect(Array(bytes.readableBytesView) == peer.content)
        #expect((before + peer.ranges).reduce(0) { $0 + $1.count } == 200_000)
    }

    @Test func whatCameForOneFolderIsAskedForAgainForAnother() async throws {
        let peer = Peer(byteCount: 200_000, answers: 7)
        let partials = PartialBlocks()
        await #expect(throws: RequestError.linkLost) { try await sliced(peer, partials).run(peer.request) }
        peer.mend()
        var request = peer.request
        request.folder = FolderID("other")
        let bytes = try await sliced(peer, partials).run(request)
        #expect(Array(bytes.readableBytesView) == peer.content)
        #expect(peer.ranges.reduce(0) { $0 + $1.count } == 200_000)
    }

    @Test func whatCameOfASliceIsNotAskedForAgain() async throws {
        let peer = Peer(byteCount: 100_000)
        let partials = PartialBlocks()
        let request = SlicedRequest(turns: RequestTurns(SliceWindow()) { .zero }, partials: partials, isBulk: false) {
            slice in
            let bytes = try peer.answer(slice)
            guard slice.offset > 0 else { return bytes }
            throw RequestError.cutShort(bytes.getSlice(at: bytes.readerIndex, length: 1000) ?? ByteBuffer())
        }
        await #expect(throws: RequestError.linkLost) { try await request.run(peer.request) }
        let cut = peer.ranges.filter { $0.lowerBound > 0 }
        let whole = peer.ranges.filter { $0.lowerBound == 0 }.reduce(0) { $0 + $1.count }
        peer.mend()
        let bytes = try await sliced(peer, partials).run(peer.request)
        #expect(Array(bytes.readableBytesView) == peer.content)
        #expect(!cut.isEmpty)
        #expect(peer.ranges.reduce(0) { $0 + $1.count } == 100_000 - whole - 1000 * cut.count)
    }

    @Test func aLinkThatIsGoneIsNoCancellation() async throws {
        let turns = RequestTurns(SliceWindow()) { .zero }
        turns.close()
        let peer = Peer(byteCount: 100_000)
        await #expect(throws: RequestError.linkLost) {
            try await sliced(peer, PartialBlocks(), turns).run(peer.request)
        }
    }

    private final class Order: Sendable {
        private let state = Mutex<[String]>([])
        var names: [String] { state.withLock { $0 } }
        func append(_ name: String) { state.withLock { $0.append(name) } }
    }

    /// With room for one slice at a time, the urgent goes first, and blocks in the order in which they were begun,
    /// whenever their slices came to wait.
    @Test func theUrgentGoesFirstAndThenWhatWasBegunFirst() async throws {
        let turns = RequestTurns(SliceWindow()) { .zero }
        let order = Order()
        let (isUnderWay, isQueued, isDone) = (Signal(), Signal(), Signal())
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask {
                let ticket = turns.ticket(isBulk: true)
                try await turns.withTurn(atMost: 16 << 10, ticket) { _ in
                    try await turns.withTurn(atMost: 16 << 10, ticket) { _ in
                        isUnderWay.notify()
                        await isQueued.wait()
                    }
                    await isDone.wait()
                }
            }
            await isUnderWay.wait()
            let tickets = [true, true, false].map { turns.ticket(isBulk: $0) }
            for (count, (index, name)) in [(1, "second"), (0, "first"), (2, "urgent")].enumerated() {
                group.addTask {
                    try await turns.withTurn(atMost: 16 << 10, tickets[index]) { _ in order.append(name) }
                    if order.names.count == 3 { isDone.notify() }
                }
                try await yields { turns.waitingCount > count }
            }
            isQueued.notify()
        }
        #expect(order.names == ["urgent", "first", "second"])
    }
}
