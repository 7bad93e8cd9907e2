import MountProtocol
import Names
import SyncTestKit
import Testing

@testable import MountRules

@Suite struct NodeTableTests {
    private func entry(
        _ name: String, version: UInt64 = 1, kind: MountEntry.Kind = .file, disk: UInt64 = 0
    ) -> MountEntry {
        MountEntry(
            name: name, kind: kind, version: version, size: 1, modifiedSeconds: 0, modifiedNanoseconds: 0,
            permissions: 0o644, isHere: disk != 0, disk: disk)
    }

    /// Two directories, or two files of the same version, whose names differ in normalization alone.
    @Test(arguments: [MountEntry.Kind.directory, .file]) func anotherSpellingIsAnotherNode(kind: MountEntry.Kind) {
        var table = NodeTable()
        let composed = table.lookUp(entry("\u{E9}", kind: kind), at: "\u{E9}", now: .zero)
        let decomposed = table.lookUp(entry("e\u{301}", kind: kind), at: "e\u{301}", now: .zero)
        #expect(composed != decomposed)
        table.rename("e\u{301}", to: "\u{E9}")
        #expect(table.numbers(at: "\u{E9}") == [decomposed] && table.numbers(at: "e\u{301}") == [])
        #expect(table[composed]?.isDetached == true)
        #expect(table[decomposed].map { NameKey($0.path) } == "\u{E9}")
    }

    @Test func aVersionIsANodeAndANameAnInode() {
        var table = NodeTable()
        let first = table.lookUp(entry("a"), at: "a", now: .zero)
        #expect(table.lookUp(entry("a"), at: "a", now: .zero) == first)
        let second = table.lookUp(entry("a", version: 2), at: "a", now: .zero)
        #expect(second != first)
        #expect(table.numbers(at: "a") == [first, second])
        #expect(NodeTable.inode(of: "a") == NodeTable.inode(of: "a"))
        #expect(NodeTable.inode(of: "a") != NodeTable.inode(of: "b"))
        // The same name as a directory is another node, and a directory is one whatever its version.
        let directory = table.lookUp(entry("a", version: 9, kind: .directory), at: "a", now: .zero)
        #expect(directory != second)
        #expect(table.lookUp(entry("a", version: 3, kind: .directory), at: "a", now: .zero) == directory)
    }

    @Test func aFileOnThisDiskIsOneNodeWhateverIsWrittenToIt() {
        var table = NodeTable()
        let absent = table.lookUp(entry("a"), at: "a", now: .zero)
        // It comes to this disk, is written to, and is replaced by another file.
        #expect(table.lookUp(entry("a", disk: 7), at: "a", now: .zero) == absent)
        #expect(table.lookUp(entry("a", version: 2, disk: 7), at: "a", now: .zero) == absent)
        #expect(table.lookUp(entry("a", version: 3, disk: 8), at: "a", now: .zero) != absent)
    }

    @Test func whatIsRenamedKeepsItsNodesAndWhatIsReplacedKeepsNone() {
        var table = NodeTable()
        let directory = table.lookUp(entry("d", kind: .directory), at: "d", now: .zero)
        let below = table.lookUp(entry("f", disk: 1), at: "d/f", now: .zero)
        let beside = table.lookUp(entry("dx", disk: 2), at: "dx", now: .zero)
        let replaced = table.lookUp(entry("f", disk: 3), at: "e/f", now: .zero)
        table.rename("d", to: "e")
        #expect(table[directory]?.path == "e" && table[directory]?.entry.name == "e")
        #expect(table[below]?.path == "e/f" && table[below]?.asOf == nil)
        #expect(table[beside]?.path == "dx")
        #expect(table[replaced]?.isDetached == true)
        #expect(table.numbers(at: "d/f") == [] && table.numbers(at: "e/f") == [below])
        table.forget(replaced, 1)
        #expect(table.numbers(at: "e/f") == [below])
        table.detach("e/f")
        #expect(table[below]?.isDetached == true)
        // A new file of that name, with the number that the old one had, is another.
        #expect(table.lookUp(entry("f", disk: 1), at: "e/f", now: .zero) != below)
    }

    @Test(arguments: [
        ("4913", true), (".a.txt.swp", true), (".~lock.a.odt#", true), (".goutputstream-X1", true), ("a.tmp", true),
        ("index.lock", true), ("a~", true), ("~", false), (".tmp", false), ("a.txt", false), ("lock", false),
    ])
    func editorsHaveNamesForThemselves(_ name: String, isTemporary: Bool) {
        #expect(EditorNames.isTemporary(name) == isTemporary)
        #expect(EditorNames.isTemporary("d/objects/" + name) == isTemporary)
        #expect(!EditorNames.isUnfinishedByGit(name))
    }

