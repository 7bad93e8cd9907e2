import Foundation
import SyncTestKit
import Testing

@testable import FileAccess

@Suite struct RootDirectoryTests {
    let directory: TemporaryTree
    var root: RootDirectory { directory.root }

    init() throws { directory = try TemporaryTree() }

    // MARK: looking

    @Test func statusTellsWhatIsThere() throws {
        try directory.makeDirectory("d")
        try directory.write("hello", to: "d/f")
        try directory.link("d/l", to: "no/such/target")
        mkfifo(directory.path("d/p"), 0o600)
        try root.setPermissions(0o640, of: relative("d/f"))

        let file = try #require(try root.status(of: relative("d/f")))
        var raw = stat()
        stat(directory.path("d/f"), &raw)
        #expect(file.type == .regular)
        #expect(file.size == 5)
        #expect(file.permissions == 0o640)
        #expect(file.linkCount == 1)
        #expect(file.inode == UInt64(raw.st_ino))
        #expect(file.device == UInt64(raw.st_dev))
        #expect(file.modified == FileTime(seconds: Int64(raw.st_mtim.tv_sec), nanoseconds: Int32(raw.st_mtim.tv_nsec)))

        #expect(try root.status(of: relative("d"))?.type == .directory)
        #expect(try root.status(of: relative("d/l"))?.type == .symlink)
        #expect(try root.status(of: relative("d/l"))?.size == 14)
        #expect(try root.status(of: relative("d/p"))?.type == .other)
        #expect(try root.status().type == .directory)
    }

    @Test(arguments: ["x", "x/y", "x/y/z", "f/y", "d/x"]) func whatIsNotThereIsNil(path: String) throws {
        try directory.makeDirectory("d")
        try directory.write("", to: "f")
        #expect(try root.status(of: relative(path)) == nil)
    }

    @Test func readingFindsOnlyRegularFiles() throws {
        try directory.write("hello world", to: "f")
        try directory.makeDirectory("d")
        try directory.link("l", to: "f")
        mkfifo(directory.path("p"), 0o600)
        let file = try root.open(reading: relative("f"))
        #expect(try file.read(count: 100, at: 0) == Array("hello world".utf8))
        #expect(try file.read(count: 3, at: 4) == Array("o w".utf8))
        #expect(try file.read(count: 3, at: 11).isEmpty)
        #expect(try file.read(count: 3, at: 1 << 40).isEmpty)
        #expect(try file.status().size == 11)
        #expect(failure { _ = try root.open(reading: relative("d")) }?.code == .isADirectory)
        // No writer is at the pipe's other end: to wait for one would be for ever.
        #expect(failure { _ = try root.open(reading: relative("p")) }?.code == .notARegularFile)
        #expect(failure { _ = try root.open(reading: relative("l")) }?.code == .outsideRoot)
        #expect(failure { _ = try root.open(reading: relative("x")) }?.code == .notFound)
        #expect(failure { _ = try root.open(reading: relative("f/x")) }?.code == .notADirectory)
    }

    @Test(arguments: [(-1, 1), (Int64.min, 1), (.max, 1), (.max - 3, 8), (0, -1)] as [(Int64, Int)])
    func rangesThatNoFileHasAreErrors(offset: Int64, count: Int) throws {
        let staged = try root.stage(relative("f"))
        #expect(failure { _ = try staged.read(count: count, at: offset) }?.code == .tooLarge)
        guard count > 0 else { return }
        #expect(failure { try staged.write([UInt8](repeating: 1, count: count), at: offset) }?.code == .tooLarge)
        #expect(failure { try staged.writeHole(at: offset, count: count) }?.code == .tooLarge)
    }

