import BlockExchange
import FileAccess
import Testing

@testable import FolderSync

@Suite struct NewcomersTests {
    typealias Twin = Newcomers.Twin

    private static func path(_ text: String) -> RelativePath { RelativePath(text)! }

    private static let disk = DiskTraits(foldsCase: true)

    private static func judge(_ name: String, _ arrival: Newcomers.Arrival, over twin: Twin?) -> Newcomers.Verdict {
        var newcomers = Newcomers()
        return newcomers.judge(path(name), arrival, over: twin, on: disk)
    }

    @Test func whatHasNoTwinHasRoom() {
        #expect(Self.judge("a", .downloaded, over: nil) == .room)
        #expect(Self.judge("a", .directory, over: nil) == .room)
        #expect(Self.judge("a", .renamed(from: "b"), over: nil) == .room)
    }

    @Test func ofTwoThatAreNewTheFirstComes() {
        var newcomers = Newcomers()
        #expect(newcomers.judge(Self.path("Dir/a"), .downloaded, over: nil, on: Self.disk) == .room)
        #expect(newcomers.judge(Self.path("dir/A"), .downloaded, over: nil, on: Self.disk) == .taken(by: "Dir/a"))
        // Twice in one plan, as a member of a group is: it is the same.
        #expect(newcomers.judge(Self.path("Dir/a"), .downloaded, over: nil, on: Self.disk) == .room)
        #expect(newcomers.judge(Self.path("dir/b"), .downloaded, over: nil, on: Self.disk) == .room)
    }

    @Test func whatHasLostDoesNotTakeThePlace() {
        var newcomers = Newcomers()
        let stays = Twin(path: Self.path("A"), leaving: nil)
        #expect(newcomers.judge(Self.path("a"), .downloaded, over: stays, on: Self.disk) == .taken(by: "A"))
        #expect(newcomers.judge(Self.path("A"), .downloaded, over: nil, on: Self.disk) == .room)
    }

    @Test(arguments: [Newcomers.Arrival.downloaded, .directory, .renamed(from: "A")])
    func whatStaysKeepsThePlace(_ arrival: Newcomers.Arrival) {
        #expect(Self.judge("a", arrival, over: Twin(path: Self.path("A"), leaving: nil)) == .taken(by: "A"))
    }

    @Test func whatIsDeletedElsewhereGoesFirst() {
        let file = Twin(path: Self.path("A"), leaving: .file)
        #expect(Self.judge("a", .downloaded, over: file) == .later)
        #expect(Self.judge("a", .directory, over: file) == .later)
        #expect(Self.judge("a", .renamed(from: "b"), over: file) == .later)
        #expect(Self.judge("a", .renamed(from: "A"), over: file) == .room)
    }

    @Test func aDirectoryIsRenamedWhereItIs() {
        let directory = Twin(path: Self.path("x/Dir"), leaving: .directory)
        #expect(Self.judge("x/dir", .directory, over: directory) == .renaming(Self.path("x/Dir")))
        #expect(Self.judge("x/dir", .downloaded, over: directory) == .later)
        // What is in the way is higher up: it is renamed by its own step.
        let above = Twin(path: Self.path("X"), leaving: .directory)
        #expect(Self.judge("x/dir", .directory, over: above) == .later)
    }

    @Test(arguments: [".stignore", ".STIGNORE", ".stversions/a"])
    func theAgentsOwnNamesNeverGiveWay(_ own: String) {
        let twin = Twin(path: Self.path(own), leaving: .file)
        #expect(Self.judge(".StIgnore", .downloaded, over: twin) == .taken(by: own))
    }
}
