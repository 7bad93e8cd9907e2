import BlockExchange
import Foundation
import SyncTestKit
import Testing

@testable import AgentConfiguration

@Suite struct FolderPreparationTests {
    let directory: TemporaryDirectory
    let places: AgentPlaces

    init() throws {
        directory = try TemporaryDirectory()
        places = try AgentPlaces.resolve(home: directory.path + "/home", environment: [:])
        try places.createDirectories()
    }

    func folder(_ id: String, _ name: String, _ mode: FolderConfiguration.Mode = .selective) -> FolderConfiguration {
        FolderConfiguration(id: FolderID(id), path: directory.path + "/" + name, mode: mode)
    }

    func prepare(_ folder: FolderConfiguration, besides others: FolderConfiguration...) throws {
        try FolderPreparation.prepare(folder, others: others, places: places)
    }

    @Test func makesARoot() throws {
        try prepare(folder("photos", "a/b c"))
        #expect(try directory.names("a/b c") == [".stfolder", ".stignore"])
        // sha256("photos") begins with these six digits.
        #expect(try directory.names("a/b c/.stfolder") == ["syncthing-folder-84a6da.txt"])
        #expect(try directory.text("a/b c/.stfolder/syncthing-folder-84a6da.txt").contains("`photos`"))
        let lines = try directory.text("a/b c/.stignore").split(separator: "\n")
        #expect(lines.last == "*")
        #expect(lines.dropLast().allSatisfy { $0.hasPrefix("//") })
    }

    /// The agent's home has nothing to do with a folder's disk.
    @Test func adviceForADiskThatIsReadOnly() {
        errno = EROFS
        let folder = StoredFile.failure(.make, "/ro/a", isOfFolder: true)
        #expect(folder.code == .noPermission)
        #expect(folder.message.contains("choose a directory on another disk, or mount this disk writable"))
        errno = EROFS
        #expect(StoredFile.failure(.write, "/ro/a").message.contains("--home"))
    }

    @Test func fullModeSelectsEverything() throws {
        try prepare(folder("f", "a", .full))
        #expect(try directory.names("a") == [".stfolder"])
    }

    @Test func whatIsThereStays() throws {
        try FileManager.default.createDirectory(
            atPath: directory.path + "/a/.stfolder", withIntermediateDirectories: true)
        try directory.write("!/x\n*\n", to: "a/.stignore")
        try directory.write("data", to: "a/file")
        try prepare(folder("f", "a"))
        try prepare(folder("f", "a"), besides: folder("f", "a"), folder("g", "b"))
        #expect(try directory.names("a") == [".stfolder", ".stignore", "file"])
        #expect(try directory.names("a/.stfolder") == [])
        #expect(try directory.text("a/.stignore") == "!/x\n*\n")
    }

    @Test func refusesWhatIsNoPlaceForAFolder() throws {
        try directory.write("", to: "file")
        try FileManager.default.createSymbolicLink(atPath: directory.path + "/root", withDestinationPath: "/")
        let before = try directory.names()
        let cases: [(FolderConfiguration, ConfigurationError.Code)] = [
            (FolderConfiguration(id: FolderID("f"), path: "relative"), .invalidValue),
            (FolderConfiguration(id: FolderID("f"), path: "/"), .invalidValue),
            (FolderConfiguration(id: FolderID("f"), path: "/a/../b"), .invalidValue),
            (folder("f", "file"), .folderRefused), (folder("f", "file/below"), .folderRefused),
            (folder("f", "root"), .folderRefused), (folder("f", "home"), .folderRefused),
            (FolderConfiguration(id: FolderID("f"), path: directory.path), .folderRefused),
        ]
        for (folder, code) in cases { #expect(failure { try prepare(folder) }?.code == code, "\(folder.path)") }
        #expect(try directory.names() == before)
        #expect(try directory.names("home") == ["blocks"])
    }

    /// A folder's path is set to where its files are already, and to no other place.
    @Test func aPathIsSetOnlyToWhereTheFolderIs() throws {
        func check(_ folder: FolderConfiguration, besides others: FolderConfiguration...) throws {
            try FolderPreparation.checkMoved(folder, from: "/old", others: others, places: places)
        }
        try prepare(folder("f", "there"))
        try check(folder("f", "there"))
        try FileManager.default.createDirectory(atPath: directory.path + "/bare", withIntermediateDirectories: true)
        try directory.write("", to: "file")
        let before = try directory.names()
        for (name, words) in [
            ("missing", ["does not exist", "move /old there first"]),
            ("bare", [".stfolder", "move all of /old there"]),
            ("file", ["this is a file"]), ("home", ["private key"]),
        ] {
            let error = failure { try check(folder("f", name)) }
            #expect(error?.code == .folderRefused, "\(name)")
            for word in words { #expect(error?.message.contains(word) == true, "\(String(describing: error))") }
        }
        #expect(failure { try check(folder("f", "there"), besides: folder("g", "there")) }?.code == .duplicate)
        #expect(try directory.names() == before && directory.names("bare") == [])
    }

    @Test func refusesNestingThroughLinksToo() throws {
        try FileManager.default.createDirectory(atPath: directory.path + "/a/b", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: directory.path + "/link", withDestinationPath: "a")
        let a = folder("a", "a")
        #expect(failure { try prepare(folder("f", "a/b"), besides: a) }?.code == .nestedFolder)
        #expect(failure { try prepare(folder("f", "a/new/deep"), besides: a) }?.code == .nestedFolder)
        #expect(failure { try prepare(folder("f", "link/b"), besides: a) }?.code == .nestedFolder)
        #expect(failure { try prepare(folder("f", "link"), besides: a) }?.code == .duplicate)
        #expect(failure { try prepare(folder("f", "a"), besides: folder("b", "link/b")) }?.code == .nestedFolder)
        #expect(try directory.names("a") == ["b"])
        #expect(try directory.names("a/b") == [])
    }

    @Test func aFolderBesideTheKeyIsAllowed() throws {
        try prepare(folder("f", "home/data"))
        #expect(try directory.names("home/data") == [".stfolder", ".stignore"])
    }
}
