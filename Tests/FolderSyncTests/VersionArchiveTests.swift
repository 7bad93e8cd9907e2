import AgentConfiguration
import FileAccess
import Foundation
import IndexStore
import Reconciliation
import Testing

@testable import AgentContext
@testable import FolderSync

@Suite struct VersionArchiveTests {
    /// A folder and a directory beside it, removed at the end.
    final class Place {
        let directory = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "versions-\(UUID().uuidString)").path
        let root: RootDirectory
        var now: Int64 = 1_795_289_512
        var utcOffset: Int64 = 3600

        init() throws {
            try FileManager.default.createDirectory(atPath: directory + "/folder", withIntermediateDirectories: true)
            root = try RootDirectory(path: directory + "/folder")
        }

        deinit { try? FileManager.default.removeItem(atPath: directory) }

        func archive(_ settings: FolderVersions) throws -> VersionArchive {
            let utcOffset = utcOffset
            return try #require(
                try VersionArchive.open(of: root, settings, isCreating: true, now: now, utcOffset: { _ in utcOffset }))
        }

        func write(_ text: String, _ name: String) throws -> RelativePath {
            let url = URL(fileURLWithPath: "\(directory)/folder/\(name)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
            return try RelativePath(parsing: name)
        }

        func status(_ path: RelativePath) throws -> FileAccess.FileStatus { try #require(try root.status(of: path)) }

        /// Names and contents of all files below a directory of the place.
        func files(_ name: String) -> [String: String] {
            let base = "\(directory)/\(name)"
            let names = FileManager.default.enumerator(atPath: base)?.compactMap { $0 as? String } ?? []
            var files: [String: String] = [:]
            for name in names {
                if let text = try? String(contentsOfFile: "\(base)/\(name)", encoding: .utf8) { files[name] = text }
            }
            return files
        }
    }

    /// Of each is kept what the rules keep.
    @Test func namesThatDifferInNormalizationAloneHaveVersionsOfTheirOwn() throws {
        let place = try Place()
        for name in ["\u{E9}", "e\u{301}"] { _ = try place.write("one", ".stversions/\(name)~20251101-101112.txt") }
        let archive = try place.archive(FolderVersions(kind: .simple, keep: 1))
        try archive.clean()
        #expect(
            try archive.list(nil).versions.map { Array($0.name.utf8) }
                == ["e\u{301}.txt", "\u{E9}.txt"].map { Array($0.utf8) })
    }

    @Test func whatGoesIsUnderSyncthingsNames() throws {
        let place = try Place()
        let path = try place.write("one", "d/a.txt")
        let simple = try place.archive(FolderVersions(kind: .simple))
        // An hour ahead of UTC.
        #expect(try simple.take(path, expecting: place.status(path)).text == "d/a~20261121-203152.txt")
        _ = try place.write("two", "d/a.txt")
        #expect(try simple.take(path, expecting: place.status(path)).text == "d/a~20261121-203153.txt")
        #expect(
            place.files("folder/.stversions") == ["d/a~20261121-203152.txt": "one", "d/a~20261121-203153.txt": "two"])
        #expect(try place.root.status(of: path) == nil)

        let trashcan = try place.archive(FolderVersions(kind: .trashcan))
        for text in ["three", "four"] {
            _ = try place.write(text, "d/a.txt")
            #expect(try trashcan.take(path, expecting: place.status(path)) == path)
        }
        #expect(place.files("folder/.stversions")["d/a.txt"] == "four")
        // Without it in the name, the file's time says when it was archived.
        #expect(try trashcan.root.status(of: path)?.modified.seconds == place.now)
        let versions = try simple.versions(of: path)
        #expect(
            Set(versions.map(\.path.text)) == ["d/a~20261121-203152.txt", "d/a~20261121-203153.txt", "d/a.txt"])
        #expect(versions.map(\.archived) == [place.now, place.now, place.now + 1])
    }

    @Test(arguments: [FolderVersions.Kind.trashcan, .simple, .staggered])
    func whatIsReplacedHasTwoNamesUntilItIs(_ kind: FolderVersions.Kind) throws {
        let place = try Place()
        let path = try place.write("one", "a.txt")
        let archive = try place.archive(FolderVersions(kind: kind))
        let status = try place.status(path)
        let kept = try archive.keep(path, expecting: status)
        #expect(place.files("folder")["a.txt"] == "one")
        #expect(place.files("folder/.stversions")[kept.name.text] == "one")
        // Unchanged by that, or the replacement would be refused.
        #expect(kept.left == (try place.status(path)) && kept.left.modified == status.modified)
        archive.withdraw(kept)
        #expect(place.files("folder/.stversions").isEmpty)
        // Again after a death in between.
        _ = try archive.keep(path, expecting: place.status(path))
        let again = try archive.keep(path, expecting: place.status(path))
        let staged = try place.root.stage(path)
        try staged.write(Array("two".utf8), at: 0)
        _ = try staged.commit(replacing: .exactly(again.left), permissions: nil, modified: nil)
        let name = try archive.finish(again)
        #expect(place.files("folder")["a.txt"] == "two")
        #expect(place.files("folder/.stversions")[name.text] == "one")
        #expect(place.files("folder/.stversions").count == (kind == .trashcan ? 1 : 2))
        #expect(!place.files("folder/.stversions").keys.contains { $0.contains(".syncthing.") })
    }

    @Test(arguments: [FolderVersions.Kind.trashcan, .simple])
    func whatChangedMeanwhileStays(_ kind: FolderVersions.Kind) throws {
        let place = try Place()
        let path = try place.write("one", "a.txt")
        let archive = try place.archive(FolderVersions(kind: kind))
        let status = try place.status(path)
        _ = try place.write("other", "a.txt")
        #expect { try archive.take(path, expecting: status) } throws: {
            ($0 as? FileAccessError)?.code == .changedOnDisk
        }
        #expect { try archive.keep(path, expecting: status) } throws: {
            ($0 as? FileAccessError)?.code == .changedOnDisk
        }
        #expect(place.files("folder") == ["a.txt": "other"])
    }

    /// Names of old files and directories that stand in each other's way in the archive.
    @Test func aFileAndADirectoryOfOneNameAreBothKept() throws {
        let place = try Place()
        let archive = try place.archive(FolderVersions(kind: .trashcan))
        func take(_ text: String, _ name: String) throws {
            let path = try place.write(text, name)
            try archive.take(path, expecting: place.status(path))
        }
        try take("file", "x")
        try take("below", "x/y")
        #expect(place.files("folder/.stversions") == ["x~20261121-203152": "file", "x/y": "below"])
        try FileManager.default.removeItem(atPath: place.directory + "/folder/x")
        try take("file again", "x")
        #expect(
            place.files("folder/.stversions")
                == ["x~20261121-203152": "file", "x/y": "below", "x~20261121-203153": "file again"])
    }

    @Test(.enabled(if: access("/dev/shm", W_OK) == 0)) func anArchiveOnAnotherDiskGetsCopies() throws {
        let place = try Place()
        let other = "/dev/shm/versions-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: other) }
        #expect(try VersionArchive.prepare(at: other, of: place.root, note: nil))
        let archive = try place.archive(FolderVersions(kind: .simple, path: other))
        try #require(try archive.root.status().device != place.root.status().device, "both are on one disk here")
        let path = try place.write("one", "d/a.txt")
        let status = try place.status(path)
        let kept = try archive.keep(path, expecting: status)
        #expect(place.files("folder")["d/a.txt"] == "one")
        #expect(try String(contentsOfFile: "\(other)/\(kept.name.text)", encoding: .utf8) == "one")
        let taken = try archive.take(path, expecting: status)
        #expect(place.files("folder").isEmpty)
        #expect(try String(contentsOfFile: "\(other)/\(taken.text)", encoding: .utf8) == "one")
        #expect(try archive.root.status(of: taken)?.modified == status.modified)
    }

    /// Where its disk is not mounted, nothing is in its place, or the empty directory for the mount.
    @Test func anArchiveOutsideIsMadeOnce() throws {
        let place = try Place()
        let other = place.directory + "/disk/old"
        let settings = FolderVersions(kind: .simple, path: other)
        #expect(try VersionArchive.prepare(at: other, of: place.root, note: nil))
        let path = try place.write("one", "a.txt")
        try place.archive(settings).take(path, expecting: place.status(path))
        _ = try place.write("two", "a.txt")
        try FileManager.default.moveItem(atPath: place.directory + "/disk", toPath: place.directory + "/unplugged")
        for isMountPoint in [false, true] {
            if isMountPoint {
                try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
            }
            #expect(try !VersionArchive.prepare(at: other, of: place.root, note: .made(other)))
            for isCreating in [true, false] {
                let error = #expect(throws: FileAccessError.self) {
                    try VersionArchive.open(
                        of: place.root, settings, isCreating: isCreating, now: place.now, utcOffset: { _ in 0 })
                }
                #expect(error?.code == .noArchive)
            }
            #expect(place.files("disk").isEmpty)
        }
        #expect(FileManager.default.fileExists(atPath: other))
        try FileManager.default.removeItem(atPath: place.directory + "/disk")
        try FileManager.default.moveItem(atPath: place.directory + "/unplugged", toPath: place.directory + "/disk")
        #expect(try VersionArchive.prepare(at: other, of: place.root, note: .made(other)))
        #expect(try place.archive(settings).versions(of: path).count == 1)
    }

    /// Unless the folder is from before archives were marked.
    @Test(arguments: [FolderVersions.Kind.trashcan, .staggered])
    func aDirectoryInUseIsNoArchive(_ kind: FolderVersions.Kind) throws {
        let place = try Place()
        let other = place.directory + "/disk"
        for name in ["letters", "empty/project"] {
            try FileManager.default.createDirectory(atPath: "\(other)/\(name)", withIntermediateDirectories: true)
        }
        let letter = "letters/report~20200101-120000.txt"
        try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(other)/\(letter)"))
        let settings = FolderVersions(kind: kind, path: other, cleanoutDays: 1)
        for note in [nil, IndexStore.ArchiveNote.made("/elsewhere")] {
            let error = #expect(throws: FileAccessError.self) {
                try VersionArchive.prepare(at: other, of: place.root, note: note)
            }
            #expect(error?.code == .noArchive)
        }
        #expect(try !VersionArchive.prepare(at: other, of: place.root, note: .made(other)))
        #expect(throws: FileAccessError.self) { try place.archive(settings) }
        #expect(place.files("disk") == [letter: "mine"])

        #expect(try VersionArchive.prepare(at: other, of: place.root, note: .unknown))
        let archive = try place.archive(settings)
        #expect(try archive.list(RelativePath(parsing: "letters")).versions.map(\.name) == ["letters/report.txt"])
        #expect(try archive.list(nil).versions.isEmpty, "the marker is no version")
        place.now = WallTime.now.seconds + 500 * 86_400
        try place.archive(settings).clean()
        #expect(Array(place.files("disk").keys) == [ArchiveMarker.name])
    }

    @Test func anOldArchiveThatIsNotThereIsNotMadeElsewhere() throws {
        let place = try Place()
        let other = place.directory + "/usb/old"
        #expect(try !VersionArchive.prepare(at: other, of: place.root, note: .unknown))
        #expect(!FileManager.default.fileExists(atPath: place.directory + "/usb"))
        try FileManager.default.createDirectory(atPath: place.directory + "/usb", withIntermediateDirectories: true)
        #expect(try VersionArchive.prepare(at: other, of: place.root, note: .unknown))
    }

    @Test func anArchiveInTheFolderByAnyWayIsRefused() throws {
        let place = try Place()
        let inside = place.directory + "/folder/old"
        try FileManager.default.createDirectory(atPath: inside, withIntermediateDirectories: true)
        let link = place.directory + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: inside)
        for path in [inside, link, place.directory] {
            #expect(throws: FolderHalt.self) { try place.archive(FolderVersions(kind: .simple, path: path)) }
            #expect(throws: FolderHalt.self) { try VersionArchive.prepare(at: path, of: place.root, note: nil) }
        }
        // The archive itself is no link that leads somewhere else.
        #expect(place.files("folder").isEmpty)
        try FileManager.default.createSymbolicLink(
            atPath: place.directory + "/folder/.stversions", withDestinationPath: "/tmp")
        #expect(throws: FileAccessError.self) { try place.archive(FolderVersions(kind: .simple)) }
    }

    @Test func whatTheRulesDoNotKeepGoes() throws {
        let place = try Place()
        let settings = FolderVersions(kind: .simple, keep: 2, cleanoutDays: 10)
        let (path, other) = (try RelativePath(parsing: "d/a.txt"), try RelativePath(parsing: "d/e/b"))
        for number in 1...4 {
            place.now += 100
            for path in [path, other] {
                _ = try place.write("\(number)", path.text)
                let archive = try place.archive(settings)
                let archived = try archive.take(path, expecting: place.status(path))
                if path == other { try archive.expire(after: [archived]) }
            }
        }
        var left = place.files("folder/.stversions")
        #expect(left.filter { $0.key.hasPrefix("d/e/") }.values.sorted() == ["3", "4"])
        #expect(left.filter { $0.key.hasPrefix("d/a") }.count == 4)
        try place.archive(settings).clean()
        left = place.files("folder/.stversions")
        #expect(left.filter { $0.key.hasPrefix("d/a") }.values.sorted() == ["3", "4"])
        place.now += 11 * 86_400
        try place.archive(settings).clean()
        #expect(try place.root.list(RelativePath(parsing: ".stversions")).isEmpty)
    }

    /// Archives `texts` one after the other as contents of one file, as a folder does.
    private func archive(_ texts: [String], in place: Place, _ settings: FolderVersions) throws -> VersionArchive {
        for text in texts {
            let path = try place.write(text, "a.txt")
            let archive = try place.archive(settings)
            let archived = try archive.take(path, expecting: place.status(path))
            try archive.expire(after: [archived])
            #expect(place.files("folder/.stversions")[archived.text] == text)
            place.now += 60
        }
        return try place.archive(settings)
    }

    /// To another zone, west or east, or to a clock that was set back.
    @Test(arguments: [(-8, 0), (13, 0), (9, -86_400), (9, -3600), (0, -3600)])
    func whatIsArchivedAfterTheClockChangedStays(_ hours: Int64, _ setBack: Int64) throws {
        let place = try Place()
        place.utcOffset = 9 * 3600
        let settings = FolderVersions(kind: .simple, keep: 3)
        _ = try archive(["one", "two", "three"], in: place, settings)
        place.utcOffset = hours * 3600
        place.now += setBack
        let archive = try archive(["four", "five", "six"], in: place, settings)
        #expect(Set(place.files("folder/.stversions").values) == ["four", "five", "six"])
        let last = try #require(try archive.versions(of: RelativePath(parsing: "a.txt")).last)
        #expect(place.files("folder/.stversions")[last.path.text] == "six")
    }

    @Test func whatIsArchivedRightAfterAnotherVersionIsThereForNow() throws {
        let place = try Place()
        let settings = FolderVersions(kind: .staggered)
        _ = try archive(["one"], in: place, settings)
        place.now -= 50
        _ = try archive(["two"], in: place, settings)
        #expect(Set(place.files("folder/.stversions").values) == ["one", "two"])
    }

    /// The zone in which a name was written is known by the disk's time.
    @Test func versionsHaveTheTimeAtWhichTheyWereArchivedInAnyZone() throws {
        let place = try Place()
        place.now = WallTime.now.seconds
        place.utcOffset = 9 * 3600
        let path = try place.write("one", "a.txt")
        let archived = try place.archive(FolderVersions(kind: .simple)).take(path, expecting: place.status(path))
        place.utcOffset = -8 * 3600
        let archive = try place.archive(FolderVersions(kind: .simple))
        let changed = try #require(try archive.root.status(of: archived)?.changed)
        // Else the machine had no time for the test, and the disk says nothing.
        guard changed.seconds - place.now <= 10 else { return }
        #expect(try archive.versions(of: path).map(\.archived) == [place.now])
    }

    @Test(arguments: [FolderVersions.Kind.simple, .staggered])
    func whatIsNoVersionStays(_ kind: FolderVersions.Kind) throws {
        let place = try Place()
        let settings = FolderVersions(kind: kind, cleanoutDays: 10, maximumAgeDays: 10)
        let path = try place.write("version", "d/e/a.txt")
        let archive = try place.archive(settings)
        try archive.take(path, expecting: place.status(path))
        let directory = place.directory + "/folder/.stversions/"
        for name in ["empty/project", "letters"] {
            try FileManager.default.createDirectory(atPath: directory + name, withIntermediateDirectories: true)
        }
        try Data("mine".utf8).write(to: URL(fileURLWithPath: directory + "letters/report.txt"))
        place.now = max(place.now, WallTime.now.seconds + 11 * 86_400)
        try place.archive(settings).clean()
        #expect(place.files("folder/.stversions") == ["letters/report.txt": "mine"])
        #expect(try archive.root.list(nil).compactMap(\.name).sorted() == ["empty", "letters"])
        #expect(FileManager.default.fileExists(atPath: directory + "empty/project"))
    }

    /// Fails where something of this name is to be removed: a file gets another name first.
    private final class Stubborn: DiskInterposer {
        let name: String

        init(_ name: String) { self.name = name }

        func verdict(on change: DiskChange) -> DiskVerdict {
            switch change {
            case .rename(_, name, _, _, _), .removeDirectory(_, name): .fail(EIO)
            default: .proceed
            }
        }
    }

    /// Whatever comes after it, in the same directory, below it and beside it.
    @Test(arguments: [("b~20261121-203152", false), ("b~20261121-203152", true), ("d", false)])
    func whatCannotBeRemovedHoldsUpNothingElse(_ name: String, isExpiring: Bool) throws {
        let place = try Place()
        let settings = FolderVersions(kind: .simple, cleanoutDays: 10)
        let paths = try ["a", "b", "c", "d/b", "d/c", "e/b", "e/c"].map { name in
            let path = try place.write(name, name)
            try place.archive(settings).take(path, expecting: place.status(path))
            return path
        }
        let root = try RootDirectory(path: place.directory + "/folder", interposer: Stubborn(name))
        let now = place.now + 11 * 86_400
        let archive = try #require(
            try VersionArchive.open(of: root, settings, isCreating: false, now: now, utcOffset: { _ in 3600 }))
        let error = #expect(throws: FileAccessError.self) {
            let time = ConflictTime(unixSeconds: now)
            let come = try paths.map { try $0.replacingName(with: VersionName.tagged($0.name, at: time)) }
            if isExpiring { try archive.expire(after: come) } else { try archive.clean() }
        }
        #expect(error?.code == .io)
        #expect(Set(place.files("folder/.stversions").values) == (name == "d" ? [] : ["b", "d/b", "e/b"]))
        #expect(Set(try archive.root.list(nil).compactMap(\.name)) == (name == "d" ? ["d"] : [name, "d", "e"]))
    }

    @Test(.enabled(if: geteuid() != 0, "root may read everything"))
    func aDirectoryThatCannotBeReadHoldsUpNothingElse() throws {
        let place = try Place()
        let settings = FolderVersions(kind: .simple, cleanoutDays: 10)
        for name in ["a/x", "b/x", "c/x"] {
            let path = try place.write(name, name)
            try place.archive(settings).take(path, expecting: place.status(path))
        }
        let closed = place.directory + "/folder/.stversions/b"
        try #require(chmod(closed, 0) == 0)
        place.now += 11 * 86_400
        let archive = try place.archive(settings)
        #expect(throws: FileAccessError.self) { try archive.clean() }
        try #require(chmod(closed, 0o700) == 0)
        #expect(Set(place.files("folder/.stversions").values) == ["b/x"])
    }

    /// Their names are cut in the archive.
    @Test(arguments: [FolderVersions.Kind.simple, .trashcan])
    func versionsOfLongNamesAreThoseOfTheirFiles(_ kind: FolderVersions.Kind) throws {
        let place = try Place()
        let settings = FolderVersions(kind: kind, keep: 2)
        let names = ["1", "2"].map { "d/" + String(repeating: "a", count: 250) + $0 }
        for (name, texts) in [(names[1], ["only"]), (names[0], ["one", "two", "three"])] {
            for text in texts {
                place.now += 60
                let path = try place.write(text, name)
                let archive = try place.archive(settings)
                try archive.expire(after: [archive.take(path, expecting: place.status(path))])
            }
        }
        let archive = try place.archive(settings)
        try archive.clean()
        let files = place.files("folder/.stversions")
        let left = kind == .trashcan ? ["three"] : ["two", "three"]
        for (name, texts) in [(names[0], left), (names[1], ["only"])] {
            let versions = try archive.versions(of: RelativePath(parsing: name))
            #expect(versions.map { files[$0.path.text] } == texts && versions.allSatisfy { $0.name == name })
        }
    }

    /// The file's own name looks like that of a version of another file.
    @Test func aTrashcanKeepsAFileWithTheNameOfAVersion() throws {
        let place = try Place()
        place.now = WallTime.now.seconds
        let settings = FolderVersions(kind: .trashcan, cleanoutDays: 2)
        let (own, other) = (try place.write("own", "d/a~20200101-000000.txt"), try RelativePath(parsing: "d/a.txt"))
        let archive = try place.archive(settings)
        let archived = try archive.take(own, expecting: place.status(own))
        #expect(try archive.versions(of: own).map(\.path) == [archived])
        #expect(try archive.versions(of: other).isEmpty)
        // As Syncthing has it, and this program had it.
        let untagged = place.directory + "/folder/.stversions/d/b~20200101-000000.txt"
        try Data("before".utf8).write(to: URL(fileURLWithPath: untagged))
        place.now += 86_400
        try place.archive(settings).clean()
        #expect(Set(place.files("folder/.stversions").values) == ["own", "before"])
        place.now += 86_400 + 3600
        try place.archive(settings).clean()
        #expect(place.files("folder/.stversions").isEmpty)
    }

    @Test func aTrashcanIsEmptiedByDays() throws {
        let place = try Place()
        // The disk's own clock counts as well.
        place.now = WallTime.now.seconds
        let settings = FolderVersions(kind: .trashcan, cleanoutDays: 2)
        let path = try place.write("old", "a")
        try place.archive(settings).take(path, expecting: place.status(path))
        place.now += 86_400
        try place.archive(settings).clean()
        #expect(place.files("folder/.stversions") == ["a": "old"])
        // The hour: the disk's clock goes on while the test waits for its turn.
        place.now += 86_400 + 3600
        try place.archive(settings).clean()
        #expect(place.files("folder/.stversions").isEmpty)
    }
}
