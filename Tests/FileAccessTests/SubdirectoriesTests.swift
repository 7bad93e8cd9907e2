import Foundation
import SyncTestKit
import Testing

@testable import FileAccess

@Suite struct SubdirectoriesTests {
    let directory: TemporaryTree

    init() throws { directory = try TemporaryTree() }

    private func list(_ path: String = "", hidden: Bool = false) throws -> Subdirectories {
        try Subdirectories(of: directory.path(path), includesHidden: hidden)
    }

    @Test func onlyDirectoriesAreListedByName() throws {
        for name in ["b", "B", "a"] { try directory.makeDirectory(name) }
        try directory.write("", to: "file")
        try directory.link("to-file", to: "file")
        try directory.link("to-directory", to: "a")
        try directory.link("to-nothing", to: "gone")
        let found = try list()
        #expect(found.directories.map(\.name) == ["B", "a", "b", "to-directory"])
        #expect(found.directories.map(\.isLink) == [false, false, false, true])
        #expect(found.isWhole && found.isWritable && found.unnameable == 0)
        #expect(found.directories.map(\.isReadable) == [true, true, true, true])
    }

    @Test func hiddenOnesAreListedWhereThatIsAskedFor() throws {
        try directory.makeDirectory(".secret")
        #expect(try list().directories.isEmpty)
        #expect(try list(hidden: true).directories.map(\.name) == [".secret"])
    }

    @Test func namesThatCannotBeShownAreCounted() throws {
        try directory.makeDirectory("a\nb")
        let odd: [CChar] = Array(directory.path("").utf8CString.dropLast()) + [0x2F, -1, 0]
        #expect(mkdir(odd, 0o700) == 0)
        let found = try list()
        #expect(found.directories.isEmpty && found.unnameable == 2)
    }

    @Test func noMoreThanAThousandAreListed() throws {
        for number in 0...Subdirectories.nameLimit { try directory.makeDirectory("d\(10_000 + number)") }
        let found = try list()
        #expect(found.directories.count == Subdirectories.nameLimit && !found.isWhole)
        #expect(found.directories.first?.name == "d10000")
    }

    @Test(.enabled(if: geteuid() != 0, "root may read everything"))
    func whatMayNotBeReadIsNamed() throws {
        try directory.makeDirectory("closed")
        #expect(chmod(directory.path("closed"), 0) == 0)
        defer { chmod(directory.path("closed"), 0o700) }
        #expect(try list().directories.map(\.isReadable) == [false])
        #expect { try list("closed") } throws: { ($0 as? FileAccessError)?.code == .permission }
    }

    @Test func whatIsNotADirectoryIsRefused() throws {
        try directory.write("", to: "file")
        #expect { try list("file") } throws: { ($0 as? FileAccessError)?.code == .notADirectory }
        #expect { try list("gone") } throws: { ($0 as? FileAccessError)?.code == .notFound }
    }
}
