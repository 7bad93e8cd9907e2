import FileAccess
import Foundation
import Selection
import SyncTestKit
import Synchronization
import Testing

@testable import FolderScanner

@Suite struct ProblemTests {
    let tree: TemporaryTree

    init() throws { tree = try TemporaryTree() }

    @Test func namesThatNobodyCanSync() async throws {
        try tree.write("1", to: "ok")
        try tree.write("1", to: "cafe\u{301}")
        try tree.makeDirectory("\u{1100}\u{1161}")
        var path = Array(tree.path("").utf8CString.dropLast())
        path += [CChar(bitPattern: 0x66), CChar(bitPattern: 0xFF), 0]
        let file = try #require(fopen(path, "w"))
        fclose(file)
        let findings = try await tree.findings(ModelIndex())
        #expect(
            findings.map(\.summary) == [
                "name-not-nfc cafe\u{301}", "file ok", "name-not-nfc \u{1100}\u{1161}", "name-not-utf-8 f\u{FFFD}",
            ])
        // Not selected, they are nobody's problem.
        #expect(try await tree.findings(ModelIndex(), selection: Selection(parsing: "*")).isEmpty)
    }

    @Test func pathsTooLongToAnnounce() async throws {
        // 20 names of 200 bytes are 4019 bytes with what separates them; the 21st is too much.
        let name = String(repeating: "n", count: 200)
        var handles = [open(tree.path(""), O_RDONLY)]
        for depth in 0..<21 {
            try #require(mkdirat(handles[depth], name, 0o700) == 0)
            handles.append(openat(handles[depth], name, O_RDONLY))
        }
        // By handles again: no path leads to the deepest.
        defer {
            for depth in (0..<21).reversed() { unlinkat(handles[depth], name, AT_REMOVEDIR) }
            for handle in handles { close(handle) }
        }
        let (findings, report) = try await tree.scan(ModelIndex())
        #expect(findings.count == 21)
        #expect(findings.last?.summary.hasPrefix("name-too-long ") == true)
        #expect(report.directoriesOpened == 21)
    }

    @Test func pipesSocketsAndOddLinks() async throws {
        try #require(mkfifo(tree.path("pipe"), 0o600) == 0)
        try #require(symlink([CChar(bitPattern: 0xC3), CChar(bitPattern: 0x28), 0], tree.path("odd")) == 0)
        #expect(
            try await tree.findings(ModelIndex()).map(\.summary) == [
                "link-target-not-utf-8 odd", "unsupported-type pipe",
            ])
    }

    @Test func aPipeInAFilesPlaceIsNoDeletion() async throws {
        try tree.write("1", to: "f")
        try tree.write("1", to: "d/g")
        let index = try await tree.scanned()
        try tree.remove("f")
        try tree.remove("d")
        for name in ["f", "d"] { try #require(mkfifo(tree.path(name), 0o600) == 0) }
        #expect(
            try await tree.findings(index).map(\.summary) == ["gone d/g", "unsupported-type d", "unsupported-type f"])
    }

    @Test func whatCannotBeReadIsNotGone() async throws {
        for name in ["a/f", "b/c/f", "b/g", "d/f", "z"] { try tree.write("1", to: name) }
        let index = try await tree.scanned()
        try tree.write("22", to: "a/f")
        try tree.write("22", to: "d/f")
        try tree.setPermissions(0o000, "a/f")
        // Neither listed nor looked into; and listed, but not looked into.
        try tree.setPermissions(0o000, "b")
        try tree.setPermissions(0o444, "d")
        let tree = tree
        try await withoutPrivileges {
            let findings = try await tree.findings(index)
            #expect(
                findings.map(\.summary) == [
                    "unreadable a/f", "metadata b", "unreadable-directory b", "metadata d", "unreadable-directory d",
                ])
            for case .problem(let problem) in findings {
                #expect(problem.cause?.code == .permission)
                #expect(problem.message.contains("chmod"))
                #expect(!problem.isTransient)
            }
            #expect(
                try await tree.findings(index, ["b/c/f", "d/f"]).map(\.summary) == [
                    "unreadable-directory b", "unreadable-directory d",
                ])
        }
        for name in ["a/f", "b", "d"] { try tree.setPermissions(0o755, name) }
    }

    @Test func anUnreadableRootEndsTheScan() async throws {
        try tree.write("1", to: "f")
        let index = try await tree.scanned()
        try tree.setPermissions(0o000, "")
        let tree = tree
        try await withoutPrivileges {
            let error = await #expect(throws: ScanError.self) { try await tree.findings(index) }
            #expect(error?.code == .rootUnreadable)
        }
        try tree.setPermissions(0o755, "")
    }

    // MARK: races

    /// Changes the file after its status was taken and before it is read: the scan asks for the time in between.
    private func changing(_ change: @escaping @Sendable () -> Void) -> ScanOptions {
        var options = ScanOptions.plain
        let done = Mutex(false)
        options.now = {
            let isFirst = done.withLock { done in
                defer { done = true }
                return !done
            }
            if isFirst { change() }
            return FileTime(seconds: 10_000_000_000)
        }
        return options
    }

    @Test(arguments: ["append", "rewrite", "truncate", "replace", "remove", "chmod"])
    func aFileThatChangesWhileItIsReadIsTriedAgainLater(change: String) async throws {
        try tree.write([UInt8](repeating: 1, count: 300_000), to: "f")
        try tree.setModified(1_700_000_000, "f")
        let tree = tree
        let options = changing {
            switch change {
            case "append": truncate(tree.path("f"), 300_001)
            case "rewrite": try? tree.write([UInt8](repeating: 2, count: 300_000), to: "f")
            case "truncate": truncate(tree.path("f"), 100)
            case "replace":
                try? tree.write("new", to: "g")
                rename(tree.path("g"), tree.path("f"))
            case "remove": unlink(tree.path("f"))
            default: chmod(tree.path("f"), 0o600)
            }
        }
        let (findings, report) = try await tree.scan(ModelIndex(), options: options)
        #expect(findings.map(\.summary) == ["changed-while-read f"])
        #expect(report.problems == 1)
        #expect(report.filesHashed == 0)
        guard case .problem(let problem) = findings.first else { return }
        #expect(problem.isTransient)
    }

    /// The time limit is the guard: to read all of it would take longer.
    @Test(.timeLimit(.minutes(1))) func aLargeFileThatChangesIsNotReadToItsEnd() async throws {
        try tree.write("begin", to: "f")
        let size: off_t = 4 << 40
        // Not every file system has files so large.
        guard truncate(tree.path("f"), size) == 0 else { return }
        let tree = tree
        let (findings, report) = try await tree.scan(
            ModelIndex(), options: changing { truncate(tree.path("f"), size + 1) })
        #expect(findings.map(\.summary) == ["changed-while-read f"])
        #expect(report.problems == 1)
    }

    @Test func aFileWrittenJustNowIsReadAgainInTheNextScan() async throws {
        try tree.write("hello", to: "f")
        let written = try #require(try tree.status("f").changed)
        var options = ScanOptions.plain
        options.now = { FileTime(seconds: written.seconds, nanoseconds: written.nanoseconds) }
        let index = ModelIndex()
        let (findings, report) = try await tree.scan(index, options: options)
        #expect(report.unsettled == 1)
        guard case .changed(let entry) = findings.first else {
            Issue.record("the file was not found")
            return
        }
        #expect(!entry.isSettled)
        index.apply(findings)
        // Later it is read once more, and then never again.
        let (second, secondReport) = try await tree.scan(index)
        #expect(second.map(\.summary) == ["status f"])
        #expect(secondReport.filesHashed == 1)
        #expect(secondReport.unsettled == 0)
        index.apply(second)
        #expect(try await tree.scan(index).report.filesHashed == 0)
    }

    @Test(
        arguments: [
            (0, 5, true), (19_000_000, 5, true), (-19_000_000, 5, true), (21_000_000, 5, false),
            (-21_000_000, 5, false),
            (2_000_000_000, 0, true), (2_100_000_000, 0, false), (3_600_000_000_000, 5, false),
            (-3_600_000_000_000, 5, false),
        ] as [(Int64, Int32, Bool)])
    func onlyWhatTheClockCannotTellApartIsUnsettled(distance: Int64, fraction: Int32, expected: Bool) {
        let time = FileTime(seconds: 1_700_000_000, nanoseconds: fraction)
        let status = FileStatus(type: .regular, size: 0, modified: time, changed: time)
        let (seconds, rest) = (1_700_000_000_000_000_000 + Int64(fraction) + distance)
            .quotientAndRemainder(dividingBy: 1_000_000_000)
        let now = FileTime(seconds: seconds, nanoseconds: Int32(rest))
        #expect(status.mayBeWrittenUnnoticed(at: now) == expected)
    }

    /// A file that was just put into its place, with the time that it has on the device where it was saved.
    @Test(
        arguments: [
            // A disk that counts seconds, and one of Linux.
            (saved: 0, fraction: 0, settled: false), (-2_000_000_000, 0, false), (2_000_000_000, 0, false),
            (-3_000_000_000, 0, true), (0, 5, false), (-1_000_000_000, 5, true), (-86_400_000_000_000, 0, true),
        ] as [(saved: Int64, fraction: Int32, settled: Bool)])
    func whatCanBeWrittenWithoutATraceIsUnsettled(item: (saved: Int64, fraction: Int32, settled: Bool)) {
        let placed = FileTime(seconds: 1_700_000_000, nanoseconds: item.fraction)
        let (seconds, rest) = (1_700_000_000_000_000_000 + Int64(item.fraction) + item.saved)
            .quotientAndRemainder(dividingBy: 1_000_000_000)
        let saved = FileTime(seconds: seconds, nanoseconds: Int32(rest))
        let status = FileStatus(type: .regular, size: 1, modified: saved, changed: placed)
        #expect((status.settled(at: placed).changed != nil) == item.settled)
        #expect(status.settled(at: placed).isUnchanged(since: status))
    }

    @Test func messagesSayWhatToDoAndMoveNoCursor() {
        for code in FileProblem.Code.allCases {
            let message = FileProblem(code, name: "a\u{1B}[2J" + String(repeating: "n", count: 500)).message
            #expect(message.contains(";"))
            #expect(message.contains("a\\u{1b}[2J"))
            #expect(message.count < 500)
        }
    }
}
