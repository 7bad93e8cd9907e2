import Foundation
import SyncTestKit
import Testing

@testable import FileAccess

@Suite struct StagedFileTests {
    let directory: TemporaryTree
    var root: RootDirectory { directory.root }
    private let time = FileTime(seconds: 1_500_000_000, nanoseconds: 123_456_789)

    init() throws { directory = try TemporaryTree() }

    private func staged(_ text: String, for path: String) throws -> StagedFile {
        let staged = try root.stage(relative(path))
        try staged.write(Array(text.utf8), at: 0)
        return staged
    }

    @Test func aCommittedFileIsWhatWasStaged() throws {
        try directory.makeDirectory("d")
        let file = try staged("hello", for: "d/f")
        #expect(directory.names("d") == [".syncthing.f.tmp"])
        #expect(try root.status(of: relative("d/.syncthing.f.tmp"))?.permissions == 0o600)
        let status = try file.commit(replacing: .nothing, permissions: 0o7751, modified: time)
        #expect(directory.names("d") == ["f"])
        #expect(directory.text("d/f") == "hello")
        #expect(status == (try root.status(of: relative("d/f"))))
        #expect(status.size == 5)
        #expect(status.modified == time)
        #expect(status.permissions == 0o751)
    }

    @Test func filesOfAnyNameCanBeStaged() throws {
        for name in [String(repeating: "n", count: 255), "a\nb", "é", "-", " "] {
            _ = try staged(name, for: name).commit(replacing: .nothing, permissions: 0o600, modified: nil)
            #expect(directory.text(name) == name)
        }
        #expect(directory.names().count == 5)
    }

    @Test func permissionsNotGivenAreThoseOfTheOldFile() throws {
        let new = try staged("1", for: "f").commit(replacing: .nothing, permissions: nil, modified: nil)
        #expect(new.permissions == 0o644)
        try root.setPermissions(0o755, of: relative("f"))
        let next = try staged("2", for: "f").commit(replacing: .anything, permissions: nil, modified: nil)
        #expect(next.permissions == 0o755)
    }

    @Test func aTimeThatTheDiskCannotHoldIsToldBack() throws {
        let far = FileTime(seconds: .max / 2, nanoseconds: 1)
        let status = try staged("1", for: "f").commit(replacing: .nothing, permissions: nil, modified: far)
        #expect(status == (try root.status(of: relative("f"))))
    }

    // MARK: what may be replaced

    @Test func nothingIsReplacedUnlessItMayBe() throws {
        try directory.write("theirs", to: "f")
        let file = try staged("mine", for: "f")
        #expect(failure { _ = try file.commit(replacing: .nothing, permissions: nil, modified: nil) }?.code == .exists)
        #expect(directory.text("f") == "theirs")
        #expect(directory.text(".syncthing.f.tmp") == "mine")
        // The same staged file can still be used.
        _ = try file.commit(replacing: .anything, permissions: nil, modified: nil)
        #expect(directory.text("f") == "mine")
        #expect(directory.names() == ["f"])
    }

    @Test func whatWasSeenIsReplaced() throws {
        try directory.write("old", to: "f")
        let seen = try #require(try root.status(of: relative("f")))
        let status = try staged("new", for: "f").commit(replacing: .exactly(seen), permissions: 0o640, modified: time)
        #expect(directory.text("f") == "new")
        #expect(directory.names() == ["f"])
        #expect(status == (try root.status(of: relative("f"))))

        // A status that was written down without all of it will do.
        let noted = FileStatus(type: .regular, size: 3, modified: time)
        _ = try staged("newer", for: "f").commit(replacing: .exactly(noted), permissions: nil, modified: nil)
        #expect(directory.text("f") == "newer")
    }

    enum Change: CaseIterable {
        case contents, sameSize, time, removed, replaced, link, directory
    }

