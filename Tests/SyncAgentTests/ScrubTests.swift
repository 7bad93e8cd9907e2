import AgentConfiguration
import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import FolderScanner
import Foundation
import IndexStore
import SessionTestKit
import SyncTestKit
import Synchronization
import Testing

@testable import Fetching
@testable import FolderSync
@testable import SyncAgent

/// Damage of files on a real disk: found, told from edits, announced to nobody.
struct ScrubTests {
    private static let id = FolderID("docs")
    private static let nas = DeviceID(certificateDER: [1])
    private static let localDevice = DeviceID(certificateDER: [9])
    private static let blockSize = 128 << 10

    private final class Scene {
        let tree: TemporaryTree
        let home: TemporaryDirectory
        let index: IndexStore
        let folder: FolderSync.Folder

        /// - Parameter failing: blocks that the disk cannot read, by their offsets.
        init(
            _ files: [String: [UInt8]], failing: Set<Int64> = [], clock: any Clock<Duration> = ContinuousClock()
        ) async throws {
            tree = try TemporaryTree()
            home = try TemporaryDirectory()
            try tree.makeDirectory(".stfolder")
            for (name, bytes) in files { try tree.write(bytes, to: name) }
            index = try IndexStore.open(path: home.path + "/index.sqlite")
            try await index.addFolder(id, newIndexID: IndexID(rawValue: 1))
            folder = FolderSync.Folder(
                idle: FolderConfiguration(id: id, path: tree.root.path, mode: .full, devices: [nas]), of: localDevice,
                index: index
            ) { tools in
                tools.fetching.firstHolderPatience = .zero
                tools.time.clock = clock
                // A second passes with each look at the clock, so that all progress is told.
                let seconds = Mutex(0)
                tools.time.monotonic = {
                    .seconds(
                        seconds.withLock { seconds in
                            seconds += 1
                            return seconds
                        })
                }
                // Everything was written long ago: a change would show.
                tools.diskTime = { FileTime(seconds: 4_000_000_000) }
                tools.readBlock = { (file, buffer, offset) throws(FileAccessError) in
                    if failing.contains(offset) { throw FileAccessError(.io, .read, path: file.path) }
                    return try file.read(into: buffer, at: offset)
                }
            }
            try await scan()
        }

        func scan() async throws { _ = try await folder.runner.perform(ScanStep(isRequested: true)) }

        /// Changes a byte as a disk does: the index is told of the time of change that this leaves.
        func decay(_ name: String, at offset: Int) async throws {
            let path = try RelativePath(parsing: name)
            let before = try #require(try tree.root.status(of: path))
            let file = try #require(FileHandle(forUpdatingAtPath: tree.path(name)))
            try file.seek(toOffset: UInt64(offset))
            let byte = try #require(try file.read(upToCount: 1)?.first)
            try file.seek(toOffset: UInt64(offset))
            try file.write(contentsOf: [byte ^ 0x40])
            try file.close()
            try tree.root.setModificationTime(before.modified, of: path)
            try await settle(name)
        }

        /// Has the index take the file's time of change for the one that it saw.
        func settle(_ name: String) async throws {
            let status = try #require(try tree.root.status(of: RelativePath(parsing: name)))
            _ = try await index.applyLocal(in: id, [.note(name, IndexedStatus(status))], isIgnored: { _ in false })
        }

        func scrub(_ path: String = "", isRepairing: Bool = false) async throws -> [ScrubEvent] {
            let events = Mutex<[ScrubEvent]>([])
            try await folder.runner.scrub(below: path, isRepairing: isRepairing) { event in
                events.withLock { if event.type != "progress" { $0.append(event) } }
            }
            return events.withLock { $0 }
        }

        func local(_ name: String) async throws -> LocalEntry { try #require(try await index.local(id, name)) }

        func status() async -> FolderStatus { await FolderStatusReading(folder: folder, index: index).status() }

        func ask(_ name: String, block: Int) async throws -> ResponseCode {
            let block = try await local(name).file.blocks[block]
            let request = BlockRequest(
                folder: id, name: name, offset: block.offset, size: block.size, hash: block.hash)
            return await folder.server.serve([request]).first?.code ?? .generic
        }
    }

    private static func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
    }

