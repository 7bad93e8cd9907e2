import BlockExchange
import FileAccess
import Foundation
import Selection
import SyncTestKit
import Synchronization
import Testing

@testable import FolderScanner

@Suite struct ScanTests {
    let tree: TemporaryTree

    init() throws { tree = try TemporaryTree() }

    private func summaries(_ index: ModelIndex, options: ScanOptions = .plain) async throws -> [String] {
        try await tree.findings(index, options: options).map(\.summary)
    }

    @Test func aNewTreeIsReportedInTheOrderOfNames() async throws {
        try tree.write("1", to: "b/z")
        try tree.write("2", to: "b/a/x")
        try tree.write("3", to: "b-/y")
        try tree.write("4", to: "é")
        try tree.write("5", to: "B")
        try tree.link("l", to: "../outside")
        try tree.write("", to: ".stignore")
        try tree.makeDirectory(".stfolder/x")
        try tree.makeDirectory(".stversions/x")
        try tree.write("", to: "b/.syncthing.z.tmp")
        try tree.write("", to: "b/.stfolder")
        let (findings, report) = try await tree.scan(ModelIndex())
        #expect(
            findings.map(\.summary) == [
                "file B", "directory b", "file b/.stfolder", "temporary b/.syncthing.z.tmp", "directory b/a",
                "file b/a/x", "file b/z", "directory b-",
                "file b-/y", "link l -> ../outside", "file é",
            ])
        var expected = ScanReport()
        expected.directoriesOpened = 4
        expected.entriesSeen = 10
        expected.directoriesSeen = 3
        expected.filesHashed = 6
        expected.bytesHashed = 5
        expected.changed = 10
        expected.temporary = 1
        #expect(report == expected)
    }

    @Test func entriesSayWhatIsOnTheDisk() async throws {
        try tree.write("hello", to: "d/f")
        try tree.setPermissions(0o640, "d/f")
        try tree.setModified(1_700_000_000, "d/f")
        try tree.setPermissions(0o750, "d")
        let entries = try await tree.findings(ModelIndex()).compactMap { finding -> ScannedEntry? in
            if case .changed(let entry) = finding { entry } else { nil }
        }
        #expect(entries.map(\.name) == ["d", "d/f"])
        #expect(entries.map(\.status) == [try tree.status("d"), try tree.status("d/f")])
        #expect(entries[1].status.permissions == 0o640)
        #expect(entries[1].status.modified == FileTime(seconds: 1_700_000_000, nanoseconds: 5))
        #expect(entries[1].isSettled)
        #expect(entries[1].known == nil)
    }

    @Test func whatIsUnchangedIsNotRead() async throws {
        try tree.write("hello", to: "d/f")
        try tree.link("d/l", to: "f")
        let index = try await tree.scanned()
        let (findings, report) = try await tree.scan(index)
        #expect(findings.isEmpty)
        #expect(report.filesHashed == 0)
        #expect(report.entriesSeen == 3)
    }

    // MARK: files

    @Test func otherContentsAreReportedWithWhatWasKnown() async throws {
        try tree.write("hello", to: "f")
        let index = try await tree.scanned()
        try tree.write("hello!", to: "f")
        let findings = try await tree.findings(index)
        #expect(findings.map(\.summary) == ["file f"])
        guard case .changed(let entry) = findings.first else { return }
        #expect(entry.known == index["f"])
        #expect(entry.status.size == 6)
    }

    @Test func contentsChangedUnderTheSameSizeAndTimeAreFound() async throws {
        try tree.write("hello", to: "f")
        try tree.setModified(1_700_000_000, "f")
        let index = try await tree.scanned()
        try tree.write("HELLO", to: "f")
        try tree.setModified(1_700_000_000, "f")
        #expect(try await summaries(index) == ["file f"])
    }

    @Test func anotherFileOfTheSameSizeAndTimeIsRead() async throws {
        try tree.write("hello", to: "f")
        try tree.write("HELLO", to: "g")
        for name in ["f", "g"] { try tree.setModified(1_700_000_000, name) }
        let index = try await tree.scanned()
        try tree.move("g", to: "f")
        #expect(try await summaries(index) == ["file f", "gone g"])
    }

    @Test func aCopyWithTheSameTimesIsRecognised() async throws {
        try tree.write("hello", to: "f")
        try tree.write("hello", to: "g")
        for name in ["f", "g"] { try tree.setModified(1_700_000_000, name) }
        let index = try await tree.scanned()
        try tree.move("g", to: "f")
        let (findings, report) = try await tree.scan(index)
        #expect(findings.map(\.summary) == ["status f", "gone g"])
        #expect(report.filesHashed == 1)
        index.apply(findings)
        #expect(try await summaries(index).isEmpty)
    }

    @Test func aTouchedFileHasOtherMetadata() async throws {
        try tree.write("hello", to: "f")
        let index = try await tree.scanned()
        try tree.setModified(1_700_000_000, "f")
        let (findings, report) = try await tree.scan(index)
        #expect(findings.map(\.summary) == ["metadata f"])
        #expect(report.filesHashed == 1)
        index.apply(findings)
        #expect(index["f"]?.status.modified.seconds == 1_700_000_000)
        #expect(try await summaries(index).isEmpty)
    }

    @Test func permissionsAloneAreNoReasonToRead() async throws {
        try tree.write("hello", to: "d/f")
        let index = try await tree.scanned()
        try tree.setPermissions(0o600, "d/f")
        try tree.setPermissions(0o700, "d")
        let (findings, report) = try await tree.scan(index)
        #expect(findings.map(\.summary) == ["metadata d", "metadata d/f"])
        #expect(report.filesHashed == 0)
        index.apply(findings)
        #expect(try await summaries(index).isEmpty)
    }

    @Test func permissionsCanBeIgnored() async throws {
        try tree.write("hello", to: "d/f")
        let index = try await tree.scanned()
        try tree.setPermissions(0o600, "d/f")
        try tree.setPermissions(0o700, "d")
        var options = ScanOptions.plain
        options.ignoresPermissions = true
        #expect(try await summaries(index, options: options) == ["status d/f"])
    }

    @Test func anEntryToBeRescannedIsReportedWhole() async throws {
        try tree.write("hello", to: "f")
        let index = try await tree.scanned()
        index["f"]?.mustRescan = true
        #expect(try await summaries(index) == ["file f"])
    }

    // MARK: types

    @Test func aLinkIsComparedByItsTarget() async throws {
        try tree.link("l", to: "a")
        let index = try await tree.scanned()
        try tree.remove("l")
        try tree.link("l", to: "a")
        #expect(try await summaries(index) == ["status l"])
        try tree.remove("l")
        try tree.link("l", to: "b")
        #expect(try await summaries(index) == ["link l -> b"])
    }

    @Test func linksAreNotFollowed() async throws {
        try FileManager.default.createDirectory(
            at: tree.url.appending(path: "outside"), withIntermediateDirectories: true)
        try "secret".write(toFile: tree.url.path + "/outside/f", atomically: false, encoding: .utf8)
        try tree.link("l", to: "../outside")
        try tree.link("round", to: ".")
        #expect(try await summaries(ModelIndex()) == ["link l -> ../outside", "link round -> ."])
        #expect(try await tree.findings(ModelIndex(), ["l/f"]).isEmpty)
    }

    @Test func aDirectoryInAFilesPlace() async throws {
        try tree.write("hello", to: "f")
        let index = try await tree.scanned()
        try tree.remove("f")
        try tree.write("inside", to: "f/g")
        #expect(try await summaries(index) == ["directory f", "file f/g"])
    }

    @Test(arguments: ["file", "link"]) func somethingElseInADirectorysPlace(kind: String) async throws {
        try tree.write("1", to: "d/e/f")
        try tree.write("1", to: "d/g")
        let index = try await tree.scanned()
        try tree.move("d", to: "x")
        if kind == "file" { try tree.write("", to: "d") } else { try tree.link("d", to: "x") }
        try tree.remove("x")
        let expected = kind == "file" ? "file d" : "link d -> x"
        #expect(try await summaries(index) == ["gone d/e/f", "gone d/e", "gone d/g", expected])
    }

    // MARK: deletions

    @Test func whatIsGoneIsReportedDeepestFirst() async throws {
        try tree.write("1", to: "a/b/c")
        try tree.write("1", to: "a/b/d/e")
        try tree.write("1", to: "a/z")
        try tree.write("1", to: "k")
        let index = try await tree.scanned()
        try tree.remove("a")
        let (findings, report) = try await tree.scan(index)
        #expect(
            findings.map(\.summary) == ["gone a/b/c", "gone a/b/d/e", "gone a/b/d", "gone a/b", "gone a/z", "gone a"])
        #expect(report.gone == 6)
        index.apply(findings)
        #expect(index.entries.keys.sorted() == ["k"])
    }

    @Test func anUnselectedEntryThatIsGoneIsNoDeletion() async throws {
        try tree.write("1", to: "f")
        let index = try await tree.scanned()
        index["f"]?.isIgnored = true
        try tree.remove("f")
        #expect(try await summaries(index) == ["unkept f absent"])
    }

    @Test func aRootThatIsMovedAwayEndsTheScan() async throws {
        for directory in ["a", "b", "c"] { try tree.write("1", to: "\(directory)/f") }
        let index = try await tree.scanned()
        let tree = tree
        index.beforeChildren { directory in
            guard directory == "b" else { return }
            rename(tree.path(""), tree.url.path + "/elsewhere")
            unlink(tree.url.path + "/elsewhere/b/f")
        }
        let collected = Collected()
        let scanner = FolderScanner(root: tree.root, selection: .everything, known: index, options: .plain)
        let error = await #expect(throws: ScanError.self) { try await scanner.scan { collected.add($0) } }
        #expect(error?.code == .rootNotInPlace)
        #expect(collected.findings.isEmpty)
        await #expect(throws: ScanError.self) { try await scanner.scan { _ in } }
        await #expect(throws: ScanError.self) { try await scanner.extraneous { _ in } }
    }

    @Test func aRemovedRootEndsTheScanBeforeAnythingIsGone() async throws {
        try tree.write("1", to: "a/f")
        let index = try await tree.scanned()
        let tree = tree
        index.beforeChildren { _ in try? FileManager.default.removeItem(atPath: tree.path("")) }
        let collected = Collected()
        let scanner = FolderScanner(root: tree.root, selection: .everything, known: index, options: .plain)
        await #expect(throws: ScanError.self) { try await scanner.scan { collected.add($0) } }
        #expect(collected.findings.isEmpty)
    }

    // MARK: batches and order

    @Test(arguments: [1, 3, 1000]) func batchesAreBounded(limit: Int) async throws {
        for number in 0..<10 { try tree.write("\(number)", to: "f\(number)") }
        var options = ScanOptions.plain
        options.batch.findings = limit
        let collected = Collected()
        let scanner = FolderScanner(root: tree.root, selection: .everything, known: ModelIndex(), options: options)
        _ = try await scanner.scan { collected.add($0) }
        #expect(
            collected.all.map(\.findings.count) == (0..<(10 + limit - 1) / limit).map { min(limit, 10 - $0 * limit) })
        options.batch.findings = 1000
        options.batch.blocks = limit
        let byBlocks = Collected()
        let other = FolderScanner(root: tree.root, selection: .everything, known: ModelIndex(), options: options)
        _ = try await other.scan { byBlocks.add($0) }
        #expect(byBlocks.all == collected.all)
    }

    @Test func whatWasFoundBeforeALargeFileIsNotHeldBack() async throws {
        try tree.write("small", to: "a")
        try tree.write([UInt8](repeating: 1, count: 100_000), to: "b")
        try tree.write("small", to: "c")
        var options = ScanOptions.plain
        options.batch.bytes = 50_000
        let collected = Collected()
        let scanner = FolderScanner(root: tree.root, selection: .everything, known: ModelIndex(), options: options)
        _ = try await scanner.scan { collected.add($0) }
        #expect(collected.all.map { $0.findings.map(\.name) } == [["a"], ["b"], ["c"]])
    }

    @Test func threadsFindTheSameInTheSameBatches() async throws {
        var generator = SeededGenerator(seed: 7)
        for number in 0..<400 {
            let size = number % 50 == 0 ? 9_000_000 : Int.random(in: 0...5000, using: &generator)
            try tree.write([UInt8](repeating: UInt8(number & 0xFF), count: size), to: "d\(number % 7)/f\(number)")
        }
        var options = ScanOptions.plain
        options.batch.findings = 37
        options.batch.bytes = 20_000_000
        var results: [[ScanBatch]] = []
        for workers in [ScanOptions.Workers.callingTask, .threads(1), .threads(4)] {
            options.workers = workers
            let collected = Collected()
            let scanner = FolderScanner(root: tree.root, selection: .everything, known: ModelIndex(), options: options)
            let report = try await scanner.scan { collected.add($0) }
            #expect(report.filesHashed == 400)
            results.append(collected.all)
        }
        #expect(results[0] == results[1])
        #expect(results[0] == results[2])
    }

    @Test func whatDeliveryThrowsEndsTheScan() async throws {
        struct Stop: Error {}
        for number in 0..<300 { try tree.write("\(number)", to: "f\(number)") }
        var options = ScanOptions.plain
        options.batch.findings = 10
        for workers in [ScanOptions.Workers.callingTask, .threads(2)] {
            options.workers = workers
            let collected = Collected()
            let scanner = FolderScanner(root: tree.root, selection: .everything, known: ModelIndex(), options: options)
            await #expect(throws: Stop.self) {
                try await scanner.scan { batch in
                    collected.add(batch)
                    if collected.all.count == 2 { throw Stop() }
                }
            }
            #expect(collected.all.count == 2)
        }
    }

    @Test func aCancelledScanEnds() async throws {
        for number in 0..<300 { try tree.write("\(number)", to: "d\(number)/f") }
        let tree = tree
        var options = ScanOptions.plain
        options.workers = .threads(2)
        options.batch.findings = 1
        let (found, announce) = AsyncStream.makeStream(of: Void.self)
        let task = Task { [options] in
            let scanner = FolderScanner(root: tree.root, selection: .everything, known: ModelIndex(), options: options)
            return try await scanner.scan { _ in
                announce.yield()
                // Held here until the task is cancelled.
                let (never, _) = AsyncStream.makeStream(of: Void.self)
                for await _ in never {}
            }
        }
        for await _ in found { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