    @Test(arguments: Change.allCases) func whatChangedSinceIsLeftAlone(change: Change) throws {
        try directory.write("old", to: "f")
        try "secret".write(toFile: directory.outside("f"), atomically: false, encoding: .utf8)
        let path = try relative("f")
        let seen = try #require(try root.status(of: path))
        let file = try staged("new", for: "f")
        try make(change)
        let before = try root.status(of: path)
        let error = failure { _ = try file.commit(replacing: .exactly(seen), permissions: nil, modified: nil) }
        #expect(error?.code == .changedOnDisk)
        #expect(try root.status(of: path) == before)
        #expect(directory.text(".syncthing.f.tmp") == "new")
        #expect(try root.status(of: relative(".syncthing.f.tmp"))?.permissions == 0o600)
        #expect(try String(contentsOfFile: directory.outside("f"), encoding: .utf8) == "secret")
    }

    /// The same in the instant after the first look: the swap finds out and is undone.
    @Test(arguments: Change.allCases) func whatChangesAtTheLastInstantIsPutBack(change: Change) throws {
        try directory.write("old", to: "f")
        try "secret".write(toFile: directory.outside("f"), atomically: false, encoding: .utf8)
        let path = try relative("f")
        let seen = try #require(try root.status(of: path))
        let file = try staged("new", for: "f")
        try make(change)
        let before = try root.status(of: path)
        let exchange = {
            try file.directory.exchange("f", with: file.temporaryName, in: file.directory, expecting: seen)
        }
        #expect(failure(exchange)?.code == .changedOnDisk)
        // Moving it to and fro has changed nothing but the time of change.
        #expect(try root.status(of: path)?.apartFromChange == before?.apartFromChange)
        #expect(directory.text(".syncthing.f.tmp") == "new")
        #expect(try String(contentsOfFile: directory.outside("f"), encoding: .utf8) == "secret")
    }