    @Test func listingHoldsEveryNameOnce() throws {
        try directory.makeDirectory("many")
        let expected = Set((0..<10_000).map { "file \($0)" })
        for name in expected {
            #expect(FileManager.default.createFile(atPath: directory.path("many/\(name)"), contents: nil))
        }
        let many = try root.directory(relative("many"))
        let entries = try many.list()
        #expect(entries.count == 10_000)
        #expect(Set(entries.compactMap(\.name)) == expected)
        #expect(entries.allSatisfy { $0.type == .regular })
        // Each listing begins at the beginning, also while another one is under way.
        var seen = 0
        try many.forEachEntry { _ in
            seen += 1
            if seen == 5 { #expect((try? many.list().count) == 10_000) }
            return seen < 7
        }
        #expect(seen == 7)
    }

    @Test func listingTellsTypes() throws {
        try directory.write("", to: "f")
        try directory.makeDirectory("d")
        try directory.link("l", to: "d")
        mkfifo(directory.path("p"), 0o600)
        let types = try Dictionary(uniqueKeysWithValues: root.list(nil).map { ($0.name, $0.type) })
        #expect(types == ["f": .regular, "d": .directory, "l": .symlink, "p": .other])
        #expect(try root.list(relative("d")).isEmpty)
        #expect(failure { _ = try root.list(relative("f")) }?.code == .notADirectory)
        #expect(failure { _ = try root.list(relative("l")) }?.code == .outsideRoot)
        #expect(failure { _ = try root.list(relative("x")) }?.code == .notFound)
    }

    @Test func namesThatAreNotTextAreFlagged() throws {
        let bytes: [UInt8] = [0x61, 0xFF, 0xC3, 0x28]
        let path = Array(directory.path("").utf8) + bytes + [0]
        let made = path.withUnsafeBytes { mkdir($0.assumingMemoryBound(to: CChar.self).baseAddress!, 0o700) }
        try #require(made == 0)
        try directory.write("x", to: "b\n\u{1}")
        let entries = try root.list(nil)
        let strange = try #require(entries.first { !$0.isNameText })
        #expect(strange.name == nil)
        #expect(strange.nameBytes == bytes)
        #expect(strange.type == .directory)
        #expect(strange.displayName == "a\u{FFFD}\u{FFFD}(")
        #expect(try root.directory(nil).status(of: strange)?.type == .directory)
        let plain = try #require(entries.first { $0.isNameText })
        #expect(plain.name == "b\n\u{1}")
        #expect(plain.nameBytes == Array("b\n\u{1}".utf8))
        #expect(try root.directory(nil).status(of: plain)?.size == 1)
        #expect(entries.count == 2)
    }

    @Test func entriesThatAreGoneHaveNoStatus() throws {
        try directory.write("", to: "f")
        let top = try root.directory(nil)
        let entry = try #require(try top.list().first)
        try root.remove(relative("f"), expecting: nil)
        #expect(try top.status(of: entry) == nil)
    }

    @Test func freeSpaceIsThatOfTheDisk() throws {
        let space = try root.freeSpace()
        #expect(space.total >= space.available)
        #expect(space.available > 0)
        let theirs = try FileManager.default.attributesOfFileSystem(forPath: root.path)
        #expect(space.total == (theirs[.systemSize] as? NSNumber)?.uint64Value)
    }

    // MARK: staying inside

    @Test func aLinkInThePathIsRefusedWhereverItLeads() throws {
        try directory.makeDirectory("real")
        try directory.write("x", to: "real/f")
        try "secret".write(toFile: directory.outside("f"), atomically: false, encoding: .utf8)
        let targets = ["real", directory.outside(""), "../outside", "/", ".", "/proc/self/cwd"]
        for (index, target) in targets.enumerated() {
            try directory.link("l\(index)", to: target)
            let inner = try relative("l\(index)/f")
            #expect(failure { _ = try root.status(of: inner) }?.code == .outsideRoot)
            #expect(failure { _ = try root.open(reading: inner) }?.code == .outsideRoot)
            #expect(failure { _ = try root.list(inner.parent) }?.code == .outsideRoot)
            #expect(failure { _ = try root.stage(inner) }?.code == .outsideRoot)
            #expect(failure { try root.createDirectories(relative("l\(index)/new/sub")) }?.code == .outsideRoot)
            #expect(failure { try root.createDirectories(relative("l\(index)")) }?.code == .outsideRoot)
            #expect(failure { try root.remove(inner, expecting: nil) }?.code == .outsideRoot)
            #expect(failure { try root.removeDirectory(inner) }?.code == .outsideRoot)
            #expect(failure { try root.rename(relative("real/f"), to: inner) }?.code == .outsideRoot)
            #expect(failure { try root.rename(inner, to: relative("g")) }?.code == .outsideRoot)
            #expect(failure { try root.createSymlink(inner, target: [1]) }?.code == .outsideRoot)
            #expect(failure { try root.setPermissions(0, of: inner) }?.code == .outsideRoot)
            #expect(failure { try root.setPermissions(0, of: relative("l\(index)")) }?.code == .notARegularFile)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.outside("")) == ["f"])
        #expect(try String(contentsOfFile: directory.outside("f"), encoding: .utf8) == "secret")
        #expect(directory.names("real") == ["f"])
    }

    @Test func aDirectoryMovedOutAndReplacedByALinkLeadsNowhere() throws {
        try directory.makeDirectory("d")
        let staged = try root.stage(relative("d/f"))
        try staged.write(Array("mine".utf8), at: 0)
        // Someone swaps the directory for a link while the file is staged.
        try FileManager.default.moveItem(atPath: directory.path("d"), toPath: directory.path("moved"))
        try directory.link("d", to: directory.outside(""))
        _ = try staged.commit(replacing: .nothing, permissions: 0o644, modified: nil)
        // It went where its directory went.
        #expect(directory.text("moved/f") == "mine")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.outside("")).isEmpty)
    }

    @Test func theRootMayBeReachedThroughALink() throws {
        let link = directory.url.appending(path: "link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "root")
        try directory.write("x", to: "f")
        #expect(try RootDirectory(path: link).status(of: relative("f"))?.size == 1)
    }

    @Test func theRootKnowsWhetherItIsInPlace() throws {
        #expect(root.isInPlace)
        let away = directory.url.appending(path: "away").path
        try FileManager.default.moveItem(atPath: root.path, toPath: away)
        #expect(!root.isInPlace)
        try FileManager.default.createDirectory(atPath: root.path, withIntermediateDirectories: false)
        #expect(!root.isInPlace)
        try FileManager.default.removeItem(atPath: root.path)
        try FileManager.default.moveItem(atPath: away, toPath: root.path)
        #expect(root.isInPlace)
        try FileManager.default.removeItem(atPath: root.path)
        #expect(!root.isInPlace)
    }

    // MARK: changing

    @Test func directoriesAreMadeOnce() throws {
        try directory.makeDirectory("a")
        for durability in [Durability.immediate, .deferred, .immediate] {
            let made = try root.createDirectories(relative("a/b/c"), durability: durability)
            #expect(made.path == RelativePath("a/b/c"))
            #expect(try made.status().type == .directory)
        }
        let deep = try relative(String(repeating: "x/", count: 255) + "x")
        try root.createDirectories(deep, durability: .deferred)
        #expect(try root.status(of: deep)?.type == .directory)
        try directory.write("", to: "a/f")
        #expect(failure { try root.createDirectories(relative("a/f")) }?.code == .notADirectory)
        #expect(failure { try root.createDirectories(relative("a/f/g")) }?.code == .notADirectory)
        #expect(directory.text("a/f") == "")
    }

    @Test func rootsAreMadeWithTheDirectoriesAboveThem() throws {
        let path = directory.outside("one//two/three/")
        let made = try RootDirectory(creating: path, permissions: 0o700)
        for part in ["one", "one/two", "one/two/three"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.outside(part))
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
        }
        try made.setPermissions(0o711, of: made.createDirectories(relative("x")).path ?? relative("x"))
        // What is there stays as it is.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.outside("one"))
        _ = try RootDirectory(creating: directory.outside("one"), permissions: 0o700)
        let attributes = try FileManager.default.attributesOfItem(atPath: directory.outside("one"))
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o755)
        #expect(failure { _ = try RootDirectory(creating: "/proc/nothing/here") }?.operation == .createDirectory)
    }

    @Test func linksHoldTheirBytes() throws {
        let target: [UInt8] = [0x2E, 0x2E, 0x2F, 0xFF, 0x20]
        try root.createSymlink(relative("l"), target: target)
        #expect(try root.readSymlink(relative("l")) == target)
        let long = [UInt8](repeating: 0x61, count: 4095)
        #expect(failure { try root.createSymlink(relative("l"), target: long) }?.code == .exists)
        #expect(try root.readSymlink(relative("l")) == target)
        try root.createSymlink(relative("l"), target: long, replacing: .anything)
        #expect(try root.readSymlink(relative("l")) == long)
        #expect(directory.names() == ["l"])

        #expect(failure { try root.createSymlink(relative("m"), target: []) }?.code == .invalidPath)
        #expect(failure { try root.createSymlink(relative("m"), target: [65, 0, 66]) }?.code == .invalidPath)
        #expect(failure { try root.createSymlink(relative("m"), target: long + [1]) }?.code == .nameTooLong)
        #expect(directory.names() == ["l"])

        try directory.write("", to: "f")
        #expect(failure { _ = try root.readSymlink(relative("f")) }?.operation == .readSymlink)
        #expect(failure { _ = try root.readSymlink(relative("x")) }?.code == .notFound)
    }

    @Test func onlyWhatWasSeenIsRemoved() throws {
        try directory.write("old", to: "f")
        let seen = try #require(try root.status(of: relative("f")))
        try directory.write("newer", to: "f")
        #expect(failure { try root.remove(relative("f"), expecting: seen) }?.code == .changedOnDisk)
        #expect(directory.text("f") == "newer")
        let now = try root.status(of: relative("f"))
        #expect(try root.remove(relative("f"), expecting: now))
        #expect(try !root.remove(relative("f"), expecting: now))
        #expect(try !root.remove(relative("no/such/f"), expecting: nil))

        try directory.makeDirectory("d/e")
        #expect(failure { try root.remove(relative("d"), expecting: nil) }?.code == .isADirectory)
        #expect(failure { try root.removeDirectory(relative("d")) }?.code == .directoryNotEmpty)
        #expect(try root.removeDirectory(relative("d/e")))
        #expect(try root.removeDirectory(relative("d"), durability: .deferred))
        #expect(try !root.removeDirectory(relative("d")))
        try directory.write("", to: "g")
        #expect(failure { try root.removeDirectory(relative("g")) }?.code == .notADirectory)
    }

    @Test func removingALinkLeavesItsTarget() throws {
        try "secret".write(toFile: directory.outside("f"), atomically: false, encoding: .utf8)
        try directory.link("l", to: directory.outside("f"))
        #expect(try root.remove(relative("l"), expecting: nil))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.outside("")) == ["f"])
    }

    @Test func renamingKeepsToWhatWasSeen() throws {
        try directory.makeDirectory("d")
        try directory.write("one", to: "a")
        try directory.write("two", to: "d/b")
        let one = try #require(try root.status(of: relative("a")))
        let two = try #require(try root.status(of: relative("d/b")))
        #expect(failure { try root.rename(relative("a"), to: relative("d/b")) }?.code == .exists)
        #expect(
            failure { try root.rename(relative("a"), to: relative("d/b"), replacing: .exactly(one)) }?.code
                == .changedOnDisk)
        #expect(failure { try root.rename(relative("a"), to: relative("c"), expecting: two) }?.code == .changedOnDisk)
        #expect(failure { try root.rename(relative("x"), to: relative("c")) }?.code == .notFound)
        #expect(failure { try root.rename(relative("a"), to: relative("x/c")) }?.code == .notFound)
        #expect(
            failure { try root.rename(relative("a"), to: relative("c"), replacing: .exactly(two)) }?.code
                == .changedOnDisk)
        #expect(failure { try root.rename(relative("d"), to: relative("d/e/f")) }?.code == .notFound)
        #expect(directory.text("a") == "one")
        #expect(directory.text("d/b") == "two")

