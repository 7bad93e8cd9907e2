import BlockExchange
import Cryptography
import FileAccess
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing
import Transport

@testable import AgentContext
@testable import AsyncTools
@testable import Fetching
@testable import FolderSync
@testable import SyncDecisions

@Suite struct SmallFileFetchTests {
    /// Answers with what it is said to hold, whatever the request's hash; or never, and then the clock runs out.
    private final class Source: BlockSource {
        let contents: [String: [UInt8]]
        /// What it never answers; nil for everything.
        let silence: Set<String>?
        let clock: ImpatientClock
        private let names = Mutex<[String]>([])
        var asked: [String] { names.withLock { $0 } }

        init(
            contents: [String: [UInt8]], silence: Set<String>? = [], clock: ImpatientClock = ImpatientClock()
        ) {
            self.contents = contents
            self.silence = silence
            self.clock = clock
        }

        let isOpen = true
        let kind = LinkKind.tcp
        let route = LinkRoute.internet

        func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
            names.withLock { $0.append(request.name) }
            if silence?.contains(request.name) ?? true {
                clock.hand.begin()
                defer { clock.hand.end() }
                await Signal().wait()
                throw CancellationError()
            }
            guard let bytes = contents[request.name] else { throw RequestError.refused(.noSuchFile) }
            return ByteBuffer(bytes: bytes)
        }
    }

    /// Its time stands still, but passes at once for who waits while somebody is silent.
    private struct ImpatientClock: Clock {
        struct Instant: InstantProtocol {
            var offset: Swift.Duration

            func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }
            func duration(to other: Instant) -> Swift.Duration { other.offset - offset }
            static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
        }

        final class Hand: Sendable {
            private struct State {
                var now = Swift.Duration.zero
                var silentCount = 0
                var sleepers: [ObjectIdentifier: Signal] = [:]
            }

            private let state = Mutex(State())
            var now: Swift.Duration { state.withLock { $0.now } }

            func begin() {
                let sleepers = state.withLock { state in
                    state.silentCount += 1
                    return state.sleepers.values.map(\.self)
                }
                for sleeper in sleepers { sleeper.notify() }
            }

            func end() { state.withLock { $0.silentCount -= 1 } }

            func sleep(until instant: Swift.Duration) async throws {
                let woken = Signal()
                state.withLock { state in
                    state.sleepers[ObjectIdentifier(woken)] = woken
                    if state.silentCount > 0 { woken.notify() }
                }
                await woken.wait()
                state.withLock { state in
                    state.sleepers[ObjectIdentifier(woken)] = nil
                    if !Task.isCancelled { state.now = max(state.now, instant) }
                }
                try Task.checkCancellation()
            }
        }

        let hand = Hand()
        var now: Instant { Instant(offset: hand.now) }
        var minimumResolution: Swift.Duration { .zero }

        func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
            try await hand.sleep(until: deadline.offset)
        }

        var time: AgentTime {
            AgentTime(clock: self, monotonic: { hand.now }, wall: { WallTime(seconds: 0) }, random: { 0.5 })
        }
    }

    private static let folder = FolderID("f")
    private static let (alice, bob) = (
        DeviceID(digest: SHA256.digest([1])), DeviceID(digest: SHA256.digest([2]))
    )

    private func item(_ name: String, _ text: String, holders: [DeviceID] = [alice]) throws -> SmallFileFetch.Item {
        let bytes = Array(text.utf8)
        let block = BlockInfo(offset: 0, size: Int32(bytes.count), hash: SHA256.digest(bytes))
        return SmallFileFetch.Item(
            file: FileInfo(name: name, size: Int64(bytes.count), blocks: [block]),
            path: try RelativePath(parsing: name),
            holders: holders)
    }

    /// What `items` are staged as; nil for those left over.
    private func fetch(
        _ items: [SmallFileFetch.Item], from sources: [DeviceID: Source], here: Set<SHA256Digest> = [],
        freeSpaceFloor: UInt64 = 0, existing: [String: String] = [:], time: AgentTime = .system, isInOrder: Bool = false
    ) async throws -> [String?] {
        let directory = FileManager.default.temporaryDirectory.appending(path: "small-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let root = try RootDirectory(creating: directory)
        for (name, text) in existing {
            let path = try RelativePath(parsing: name)
            if let parent = path.parent { try root.createDirectories(parent) }
            try root.stage(path).write(Array(text.utf8), at: 0)
        }
        let environment = FetchEnvironment(
            sessions: { ids in sources.filter { ids.contains($0.key) } }, linksChanged: { AsyncStream { _ in } },
            dialNow: { _ in }, localBlock: { _, _ in nil }, blocksHere: { hashes, _ in here.intersection(hashes) },
            budget: SharedFetchBudget(limit: 1 << 20), threads: NIOThreadPool.singleton, time: time,
            settings: BlockScheduler.Settings())
        let fetch = SmallFileFetch(
            folder: Self.folder, root: root, environment: environment, freeSpaceFloor: freeSpaceFloor,
            isInOrder: isInOrder)
        return try await fetch.run(items).map { staged in
            guard let staged else { return nil }
            return String(decoding: try staged.read(count: 1 << 20, at: 0), as: UTF8.self)
        }
    }

    @Test func `files come whole from whoever has them, in any directory`() async throws {
        let zeros = String(repeating: "\0", count: 5000)
        let items = [
            try item("a", "one"), try item("d/e/b", "two", holders: [Self.alice, Self.bob]), try item("d/c", ""),
            try item("d/d", "four", holders: [Self.bob]), try item("d/z", zeros),
        ]
        let contents = ["a": "one", "d/e/b": "two", "d/d": "four", "d/z": zeros].mapValues { Array($0.utf8) }
        let source = Source(contents: contents)
        let staged = try await fetch(items, from: [Self.alice: source, Self.bob: source])
        #expect(staged == ["one", "two", "", "four", zeros])
    }

    @Test func `files are asked for in their order, all at once or not, of one device or of two`() async throws {
        let names = (0..<64).map { "f\($0)" }
        let contents = Dictionary(uniqueKeysWithValues: names.map { ($0, Array($0.utf8)) })
        for holders in [[Self.alice], [Self.alice, Self.bob]] {
            for isInOrder in [false, true] {
                let source = Source(contents: contents)
                let staged = try await fetch(
                    try names.map { try item($0, $0, holders: holders) },
                    from: Dictionary(uniqueKeysWithValues: holders.map { ($0, source) }), isInOrder: isInOrder)
                #expect(staged == names)
                #expect(source.asked == names)
            }
        }
    }

    @Test func `what an earlier try left is not in the file`() async throws {
        let source = Source(contents: ["d/a": Array("one".utf8)])
        let items = [try item("d/a", "one"), try item("d/b", "")]
        let staged = try await fetch(
            items, from: [Self.alice: source], existing: ["d/a": "longer than it", "d/b": "left"])
        #expect(staged == ["one", ""])
    }

    @Test func `wrong, short, refused and unreachable files are left over, and those that are here`() async throws {
        let here = try item("here", "here")
        let items = [
            try item("right", "right"), try item("wrong", "wrong"), try item("short", "short"), try item("no", "no"),
            try item("far", "far", holders: [Self.bob]), try item("nobody", "nobody", holders: []), here,
        ]
        let contents = ["right": "right", "wrong": "gnorw", "short": "shor", "far": "far", "here": "here"]
        let staged = try await fetch(
            items, from: [Self.alice: Source(contents: contents.mapValues { Array($0.utf8) })],
            here: Set(here.file.blocks.map(\.hash)))
        #expect(staged == ["right", nil, nil, nil, nil, nil, nil])
    }

    @Test func `nothing is written to a disk that is to stay free`() async throws {
        let source = Source(contents: ["a": Array("one".utf8)])
        let staged = try await fetch([try item("a", "one")], from: [Self.alice: source], freeSpaceFloor: .max)
        #expect(staged == [nil])
    }

    @Test func `a holder that says nothing is asked once, and the others have the rest`() async throws {
        let names = (0..<6).map { "f\($0)" }
        let clock = ImpatientClock()
        let contents = Dictionary(uniqueKeysWithValues: names.map { ($0, Array($0.utf8)) })
        let silent = Source(contents: contents, silence: nil, clock: clock)
        let good = Source(contents: contents)
        let staged = try await fetch(
            try names.map { try item($0, $0, holders: [Self.alice, Self.bob]) },
            from: [Self.alice: silent, Self.bob: good], time: clock.time, isInOrder: true)
        #expect(staged == names)
        #expect(silent.asked == ["f0"])
        #expect(good.asked == names)
    }

    @Test func `who says nothing among many at once keeps none from coming`() async throws {
        let names = (0..<64).map { "f\($0)" }
        let clock = ImpatientClock()
        let contents = Dictionary(uniqueKeysWithValues: names.map { ($0, Array($0.utf8)) })
        let staged = try await fetch(
            try names.map { try item($0, $0, holders: [Self.alice, Self.bob]) },
            from: [
                Self.alice: Source(contents: contents, silence: nil, clock: clock),
                Self.bob: Source(contents: contents),
            ],
            time: clock.time)
        // While one is silent time flies for all: what came "late" from the good one as well is left over.
        for (name, text) in zip(names, staged) { #expect(text == nil || text == name) }
        #expect(staged.contains { $0 != nil })
    }

    @Test(.timeLimit(.minutes(1))) func `a file is left over when all that have it say nothing any more`() async throws
    {
        let names = ["f0", "f1", "f2"]
        let clock = ImpatientClock()
        let contents = Dictionary(uniqueKeysWithValues: names.map { ($0, Array($0.utf8)) })
        // Alice has answered for what Bob was late with, and then she is late herself.
        let alice = Source(contents: contents, silence: ["f2"], clock: clock)
        let staged = try await fetch(
            try names.map { try item($0, $0, holders: [Self.alice, Self.bob]) },
            from: [Self.alice: alice, Self.bob: Source(contents: contents, silence: nil, clock: clock)],
            time: clock.time,
            isInOrder: true)
        #expect(staged == ["f0", "f1", nil])
        #expect(alice.asked == names)
    }

    @Test func `how long is waited for a holder follows from its answers`() {
        let pace = HolderPace(minimumPatience: .seconds(3))
        #expect(pace.patience(with: Self.alice) == .seconds(3))
        pace.answered(pace.asked(Self.alice), after: .seconds(8))
        #expect(pace.patience(with: Self.alice) == .seconds(32))
        pace.answered(pace.asked(Self.alice), after: .zero)
        #expect(pace.patience(with: Self.alice) == .seconds(28))
        #expect(pace.patience(with: Self.bob) == .seconds(3))
        let (early, late) = (pace.asked(Self.alice), pace.asked(Self.alice))
        pace.setLate(late)
        #expect(pace.isLate(Self.alice) && !pace.isLate(Self.bob))
        pace.answered(early, after: .seconds(1))
        #expect(!pace.isLate(Self.alice))
        // Its answer has come.
        pace.setLate(early)
        #expect(!pace.isLate(Self.alice))
    }
}