    private func make(_ change: Change) throws {
        let manager = FileManager.default
        switch change {
        case .contents: try directory.write("longer", to: "f")
        case .sameSize:
            try directory.write("OLD", to: "f")
            // Not left to the clock's grain.
            try manager.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 9)], ofItemAtPath: directory.path("f"))
        case .time:
            try manager.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 9)], ofItemAtPath: directory.path("f"))
        case .removed: try manager.removeItem(atPath: directory.path("f"))
        case .replaced:
            try directory.write("old", to: "g")
            var times = [timespec(), timespec()]
            var status = stat()
            stat(directory.path("f"), &status)
            times = [status.st_atim, status.st_mtim]
            utimensat(AT_FDCWD, directory.path("g"), times, 0)
            #expect(rename(directory.path("g"), directory.path("f")) == 0)
        case .link:
            try manager.removeItem(atPath: directory.path("f"))
            try directory.link("f", to: directory.outside("f"))
        case .directory:
            try manager.removeItem(atPath: directory.path("f"))
            try directory.makeDirectory("f")
        }
    }

    @Test func aLinkInTheTargetsPlaceIsReplacedItself() throws {
        try "secret".write(toFile: directory.outside("f"), atomically: false, encoding: .utf8)
        try directory.link("f", to: directory.outside("f"))
        _ = try staged("mine", for: "f").commit(replacing: .anything, permissions: nil, modified: nil)
        #expect(directory.text("f") == "mine")
        #expect(try root.status(of: relative("f"))?.type == .regular)
        #expect(try String(contentsOfFile: directory.outside("f"), encoding: .utf8) == "secret")
    }

    @Test func aLinkThatWasSeenIsReplaced() throws {
        try directory.link("f", to: "nowhere")
        let seen = try #require(try root.status(of: relative("f")))
        _ = try staged("mine", for: "f").commit(replacing: .exactly(seen), permissions: nil, modified: nil)
        #expect(directory.text("f") == "mine")
    }

    @Test func aDirectoryIsNeverReplaced() throws {
        try directory.makeDirectory("f")
        let seen = try #require(try root.status(of: relative("f")))
        let file = try staged("mine", for: "f")
        let codes = [Replacement.nothing, .anything, .exactly(seen)].map { replacement in
            failure { _ = try file.commit(replacing: replacement, permissions: nil, modified: nil) }?.code
        }
        #expect(codes == [.exists, .isADirectory, .isADirectory])
        #expect(try root.status(of: relative("f"))?.type == .directory)
        #expect(directory.text(".syncthing.f.tmp") == "mine")
    }

    // MARK: resuming

    @Test func bytesStagedEarlierAreKept() throws {
        try staged("hello", for: "f").synchronize()
        let again = try root.stage(relative("f"))
        #expect(again.resumedByteCount == 5)
        #expect(try again.read(count: 10, at: 0) == Array("hello".utf8))
        try again.write(Array(" world".utf8), at: 5)
        _ = try again.commit(replacing: .nothing, permissions: nil, modified: nil)
        #expect(directory.text("f") == "hello world")
    }

    @Test func bytesStagedEarlierCanBeDropped() throws {
        try staged("hello world", for: "f").synchronize()
        let again = try root.stage(relative("f"), resuming: false)
        #expect(again.resumedByteCount == 0)
        try again.write([0x78], at: 0)
        _ = try again.commit(replacing: .nothing, permissions: nil, modified: nil)
        #expect(directory.text("f") == "x")
    }

    @Test func aFileSealedByACutShortCommitIsResumed() throws {
        let temporary = try relative("d/.syncthing.f.tmp")
        try directory.makeDirectory("d")
        try staged("hello", for: "d/f").synchronize()
        try root.setPermissions(0o444, of: temporary)
        if getuid() == 0 {
            chown(directory.path("d"), 65_534, 65_534)
            chown(directory.path(temporary.text), 65_534, 65_534)
        }
        try withoutPrivileges {
            let again = try root.stage(relative("d/f"))
            #expect(again.resumedByteCount == 5)
            #expect(try again.status().permissions == 0o600)
        }
    }

    @Test func aTargetIsStagedByOneAtATime() throws {
        var first: StagedFile? = try staged("hello", for: "f")
        #expect(failure { _ = try root.stage(relative("f")) }?.code == .busy)
        #expect(failure { _ = try root.stage(relative("f"), resuming: false) }?.isTransient == true)
        #expect(directory.text(".syncthing.f.tmp") == "hello")
        _ = try root.stage(relative("g"))
        first = nil
        #expect(first == nil)
        #expect(try root.stage(relative("f")).resumedByteCount == 5)
    }

    @Test func whatIsNoStagedFileOfOursIsNotWrittenThrough() throws {
        // A link, a pipe and a second name of another file under the temporary name.
        try "secret".write(toFile: directory.outside("f"), atomically: false, encoding: .utf8)
        try directory.link(".syncthing.a.tmp", to: directory.outside("f"))
        mkfifo(directory.path(".syncthing.b.tmp"), 0o600)
        try directory.write("precious", to: "other")
        #expect(link(directory.path("other"), directory.path(".syncthing.c.tmp")) == 0)
        for name in ["a", "b", "c"] {
            let file = try staged(name, for: name)
            #expect(file.resumedByteCount == 0)
            _ = try file.commit(replacing: .nothing, permissions: nil, modified: nil)
            #expect(directory.text(name) == name)
        }
        #expect(directory.text("other") == "precious")
        #expect(try String(contentsOfFile: directory.outside("f"), encoding: .utf8) == "secret")

        try directory.makeDirectory(".syncthing.d.tmp")
        #expect(failure { _ = try root.stage(relative("d")) }?.code == .isADirectory)
    }

    @Test func aTemporaryNameTakenByAnotherIsNotMoved() throws {
        let file = try staged("mine", for: "f")
        try FileManager.default.removeItem(atPath: directory.path(".syncthing.f.tmp"))
        try directory.write("theirs", to: ".syncthing.f.tmp")
        #expect(
            failure { _ = try file.commit(replacing: .nothing, permissions: nil, modified: nil) }?.code == .notFound)
        try file.discard()
        #expect(directory.names() == [".syncthing.f.tmp"])
        #expect(directory.text(".syncthing.f.tmp") == "theirs")
    }

    @Test func theEndIsTheEnd() throws {
        let file = try staged("mine", for: "f")
        _ = try file.commit(replacing: .nothing, permissions: nil, modified: nil)
        #expect(
            failure { _ = try file.commit(replacing: .anything, permissions: nil, modified: nil) }?.code == .finished)
        #expect(failure { try file.write([1], at: 0) }?.code == .finished)
        #expect(failure { try file.writeHole(at: 0, count: 4) }?.code == .finished)
        #expect(failure { try file.truncate(to: 0) }?.code == .finished)
        try file.discard()
        #expect(directory.text("f") == "mine")

        let given = try staged("no", for: "g")
        try given.discard()
        try given.discard()
        #expect(failure { try given.write([1], at: 0) }?.code == .finished)
        #expect(
            failure { _ = try given.commit(replacing: .nothing, permissions: nil, modified: nil) }?.code == .finished)
        #expect(directory.names() == ["f"])
    }

    @Test func aMissingDirectoryIsSaid() throws {
        #expect(failure { _ = try root.stage(relative("no/f")) }?.code == .notFound)
    }

    /// A program that is being started has copies of all descriptors until it runs.
    @Test func aCopyOfTheDescriptorHoldsNoLock() throws {
        var first: StagedFile? = try staged("a", for: "f")
        let copy = dup(try #require(first).file.descriptor.number)
        defer { close(copy) }
        try #require(copy >= 0)
        #expect(failure { _ = try root.stage(relative("f")) }?.code == .busy)
        first = nil
        #expect(try root.stage(relative("f")).resumedByteCount == 1)
    }

    // MARK: holes

    private func allocatedByteCount(_ name: String) -> Int {
        var status = stat()
        stat(directory.path(name), &status)
        return Int(status.st_blocks) * 512
    }

    @Test func zerosTakeNoSpace() throws {
        let block = 1 << 17
        let ones = [UInt8](repeating: 1, count: block)
        let zeros = [UInt8](repeating: 0, count: block)
        let file = try root.stage(relative("f"))
        // Beyond the end, before it, over bytes that are there, and at the very end.
        try file.write(zeros, at: Int64(3 * block))
        #expect(try file.status().size == Int64(4 * block))
        try file.write(ones, at: 0)
        try file.write(ones, at: Int64(block))
        try file.write(zeros, at: Int64(block))
        try file.write(zeros, at: Int64(2 * block))
        try file.write(ones, at: Int64(4 * block))
        try file.writeHole(at: Int64(5 * block), count: 10 * block + 1)
        let status = try file.commit(replacing: .nothing, permissions: nil, modified: nil)
        #expect(status.size == Int64(15 * block + 1))
        #expect(allocatedByteCount("f") <= 3 * block)
        #expect(allocatedByteCount("f") >= 2 * block)
        let expected = ones + zeros + zeros + zeros + ones + [UInt8](repeating: 0, count: 10 * block + 1)
        // As a Bool: to describe how two megabytes differ takes the testing library minutes.
        let isEqual = try root.open(reading: relative("f")).read(count: expected.count + 1, at: 0) == expected
        #expect(isEqual)
    }

    @Test func aBlockWithOneOtherByteIsNoHole() throws {
        for position in [0, 1, 4095, 4096, 8190, 8191] {
            var block = [UInt8](repeating: 0, count: 8192)
            block[position] = 1
            #expect(!block.withUnsafeBytes { isAllZero($0) })
            let file = try root.stage(relative("f\(position)"))
            try file.write(block, at: 3)
            #expect(try file.read(count: 9000, at: 3) == block)
        }
        for count in [0, 1, 2, 7, 4096] {
            #expect([UInt8](repeating: 0, count: count).withUnsafeBytes { isAllZero($0) })
        }
    }

    @Test func blocksWrittenAtOnceAllArrive() async throws {
        let block = 16 << 10
        let count = 200
        let contents = { @Sendable (index: Int) in [UInt8](repeating: UInt8(index % 3), count: block) }
        let file = try root.stage(relative("f"))
        var order = Array(0..<count)
        var generator = SeededGenerator(seed: 5)
        order.shuffle(using: &generator)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                let mine = order.enumerated().filter { $0.offset % 4 == worker }.map(\.element)
                group.addTask {
                    for index in mine { try file.write(contents(index), at: Int64(index * block)) }
                }
            }
            try await group.waitForAll()
        }
        let status = try file.commit(replacing: .nothing, permissions: nil, modified: nil)
        // The last block (index 199) is one of ones, so the size is exact.
        #expect(status.size == Int64(count * block))
        let all = try root.open(reading: relative("f")).read(count: count * block, at: 0)
        let isEqual = all == (0..<count).flatMap(contents)
        #expect(isEqual)
    }

    // MARK: groups

    @Test(arguments: [1, 3, RootDirectory.groupThreshold, 40]) func aGroupIsCommittedTogether(count: Int) throws {
        try directory.makeDirectory("d0")
        try directory.makeDirectory("d1")
        let group = try (0..<count).map { index in
            StagedCommit(
                try staged("contents \(index)", for: "d\(index % 2)/f\(index)"), replacing: .nothing,
                permissions: 0o604, modified: FileTime(seconds: Int64(index)))
        }
        let results = root.commit(group)
        #expect(results.count == count)
        for (index, result) in results.enumerated() {
            let path = "d\(index % 2)/f\(index)"
            #expect(directory.text(path) == "contents \(index)")
            let status = try result.get()
            #expect(status == (try root.status(of: relative(path))))
            #expect(status.modified.seconds == Int64(index))
            #expect(status.permissions == 0o604)
        }
        #expect(directory.names("d0").count + directory.names("d1").count == count)
        // They are finished: a second commit moves nothing.
        #expect(root.commit(group).allSatisfy { (try? $0.get()) == nil })
    }

    @Test func oneFailureOfAGroupLeavesTheOthersAlone() throws {
        try directory.write("theirs", to: "f3")
        let gone = try staged("gone", for: "f5")
        try gone.discard()
        let group = try (0..<12).map { index in
            StagedCommit(
                try index == 5 ? gone : staged("mine", for: "f\(index)"), replacing: .nothing, permissions: 0o400,
                modified: nil)
        }
        let results = root.commit(group)
        for (index, result) in results.enumerated() {
            switch index {
            case 3: #expect(failure { _ = try result.get() }?.code == .exists)
            case 5: #expect(failure { _ = try result.get() }?.code == .finished)
            default: #expect(directory.text("f\(index)") == "mine")
            }
        }
        #expect(directory.text("f3") == "theirs")
        #expect(directory.text(".syncthing.f3.tmp") == "mine")
        #expect(try group[3].file.status().permissions == 0o600)
        _ = try group[3].file.commit(replacing: .anything, permissions: nil, modified: nil)
        #expect(directory.text("f3") == "mine")
        #expect(root.commit([]).isEmpty)
    }

    // MARK: what is left over

    @Test func aTemporaryFileIsRemovedUnlessSomebodyIsAtIt() throws {
        try directory.makeDirectory("d")
        let temporary = try relative("d/.syncthing.f.tmp")
        #expect(try !root.removeTemporary(temporary))
        try {
            let file = try staged("1", for: "d/f")
            #expect(try !root.removeTemporary(temporary))
            #expect(directory.names("d") == [".syncthing.f.tmp"])
            try file.synchronize()
        }()
        try directory.write("mine", to: "d/f")
        #expect(try !root.removeTemporary(relative("d/f")))
        #expect(try root.removeTemporary(temporary))
        #expect(directory.names("d") == ["f"])
    }

    @Test func aTemporaryNameLeadsBackToItsTarget() throws {
        #expect(try relative("d/.syncthing.a b.txt.tmp").temporaryTarget?.text == "d/a b.txt")
        for name in ["d/f", ".syncthing.f", "f.tmp", ".syncthing..tmp", "~syncthing~f.tmp"] {
            #expect(try relative(name).temporaryTarget == nil, "\(name)")
        }
        for length in [1, 144, 145, 146, 200, 255] {
            let path = try relative("d/" + String(repeating: "n", count: length))
            let back = path.temporaryPath?.temporaryTarget
            #expect(back == (length <= 145 ? path : nil))
        }
    }

    @Test func manyFilesAreStagedInOneOpenedDirectory() throws {
        try directory.makeDirectory("d")
        let opened = try root.directory(relative("d"))
        for name in ["d/1", "d/2"] {
            let file = try root.stage(relative(name), in: opened, resuming: true)
            try file.write(Array(name.utf8), at: 0)
            _ = try file.commit(replacing: .nothing, permissions: 0o600, modified: nil)
            #expect(directory.text(name) == name)
        }
        #expect(failure { _ = try root.stage(relative("e/1"), in: opened, resuming: true) }?.code == .invalidPath)
        #expect(failure { _ = try root.stage(relative("1"), in: opened, resuming: true) }?.code == .invalidPath)
    }
}