        try root.rename(relative("a"), to: relative("d/b"), replacing: .exactly(two), expecting: one)
        #expect(directory.text("d/b") == "one")
        #expect(directory.names() == ["d"])
        try root.rename(relative("d"), to: relative("e"), durability: .deferred)
        #expect(directory.text("e/b") == "one")
    }

    @Test func movingByLinkingReplacesNothing() throws {
        try directory.write("one", to: "a")
        try directory.write("two", to: "b")
        let top = try root.directory(nil)
        #expect(failure { try top.moveByLinking("a", to: "b", in: top) }?.code == .exists)
        #expect(directory.text("b") == "two")
        try top.moveByLinking("a", to: "c", in: top)
        #expect(directory.text("c") == "one")
        #expect(directory.names() == ["b", "c"])
        #expect(try root.status(of: relative("c"))?.linkCount == 1)
    }

    @Test func permissionsAreNineBits() throws {
        try directory.write("", to: "f")
        try directory.makeDirectory("d")
        try root.setPermissions(0o7755, of: relative("f"))
        try root.setPermissions(0o7000, of: relative("d"))
        #expect(try root.status(of: relative("f"))?.permissions == 0o755)
        #expect(try root.status(of: relative("d"))?.permissions == 0)
        try root.setPermissions(0o700, of: relative("d"))
        #expect(try root.status(of: relative("d"))?.permissions == 0o700)
    }

    @Test func nothingStaysOpen() throws {
        try directory.makeDirectory("d")
        try directory.write("x", to: "d/f")
        try directory.link("l", to: "d")
        let before = directory.openDescriptorCount
        #expect(before == 1)
        for _ in 0..<50 {
            _ = try root.status(of: relative("d/f"))
            _ = try root.list(relative("d"))
            _ = try root.open(reading: relative("d/f")).read(count: 1, at: 0)
            _ = failure { _ = try root.list(relative("l")) }
            _ = failure { _ = try root.open(reading: relative("d")) }
            let staged = try root.stage(relative("d/g"))
            try staged.write([1], at: 0)
            _ = failure { _ = try root.stage(relative("d/g")) }
            _ = failure { _ = try staged.commit(replacing: .exactly(root.status()), permissions: nil, modified: nil) }
            _ = try staged.commit(replacing: .anything, permissions: nil, modified: nil)
            try root.createDirectories(relative("d/x/y"), durability: .deferred)
            try root.removeDirectory(relative("d/x/y"), durability: .deferred)
        }
        #expect(directory.openDescriptorCount == before)
    }
}