    @Test func damageIsFoundAndAnnouncedToNobody() async throws {
        let scene = try await Scene(["d/film": Self.bytes(3 * Self.blockSize), "note": [1, 2, 3], "empty": []])
        #expect(try await scene.scrub().map(\.type) == ["plan", "done"])
        #expect(try await scene.ask("d/film", block: 1) == .ok)
        let announced = try await scene.local("d/film").file
        try await scene.decay("d/film", at: Self.blockSize + 5)

        let events = try await scene.scrub()
        try #require(events.map(\.type) == ["plan", "damaged", "done"])
        #expect(events[1].path == "d/film" && events[1].wrongBlocks == 1 && events[1].blocks == 3)
        #expect(events[1].holders == [])
        #expect(events[2].files == 3 && events[2].damaged == 1 && events[2].changed == 0)
        #expect(await scene.status().problems.map(\.path) == ["d/film"])
        #expect(await scene.status().errors == 1)

        // Bytes that are not what they are announced as go to nobody; good ones do.
        #expect(try await scene.ask("d/film", block: 1) == .noSuchFile)
        #expect(try await scene.ask("d/film", block: 0) == .ok)

        // A second name changes the time of change, and has the next scan read the file.
        try FileManager.default.linkItem(atPath: scene.tree.path("d/film"), toPath: scene.tree.outside("film"))
        try await scene.scan()
        #expect(try await scene.local("d/film").file == announced, "no new version")
        #expect(await scene.status().problems.map(\.path) == ["d/film"])

        // An edit is a new version and no damage.
        try scene.tree.write(Self.bytes(10), to: "d/film")
        try await scene.scan()
        #expect(try await scene.local("d/film").file.version != announced.version)
        #expect(await scene.status().problems == [])
        #expect(try await scene.scrub().map(\.type) == ["plan", "done"])
        #expect(await scene.status().scrub?.damaged == 0)
    }