@Suite struct AtomicFileTests {
    let directory: TemporaryTree

    init() throws { directory = try TemporaryTree() }

    @Test func contentsAreReplacedWhole() throws {
        let path = directory.path("config.toml")
        for text in ["one", "a longer text", ""] {
            try AtomicFile.write(path: path, contents: Array(text.utf8), permissions: 0o600)
            #expect(directory.text("config.toml") == text)
            #expect(try AtomicFile.read(path: path) == Array(text.utf8))
            #expect(try directory.root.status(of: relative("config.toml"))?.permissions == 0o600)
        }
        #expect(directory.names() == ["config.toml"])
        #expect(directory.openDescriptorCount == 1)
    }

    @Test func aLinkedFileIsReplacedWhereItIs() throws {
        let real = directory.outside("real.toml")
        try "old".write(toFile: real, atomically: false, encoding: .utf8)
        try directory.link("config.toml", to: "../outside/real.toml")
        try AtomicFile.write(path: directory.path("config.toml"), contents: Array("new".utf8), permissions: 0o644)
        #expect(try directory.root.status(of: relative("config.toml"))?.type == .symlink)
        #expect(try String(contentsOfFile: real, encoding: .utf8) == "new")
        #expect(try AtomicFile.read(path: directory.path("config.toml")) == Array("new".utf8))
    }