@Suite struct FileStatusTests {
    private let seen = FileStatus(
        type: .regular, size: 5, modified: FileTime(seconds: 7, nanoseconds: 9), inode: 3, device: 1, permissions: 0o644
    )

    @Test func aChangeShows() {
        let same = FileStatus(type: .regular, size: 5, modified: seen.modified, inode: 3, device: 2, permissions: 0)
        #expect(same.isUnchanged(since: seen))
        #expect(FileStatus(type: .regular, size: 5, modified: seen.modified).isUnchanged(since: seen))
        for changed in [
            FileStatus(type: .symlink, size: 5, modified: seen.modified, inode: 3),
            FileStatus(type: .regular, size: 6, modified: seen.modified, inode: 3),
            FileStatus(type: .regular, size: 5, modified: FileTime(seconds: 7, nanoseconds: 8), inode: 3),
            FileStatus(type: .regular, size: 5, modified: FileTime(seconds: 8, nanoseconds: 9), inode: 3),
            FileStatus(type: .regular, size: 5, modified: seen.modified, inode: 4),
        ] {
            #expect(!changed.isUnchanged(since: seen))
            #expect(!seen.isUnchanged(since: changed))
        }
        let directory = FileStatus(type: .directory, size: 1, modified: seen.modified, inode: 3)
        let fuller = FileStatus(type: .directory, size: 2, modified: FileTime(seconds: 99), inode: 3)
        #expect(fuller.isUnchanged(since: directory))
    }

