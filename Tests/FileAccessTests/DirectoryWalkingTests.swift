import Foundation
import SyncTestKit
import Testing

@testable import FileAccess

@Suite struct DirectoryWalkingTests {
    let directory: TemporaryTree

    init() throws { directory = try TemporaryTree() }

    private func top() throws -> Directory { try directory.root.directory(nil) }

    private func entry(_ name: String, in parent: Directory) throws -> DirectoryEntry {
        try #require(try parent.list().first { $0.name == name })
    }

    @Test func aWalkGoesFromHandleToHandle() throws {
        try directory.makeDirectory("a/b")
        try directory.write("hello", to: "a/b/f")
        try directory.link("a/l", to: "b")
        let a = try top().directory(entry("a", in: top()))
        #expect(a.path?.text == "a")
        let b = try a.directory(entry("b", in: a))
        #expect(b.path?.text == "a/b")
        #expect(try b.open(reading: entry("f", in: b)).read(count: 100, at: 0) == Array("hello".utf8))
        #expect(try a.readSymlink(entry("l", in: a)) == Array("b".utf8))
        // Moved away and another put in its place, it is the same directory still.
        try FileManager.default.moveItem(atPath: directory.path("a"), toPath: directory.outside("a"))
        try directory.makeDirectory("a/b")
        #expect(try b.list().map(\.name) == ["f"])
        #expect(try a.directory(entry("b", in: a)).list().count == 1)
    }

    @Test func onlyWhatItIsCalledIsOpened() throws {
        try directory.makeDirectory("d")
        try directory.write("", to: "f")
        try directory.link("l", to: "d")
        mkfifo(directory.path("p"), 0o600)
        let top = try top()
        #expect(failure { _ = try top.directory(entry("l", in: top)) }?.code == .outsideRoot)
        #expect(failure { _ = try top.directory(entry("f", in: top)) }?.code == .notADirectory)
        #expect(failure { _ = try top.open(reading: entry("d", in: top)) }?.code == .isADirectory)
        #expect(failure { _ = try top.open(reading: entry("l", in: top)) }?.code == .outsideRoot)
        #expect(failure { _ = try top.open(reading: entry("p", in: top)) }?.code == .notARegularFile)
        #expect(failure { _ = try top.readSymlink(entry("f", in: top)) } != nil)
        let gone = try entry("f", in: top)
        unlink(directory.path("f"))
        #expect(failure { _ = try top.open(reading: gone) }?.code == .notFound)
        #expect(failure { _ = try top.open(reading: gone) }?.path == "f")
    }

    @Test func anEntryIsFoundByItsName() throws {
        try directory.makeDirectory("d")
        try directory.link("d/l", to: "nowhere")
        let d = try top().directory(entry("d", in: top()))
        #expect(try d.entry(named: "l")?.type == .symlink)
        #expect(try d.entry(named: "l")?.name == "l")
        #expect(try d.entry(named: "x") == nil)
        for name in ["..", ".", "", "a/b", "/", "../d", "a\0"] {
            #expect(failure { _ = try d.entry(named: name) }?.code == .invalidPath)
        }
    }

    @Test func namesThatAreNotUTF8AreNotOpened() throws {
        let path = Array(directory.path("").utf8CString.dropLast()) + [CChar(bitPattern: 0xFF), 0]
        mkdir(path, 0o700)
        let top = try top()
        let odd = try #require(try top.list().first)
        #expect(failure { _ = try top.directory(odd) }?.code == .invalidPath)
        #expect(failure { _ = try top.open(reading: odd) }?.code == .invalidPath)
    }

    @Test func theTimeOfChangeTellsWhatTheTimeOfModificationHides() throws {
        try directory.write("hello", to: "f")
        let before = try #require(try directory.root.status(of: relative("f")))
        let time = timespec(tv_sec: Int(before.modified.seconds), tv_nsec: Int(before.modified.nanoseconds))
        var after = before
        // The disk's clock ticks some hundred times a second.
        while after.changed == before.changed {
            try directory.write("HELLO", to: "f")
            utimensat(AT_FDCWD, directory.path("f"), [time, time], 0)
            after = try #require(try directory.root.status(of: relative("f")))
        }
        #expect(after.modified == before.modified)
        #expect(!after.isUnchanged(since: before))
        var raw = stat()
        stat(directory.path("f"), &raw)
        #expect(after.changed == FileTime(seconds: Int64(raw.st_ctim.tv_sec), nanoseconds: Int32(raw.st_ctim.tv_nsec)))
    }
}