    @Test func aDamagedFileIsNotPresent() async throws {
        let scene = try await Scene(["d/film": Self.bytes(3 * Self.blockSize), "d/note": [1, 2, 3]])
        func entry(_ path: String) async throws -> Entry {
            let tools = scene.folder.runner.tools
            return try await EntryReader(
                folder: scene.folder, index: scene.index, place: try scene.folder.boards.places.current.get(),
                fetching: tools.fetching, transfers: tools.transfers
            ).stat(path)
        }
        for path in ["d/film", "d"] { #expect(try await entry(path).state == .present) }
        try await scene.decay("d/film", at: 5)
        _ = try await scene.scrub()
        let film = try await entry("d/film")
        #expect(film.state == .partial && film.waitsFor == .other && film.waiting?.contains("--repair") == true)
        #expect(film.presentBytes == Int64(2 * Self.blockSize) && film.selectedBytes == Int64(3 * Self.blockSize))
        for path in ["d", ""] {
            let directory = try await entry(path)
            #expect(directory.state == .partial && directory.presentFiles == 1 && directory.presentBytes == 3)
        }
        try await scene.decay("d/note", at: 1)
        _ = try await scene.scrub()
        for path in ["d/note", "d"] { #expect(try await entry(path).state == .queued) }
    }

    @Test(arguments: [("d/film", "d/other", "d/other"), ("d", "e", "e/film")])
    func aDamagedFileThatIsRenamedKeepsTheContentItShouldHave(from: String, to: String, now: String) async throws {
        let scene = try await Scene(["d/film": Self.bytes(3 * Self.blockSize), "note": [1, 2, 3]])
        let announced = try await scene.local("d/film").file
        try await scene.decay("d/film", at: Self.blockSize + 5)
        _ = try await scene.scrub()
        try FileManager.default.moveItem(atPath: scene.tree.path(from), toPath: scene.tree.path(to))
        try await scene.scan()

        #expect(try await scene.local("d/film").file.isDeleted)
        let renamed = try await scene.local(now).file
        #expect(renamed.blocksHash == announced.blocksHash && renamed.blocks == announced.blocks)
        #expect(await scene.status().problems.map(\.path) == [now])
        #expect(try await scene.ask(now, block: 1) == .noSuchFile)
        #expect(try await scene.ask(now, block: 0) == .ok)
        #expect(try await scene.index.damagedFiles(in: Self.id).current.map(\.name) == [now])
        // The next scans change nothing, and another scrub finds the same.
        try await scene.scan()
        #expect(try await scene.local(now).file == renamed)
        #expect(try await scene.scrub().filter { $0.type == "damaged" }.map(\.path) == [now])
    }

    @Test func aSecondNameOfADamagedFileIsDamagedToo() async throws {
        let scene = try await Scene(["film": Self.bytes(2 * Self.blockSize)])
        let announced = try await scene.local("film").file
        try await scene.decay("film", at: 5)
        _ = try await scene.scrub()
        try FileManager.default.linkItem(atPath: scene.tree.path("film"), toPath: scene.tree.path("again"))
        try await scene.scan()
        #expect(try await scene.local("again").file.blocksHash == announced.blocksHash)
        #expect(await scene.status().problems.map(\.path) == ["again", "film"])
    }

    @Test func aDamagedFileThatWasEditedAndRenamedIsANewFile() async throws {
        let scene = try await Scene(["film": [1, 2, 3]])
        let announced = try await scene.local("film").file
        try await scene.decay("film", at: 0)
        _ = try await scene.scrub()
        try scene.tree.write([7, 7, 7], to: "film")
        try FileManager.default.moveItem(atPath: scene.tree.path("film"), toPath: scene.tree.path("other"))
        try await scene.scan()
        #expect(try await scene.local("other").file.blocksHash != announced.blocksHash)
        #expect(await scene.status().problems == [])
    }

    @Test func anUnreadableFileThatIsRenamedIsNotDeleted() async throws {
        let scene = try await Scene(["film": Self.bytes(4 * Self.blockSize)], failing: [Int64(Self.blockSize)])
        let announced = try await scene.local("film").file
        _ = try await scene.scrub()
        try FileManager.default.moveItem(atPath: scene.tree.path("film"), toPath: scene.tree.path("other"))
        // What a scan finds where the disk does not read the file.
        let cause = FileAccessError(.io, .read, path: "other")
        var changes = ScannedChanges(
            folder: try scene.folder.runner.reading(), placed: [:], isPlacedDurable: true, isWhole: false, followed: [])
        var work = FolderWork()
        try await changes.take([.problem(FileProblem(.unreadable, name: "other", cause: cause))], &work)
        #expect(try await changes.finish(mayWait: false, judged: nil, &work) == .proceed)
        let renamed = try await scene.local("other").file
        #expect(renamed.blocks == announced.blocks && !renamed.isDeleted)
        #expect(changes.arrived.map(\.path) == ["other"])
        #expect(scene.folder.boards.scrub.damaged("other")?.expected == announced.blocksHash)
    }

    @Test func aDamagedFileIsNotPromised() async throws {
        let scene = try await Scene(["a": [1, 2, 3], "b": [4]])
        scene.folder.boards.status.set(hasScanned: true)
        try await scene.decay("a", at: 1)
        _ = try await scene.scrub()
        var entries: [KeepRequest.Entry] = []
        for name in ["a", "b"] {
            let facts = try #require(try await scene.index.facts(in: Self.id, names: [name]).first?.local)
            entries.append(
                KeepRequest.Entry(name: name, content: try #require(KeepContent(facts.file))))
        }
        let answer = await scene.folder.keeping.answer(
            KeepRequest(folder: Self.id, kind: .ask, entries: entries), from: Self.nas)
        #expect(answer.isAccepted && answer.granted == [1])
    }

    @Test func whatTheDiskCannotReadIsDamaged() async throws {
        let scene = try await Scene(
            ["film": Self.bytes(4 * Self.blockSize), "note": [1]],
            failing: [Int64(Self.blockSize), Int64(2 * Self.blockSize)])
        let events = try await scene.scrub()
        try #require(events.map(\.type) == ["plan", "damaged", "done"])
        #expect(events[1].wrongBlocks == 2 && events[1].blocks == 4)
        #expect(events[2].files == 2)
    }

    @Test func whatWasEditedIsScanned() async throws {
        let scene = try await Scene(["a": [1, 2, 3], "b": [4, 5]])
        while await scene.folder.runner.performDue() {}
        let version = try await scene.local("a").file.version
        try scene.tree.write([9, 9, 9], to: "a")
        try scene.tree.remove("b")
        let events = try await scene.scrub()
        try #require(events.map(\.type) == ["plan", "done"])
        #expect(events[1].changed == 2 && events[1].damaged == 0)
        #expect(events[1].files == 0 && events[1].bytes == 0, "of neither the bytes are known")
        #expect(await scene.status().scrub?.files == 0)
        #expect(try await scene.local("a").file.version == version)
        #expect(await scene.folder.runner.performDue())
        #expect(try await scene.local("a").file.version != version)
    }

    @Test func whatSomebodyHasOpenForWritingIsNoDamage() async throws {
        let scene = try await Scene(["a": [1, 2, 3]])
        try await scene.decay("a", at: 0)
        let writer = try #require(FileHandle(forUpdatingAtPath: scene.tree.path("a")))
        let events = try await scene.scrub()
        try #require(events.map(\.type) == ["plan", "done"])
        #expect(events[1].changed == 1)
        try writer.close()
        #expect(try await scene.scrub().map(\.type) == ["plan", "damaged", "done"])
    }

    @Test func aScrubThatIsEndedGoesOn() async throws {
        let count = 2 * ScrubRun.filesPerNote + 10
        let files = (0..<count).map { (String(format: "d/%04d", $0), [UInt8(1)]) }
        let scene = try await Scene(Dictionary(uniqueKeysWithValues: files))
        struct Enough: Error {}
        let checked = Mutex(0)
        await #expect(throws: Enough.self) {
            try await scene.folder.runner.scrub(below: "", isRepairing: false) { event in
                guard event.type == "progress" else { return }
                let number = checked.withLock { checked in
                    checked += 1
                    return checked
                }
                if number == ScrubRun.filesPerNote + 50 { throw Enough() }
            }
        }
        try await scene.decay("d/0003", at: 0)
        let events = try await scene.scrub()
        #expect(events.map(\.type) == ["plan", "done"], "what was checked is not checked again")
        #expect(events[0].filesDone == Int64(ScrubRun.filesPerNote) && events[1].files == Int64(count))
        // It has ended: the next one begins from the start.
        #expect(try await scene.scrub().map(\.type) == ["plan", "damaged", "done"])
    }

    @Test func aPartIsScrubbedByItself() async throws {
        let scene = try await Scene(["a/x": [1], "a/y": [2], "b": [3, 3]])
        try await scene.decay("b", at: 0)
        var events = try await scene.scrub("a")
        try #require(events.map(\.type) == ["plan", "done"])
        #expect(events[0].files == 2 && events[1].files == 2)
        events = try await scene.scrub("b")
        try #require(events.map(\.type) == ["plan", "damaged", "done"])
        #expect(events[0].bytes == 2)
        #expect(await scene.status().scrub?.ended == nil, "the folder was not scrubbed as a whole")
        await #expect(throws: FolderError.notOnDisk("c")) { try await scene.scrub("c") }
    }

    @Test func twoDoNotScrubAFolderAtOnce() async throws {
        let scene = try await Scene(["a": [1]])
        #expect(scene.folder.boards.scrub.beginWanting())
        await #expect(throws: FolderError.scrubbing) { try await scene.scrub() }
        scene.folder.boards.scrub.endWanting()
        #expect(try await scene.scrub().count == 2)
    }

    /// A check that runs by itself.
    private static func scheduled(_ scene: Scene) throws -> ScrubRun {
        let runner = scene.folder.runner
        return ScrubRun(
            folder: try runner.reading(), path: "", isScheduled: true, heed: { try await runner.perform($0) })
    }

    @Test func whatRunsByItselfMakesWayForAPerson() async throws {
        let scene = try await Scene(["a": [1], "b": [2]])
        #expect(try await Self.scheduled(scene).run { _ in }.tally.files == 2)
        #expect(scene.folder.boards.scrub.beginWanting())
        await #expect(throws: ScrubRun.MadeWay.self) { try await Self.scheduled(scene).run { _ in } }
        scene.folder.boards.scrub.endWanting()
        #expect(try await Self.scheduled(scene).run { _ in }.tally.files == 2)
    }

    @Test func whatRunsByItselfWaitsForTransfers() async throws {
        let clock = ManualClock()
        let scene = try await Scene(["a": [1], "b": [2]], clock: clock)
        let transfers = scene.folder.runner.tools.transfers
        let transfer = transfers.begin(folder: Self.id, path: "x", bytesTotal: 1)
        async let outcome = try Self.scheduled(scene).run { _ in }
        for _ in 0..<2 { await clock.advance(whenAsleep: 1) }
        while !Task.isCancelled, clock.sleeperCount < 1 { await Task.yield() }
        #expect(scene.folder.boards.scrub.running?.files == 0, "it waits")
        transfers.end(transfer)
        clock.advance(by: .seconds(5))
        #expect(try await outcome.tally.files == 2)
    }

    @Test func aRepairThatCannotBeDoneChangesNothing() async throws {
        let scene = try await Scene(["a": [1, 2, 3]])
        try await scene.decay("a", at: 1)
        let events = try await scene.scrub("a", isRepairing: true)
        try #require(events.map(\.type) == ["plan", "damaged", "failed", "done"])
        #expect(events[2].error?.code == .noHolder && events[3].damaged == 1 && events[3].repaired == 0)
        #expect(try Data(contentsOf: URL(filePath: scene.tree.path("a"))) == Data([1, 2 ^ 0x40, 3]))
        #expect(await scene.status().problems.map(\.path) == ["a"])
    }
}