    @Test func aLinkIsTheSameWhileItsInodeAndItsTimeOfChangeAre() {
        func link(_ modified: Int64, changed: Int64?, inode: UInt64 = 3, size: Int64 = 5) -> FileStatus {
            FileStatus(
                type: .symlink, size: size, modified: FileTime(seconds: modified), inode: inode,
                changed: changed.map { FileTime(seconds: $0) })
        }
        // What is written down of a link that came from elsewhere has the time that it had there.
        #expect(link(7, changed: 9).isUnchanged(since: link(1, changed: 9)))
        #expect(!link(7, changed: 10).isUnchanged(since: link(7, changed: 9)))
        #expect(!link(7, changed: 9, inode: 4).isUnchanged(since: link(1, changed: 9)))
        #expect(!link(7, changed: 9, size: 6).isUnchanged(since: link(1, changed: 9)))
        // What is not known does not count.
        #expect(link(7, changed: nil).isUnchanged(since: link(1, changed: 9)))
        #expect(link(7, changed: 9, inode: 0).isUnchanged(since: link(1, changed: 9)))
    }

    @Test func timesAreThoseThatClocksShow() {
        #expect(FileTime(seconds: 1, nanoseconds: -5).nanoseconds == 0)
        #expect(FileTime(seconds: 1, nanoseconds: .max).nanoseconds == 999_999_999)
        #expect(FileTime(seconds: -1, nanoseconds: 5) < FileTime(seconds: 0))
        #expect(FileTime(seconds: 1, nanoseconds: 5) < FileTime(seconds: 1, nanoseconds: 6))
    }
}