    @Test(arguments: [
        (".git/objects/ab/tmp_obj_x1Yz2W", true), ("r/.git/objects/tmp_obj_x1Yz2W", true),
        ("bare.git/objects/pack/tmp_pack_Q7", true), (".git/objects/pack/tmp_idx_Q7", true),
        (".git/objects/info/tmp_graph_Q7", true), (".git/modules/m/objects/0f/tmp_obj_1", true),
        (".git/objects/tmp_objdir-incoming-A1/pack/pack-1.pack", true),
        (".git/objects/tmp_objdir-incoming-A1/ab/cdef", true),
        (".git/objects/ab/cdef", false), (".git/objects/pack/pack-1.pack", false), ("tmp_obj_x1Yz2W", false),
        (".git/tmp_obj_x1Yz2W", false), ("objects/a/b/tmp_obj_1", false), ("objects", false),
        ("tmp_obj_1/objects", false),
        (".git/objects/tmp_objdir-A1", true), ("objects/atmp_obj_1", false), ("", false), ("/", false),
    ])
    func whatGitHasNotFinishedIsToldToNobody(_ path: String, isUnfinished: Bool) {
        #expect(EditorNames.isUnfinishedByGit(path) == isUnfinished)
        #expect(EditorNames.isTemporary(path) == isUnfinished)
    }

    @Test func aNodeGoesWithItsLastLookUp() {
        var table = NodeTable()
        let number = table.lookUp(entry("a"), at: "a", now: .zero)
        _ = table.lookUp(entry("a"), at: "a", now: .zero)
        table.forget(number, 1)
        #expect(table[number] != nil)
        table.forget(number, 5)
        #expect(table[number] == nil && table.numbers(at: "a") == [])
        table.forget(NodeTable.root, .max)
        #expect(table[NodeTable.root] != nil)
        table.forget(12345, 1)
        #expect(table.count == 1)
    }

    @Test func whatANameWasIsFoundUntilItIsDetached() {
        var table = NodeTable()
        let file = table.lookUp(entry("a", disk: 7), at: "a", now: .zero)
        let directory = table.lookUp(entry("a", kind: .directory), at: "a", now: .zero)
        // Whatever is remembered of it, it is the node that the kernel knows.
        #expect(table.lookUpFormer(entry("a", version: 0), at: "a") == file)
        table.detach("a", directories: false)
        #expect(table[file]?.isDetached == true && table[directory]?.isDetached == false)
        #expect(table.numbers(at: "a") == [directory])
        table.forget(file, 1)
        #expect(table[file] != nil, "it was looked up twice")
        table.forget(file, 1)
        #expect(table[file] == nil)
        // One that the kernel has forgotten is a new one, of which nothing is known for sure.
        let other = table.lookUpFormer(entry("b"), at: "b")
        #expect(table.numbers(at: "b") == [other] && table[other]?.asOf == nil)
        table.forget(other, 1)
        #expect(table[other] == nil)
    }

    @Test func moreThanTheLimitIsToGo() {
        var table = NodeTable(limit: 3)
        _ = table.lookUp(entry("d", kind: .directory), at: "d", now: .zero)
        #expect(table.excess() == [])
        for name in ["a", "b", "c"] { _ = table.lookUp(entry(name), at: "d/\(name)", now: .zero) }
        #expect(table.excess() == ["d/a", "d/b"])
    }

    @Test func doubtsAreOfANameOrOfAll() {
        var table = NodeTable()
        let (a, b) = (
            table.lookUp(entry("a"), at: "a", now: .seconds(1)), table.lookUp(entry("b"), at: "b", now: .seconds(1))
        )
        table.doubt("a")
        #expect(table[a]?.asOf == nil && table[b]?.asOf == .seconds(1))
        table.refresh(a, entry("a"), now: .seconds(2))
        #expect(table[a]?.asOf == .seconds(2))
        table.doubtEverything()
        #expect(table[a]?.asOf == nil && table[b]?.asOf == nil)
    }

    @Test func pathsAreSplitAtTheLastSlash() {
        #expect(NodeTable.split("") == nil)
        #expect(NodeTable.split("a")! == ("", "a"))
        #expect(NodeTable.split("a/b/c")! == ("a/b", "c"))
        #expect(NodeTable.join("", "a") == "a" && NodeTable.join("a", "b") == "a/b")
    }

    /// Whatever is looked up and forgotten, the table has what the kernel still counts and nothing else.
    @Test(arguments: 1...20) func theTableHasWhatTheKernelCounts(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var table = NodeTable()
        var counts: [UInt64: UInt64] = [:]
        for _ in 0..<2000 {
            if Bool.random(using: &generator) || counts.isEmpty {
                let name = "n\(Int.random(in: 0..<20, using: &generator))"
                let number = table.lookUp(
                    entry(name, version: .random(in: 1...3, using: &generator)), at: name, now: .zero)
                counts[number, default: 0] += 1
            } else {
                let number = counts.keys.sorted().randomElement(using: &generator)!
                let count = UInt64.random(in: 1...counts[number]!, using: &generator)
                table.forget(number, count)
                counts[number]! -= count
                if counts[number] == 0 { counts[number] = nil }
            }
            #expect(table.count == counts.count + 1)
        }
        #expect(Set(table.paths) == Set(counts.keys.map { table[$0]!.path }))
        for (number, count) in counts { table.forget(number, count) }
        #expect(table.count == 1)
    }

    @Test(arguments: [
        (".Trash", true), (".Trash-0", true), (".Trash-1000", true), (".Trash-", false), (".Trash-me", false),
        ("d/.Trash-1000", false), (".Trash-1000/files", false), (".Trashes", false), ("Trash", false),
    ])
    func whichNamesFileManagersTakeForTheTrash(_ path: String, _ isTrash: Bool) {
        #expect(TrashNames.isTrash(path) == isTrash)
    }
}
