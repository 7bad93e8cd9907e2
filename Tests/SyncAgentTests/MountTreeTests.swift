import BlockExchange
import FileAccess
import MountProtocol
import Testing

@testable import SyncAgent

@Suite struct MountTreeTests {
    private let file = FileInfo(
        name: "d/a", size: 5, permissions: 0o100640, modifiedSeconds: 10, modifiedNanoseconds: 7)

    private func onDisk(_ type: FileType = .regular, size: Int64 = 5, seconds: Int64 = 10) -> MountTree.OnDisk {
        MountTree.OnDisk(
            status: FileAccess.FileStatus(
                type: type, size: size, modified: FileTime(seconds: seconds, nanoseconds: 7), inode: 3,
                permissions: 0o600))
    }

    @Test func theSameVersionIsTheSameHereAndAbsent() throws {
        let absent = try #require(MountTree.entry("a", file, isDirectory: false, onDisk: nil))
        let here = try #require(MountTree.entry("a", file, isDirectory: false, onDisk: onDisk()))
        #expect(absent.version == here.version && absent.version != 0)
        #expect(!absent.isHere && here.isHere)
        #expect(absent.permissions == 0o640 && absent.size == 5 && absent.modifiedNanoseconds == 7)
    }

    @Test func whatIsHereIsShownAsItIs() throws {
        let absent = try #require(MountTree.entry("a", file, isDirectory: false, onDisk: nil))
        let other = try #require(MountTree.entry("a", file, isDirectory: false, onDisk: onDisk(size: 9, seconds: 11)))
        #expect(other.size == 9 && other.modifiedSeconds == 11 && other.version != absent.version)
        // Of nobody else, deleted elsewhere, a directory in the place of a file.
        #expect(MountTree.entry("a", nil, isDirectory: false, onDisk: onDisk())?.kind == .file)
        var deleted = file
        deleted.isDeleted = true
        #expect(MountTree.entry("a", deleted, isDirectory: false, onDisk: onDisk())?.isHere == true)
        #expect(MountTree.entry("a", file, isDirectory: false, onDisk: onDisk(.directory))?.kind == .directory)
        #expect(MountTree.entry("a", nil, isDirectory: false, onDisk: onDisk(.other)) == nil)
    }

    @Test func whatNobodyHasIsNotShown() {
        var gone = file
        gone.isDeleted = true
        #expect(MountTree.entry("a", gone, isDirectory: false, onDisk: nil) == nil)
        gone.isDeleted = false
        gone.isInvalid = true
        #expect(MountTree.entry("a", gone, isDirectory: false, onDisk: nil) == nil)
        #expect(MountTree.entry("a", nil, isDirectory: false, onDisk: nil) == nil)
        // A directory of which only what is below was announced.
        #expect(MountTree.entry("a", nil, isDirectory: true, onDisk: nil)?.permissions == 0o755)
    }

    @Test func hostileNumbersStayInTheirLimits() throws {
        var hostile = file
        (hostile.size, hostile.modifiedNanoseconds, hostile.permissions) = (-1, -5, .max)
        let entry = try #require(MountTree.entry("a", hostile, isDirectory: false, onDisk: nil))
        #expect(entry.size == 0 && entry.permissions == 0o777)
        #expect(try MountAnswer(MountAnswer.entry(entry).frame(number: 1)) == .entry(entry))
    }

    @Test func versionsDifferByAllThatMakesBytes() {
        var versions: Set<UInt64> = [MountTree.version(of: file)]
        for change in [{ $0.size = 6 }, { $0.modifiedSeconds = 11 }, { $0.kind = .symlink }]
            as [(inout FileInfo) -> Void]
        {
            var other = file
            change(&other)
            versions.insert(MountTree.version(of: other))
        }
        #expect(versions.count == 4)
    }

    @Test(
        arguments: [
            (["a", "c"], ["b"], 10, ["a", "b", "c"]), (["a", "b"], ["b"], 10, ["a", "b*"]),
            ([], ["x"], 10, ["x*"]), (["x"], [], 10, ["x"]), (["a", "b"], ["c", "d"], 3, ["a", "b", "c*"]),
            (["Z", "ä"], ["a"], 10, ["Z", "a*", "ä"]),
        ] as [([String], [String], Int, [String])])
    func listsAreMergedByBytes(index: [String], disk: [String], limit: Int, merged: [String]) {
        func entries(_ names: [String], isHere: Bool) -> [MountEntry] {
            names.map {
                MountEntry(
                    name: $0, kind: .file, version: 1, size: 0, modifiedSeconds: 0, modifiedNanoseconds: 0,
                    permissions: 0, isHere: isHere)
            }
        }
        let shown = MountTree.merged(entries(index, isHere: false), entries(disk, isHere: true), limit: limit)
        #expect(shown.map(\.name) == merged.map { $0.replacing("*", with: "") })
        #expect(shown.filter { $0.isHere }.map(\.name) == shown.map(\.name).filter(disk.contains))
    }
}