@Suite struct PreservingTests {
    let directory: TemporaryTree
    var root: RootDirectory { directory.root }

    init() throws { directory = try TemporaryTree() }

    @Test func aPreservedFileOutlivesWhatTakesItsPlace() throws {
        try directory.write("mine", to: "f")
        let seen = try #require(try root.status(of: relative("f")))
        let left = try root.preserve(relative("f"), as: relative("copy"), expecting: seen)
        let staged = try root.stage(relative("f"))
        try staged.write(Array("theirs".utf8), at: 0)
        _ = try staged.commit(replacing: .exactly(left), permissions: nil, modified: nil)
        #expect(try root.open(reading: relative("copy")).read(count: 100, at: 0) == Array("mine".utf8))
        #expect(try root.open(reading: relative("f")).read(count: 100, at: 0) == Array("theirs".utf8))
        #expect(try root.status(of: relative("copy"))?.modified == seen.modified)
    }

    /// Its time of change shows that it was edited.
    @Test func anEditThatRestoresSizeAndTimeIsSeen() throws {
        try directory.write("mine", to: "f")
        let seen = try #require(try root.status(of: relative("f")))
        // The disk's clock may not have gone on.
        repeat {
            try directory.write("edit", to: "f")
            try root.setModificationTime(seen.modified, of: relative("f"))
        } while try root.status(of: relative("f"))?.changed == seen.changed
        let now = try #require(try root.status(of: relative("f")))
        #expect((now.size, now.modified, now.inode) == (seen.size, seen.modified, seen.inode))
        let staged = try root.stage(relative("f"))
        try staged.write(Array("theirs".utf8), at: 0)
        #expect(
            failure { _ = try staged.commit(replacing: .exactly(seen), permissions: nil, modified: nil) }?.code
                == .changedOnDisk)
        #expect(failure { try root.remove(relative("f"), expecting: seen) }?.code == .changedOnDisk)
        #expect(
            failure { try root.preserve(relative("f"), as: relative("copy"), expecting: seen) }?.code == .changedOnDisk)
        #expect(try root.open(reading: relative("f")).read(count: 100, at: 0) == Array("edit".utf8))
    }

    @Test func nothingIsPreservedUnderATakenNameOrAfterAChange() throws {
        try directory.write("mine", to: "f")
        try directory.write("other", to: "taken")
        let seen = try #require(try root.status(of: relative("f")))
        #expect(
            failure { try root.preserve(relative("f"), as: relative("taken"), expecting: seen) }?.code == .exists)
        try directory.write("changed", to: "f")
        #expect(
            failure { try root.preserve(relative("f"), as: relative("copy"), expecting: seen) }?.code == .changedOnDisk)
        #expect(try root.status(of: relative("copy")) == nil)
        #expect(try root.open(reading: relative("taken")).read(count: 100, at: 0) == Array("other".utf8))
    }

    @Test func timesAreSetOfFilesAndOfLinksThemselves() throws {
        try directory.write("x", to: "f")
        try directory.link("l", to: "f")
        try root.setModificationTime(FileTime(seconds: 1_000, nanoseconds: 7), of: relative("l"))
        #expect(try root.status(of: relative("l"))?.modified == FileTime(seconds: 1_000, nanoseconds: 7))
        #expect(try root.status(of: relative("f"))?.modified != FileTime(seconds: 1_000, nanoseconds: 7))
        try root.setModificationTime(FileTime(seconds: -5, nanoseconds: 1), of: relative("f"))
        #expect(try root.status(of: relative("f"))?.modified == FileTime(seconds: -5, nanoseconds: 1))
        #expect(
            failure { try root.setModificationTime(FileTime(seconds: 1), of: relative("no")) }?.code == .notFound)
    }

    /// A directory that its owner may not write to either still gets what is to be in it, and stays as it is.
    @Test func directoriesThatAreNotToBeWrittenToAreWrittenTo() throws {
        try directory.makeDirectory("d/e")
        try directory.makeDirectory("d/sub")
        for name in ["d/a", "d/b", "d/e/c"] { try directory.write(name, to: name) }
        for name in ["d/a", "d/b", "d/e/c", "d/sub", "d/e", "d"] {
            if getuid() == 0 { chown(directory.path(name), 65_534, 65_534) }
        }
        for name in ["d/e", "d"] { chmod(directory.path(name), 0o555) }
        let root = try RootDirectory(path: root.path, unlocksDirectories: true)
        try withoutPrivileges {
            let seen = try #require(try root.status(of: relative("d/a")))
            let staged = try root.stage(relative("d/a"))
            try staged.write(Array("new".utf8), at: 0)
            _ = try staged.commit(replacing: .exactly(seen), permissions: 0o640, modified: nil)
            #expect(try root.remove(relative("d/b"), expecting: nil))
            #expect(try root.removeDirectory(relative("d/sub")))
            try root.rename(relative("d/e/c"), to: relative("d/c"))
            try root.createSymlink(relative("d/l"), target: Array("a".utf8))
            try root.createDirectories(relative("d/f/g"))
            let status = try #require(try root.status(of: relative("d/c")))
            try root.preserve(relative("d/c"), as: relative("d/e/copy"), expecting: status)
        }
        #expect(directory.names("d") == ["a", "c", "e", "f", "l"])
        #expect(directory.text("d/a") == "new" && directory.text("d/e/copy") == "d/e/c")
        for name in ["d", "d/e"] { #expect(try root.status(of: relative(name))?.permissions == 0o555) }
    }

    /// A file gets its size before its first byte: that is nothing written.
    @Test func onlyWhatWasWrittenCounts() throws {
        let staged = try root.stage(relative("f"))
        try staged.truncate(to: 1 << 20)
        let temporary = try #require(try relative("f").temporaryPath)
        #expect(try root.status(of: temporary)?.size == 1 << 20)
        #expect(try root.writtenByteCount(of: temporary) == 0)
        try staged.write([1, 2, 3], at: 500_000)
        try staged.synchronize()
        let count = try root.writtenByteCount(of: temporary)
        #expect((1...(1 << 19)).contains(count))
        #expect(try root.writtenByteCount(of: relative("no/such")) == 0)
    }

    @Test func whatIsNoDirectoryAboveANameIsFound() throws {
        try directory.makeDirectory("d/e")
        for name in ["d/file", "top"] { try directory.write("x", to: name) }
        try directory.link("d/link", to: "e")
        for (name, obstacle) in [
            ("d/file/a/b", "d/file"), ("top/a", "top"), ("d/link/a", "d/link"), ("d/e/a", nil), ("d/new/a/b", nil),
            ("d/file", nil), ("top", nil),
        ] {
            #expect(try root.obstacle(above: relative(name))?.text == obstacle, "\(name)")
        }
    }

    /// Outside of folders the user's permissions stand.
    @Test func directoriesElsewhereKeepTheirPermissions() throws {
        try directory.makeDirectory("d/sub")
        for name in ["d/a", "d/b"] { try directory.write(name, to: name) }
        for name in ["d/a", "d/b", "d/sub", "d"] where getuid() == 0 {
            chown(directory.path(name), 65_534, 65_534)
        }
        chmod(directory.path("d"), 0o555)
        let before = try #require(try root.status(of: relative("d")))
        try withoutPrivileges {
            let status = try #require(try root.status(of: relative("d/a")))
            #expect(failure { _ = try root.stage(relative("d/new")) }?.code == .permission)
            #expect(failure { _ = try root.remove(relative("d/b"), expecting: nil) }?.code == .permission)
            #expect(failure { _ = try root.removeDirectory(relative("d/sub")) }?.code == .permission)
            #expect(failure { try root.rename(relative("d/a"), to: relative("d/c")) }?.code == .permission)
            #expect(failure { try root.createDirectories(relative("d/f")) }?.code == .permission)
            #expect(
                failure { try root.preserve(relative("d/a"), as: relative("d/copy"), expecting: status) }?.code
                    == .permission)
        }
        #expect(directory.names("d") == ["a", "b", "sub"])
        // Not even for a moment: that would show in the time of change.
        #expect(try root.status(of: relative("d")) == before)
    }
}