    @Test func aFailureLeavesTheOldContents() throws {
        try directory.write("old", to: "f")
        try directory.makeDirectory(".syncthing.f.tmp")
        let error = failure { try AtomicFile.write(path: directory.path("f"), contents: [1], permissions: 0o600) }
        #expect(error?.code == .isADirectory)
        #expect(directory.text("f") == "old")
        #expect(
            failure { try AtomicFile.write(path: directory.path("no/f"), contents: [1], permissions: 0o600) }?.code
                == .notFound)
        #expect(failure { _ = try AtomicFile.read(path: directory.path("no")) }?.code == .notFound)
    }

    @Test func aFileBeyondTheLimitIsRefused() throws {
        try directory.write("12345", to: "f")
        #expect(try AtomicFile.read(path: directory.path("f"), byteCountLimit: 5).count == 5)
        #expect(failure { _ = try AtomicFile.read(path: directory.path("f"), byteCountLimit: 4) }?.code == .tooLarge)
    }

    @Test(arguments: [
        ("x", ".", "x"), ("/x", "/", "x"), ("a/x", "a", "x"), ("/a/b/x", "/a/b", "x"), ("../x", "..", "x"),
        ("a//x", "a/", "x"),
    ]) func aPathIsADirectoryAndAName(path: String, parent: String, name: String) throws {
        let split = try AtomicFile.split(path)
        #expect(split.directory == parent)
        #expect(split.name.text == name)
    }

    @Test(arguments: ["", "/", "a/", "..", "a/..", ".", "a\0", "a\0/b"]) func aPathWithoutANameIsRefused(path: String) {
        let code = failure { try AtomicFile.write(path: path, contents: [], permissions: 0o600) }?.code
        #expect(code == .invalidPath || code == .notFound)
    }
}
