import FileAccess
import Testing

@testable import FolderWatcher

@Suite struct WatchTreeTests {
    private func name(_ text: String) throws -> RelativePath { try RelativePath(parsing: text) }

    /// a(1)/b(2)/c(3) below the root (10).
    private func sample() throws -> (tree: WatchTree, a: Int, b: Int, c: Int) {
        var tree = WatchTree()
        let a = tree.enter(try name("a"), in: WatchTree.root)
        let b = tree.enter(try name("b"), in: a)
        let c = tree.enter(try name("c"), in: b)
        for (watch, id) in [(Int32(10), WatchTree.root), (1, a), (2, b), (3, c)] { tree.set(watch, for: id) }
        return (tree, a, b, c)
    }

    @Test func aRenameTakesAllBelowAlong() throws {
        var (tree, a, b, c) = try sample()
        #expect(tree.place(of: c) == .below(try name("a/b/c")))
        #expect(tree.place(of: WatchTree.root) == .root)
        tree.detach(b)
        #expect(tree.place(of: c) == .nowhere)
        #expect(tree.attach(b, as: try name("z"), in: WatchTree.root).isEmpty)
        #expect(tree.place(of: c) == .below(try name("z/c")))
        #expect(tree.directory(of: 3) == c)
        #expect(tree.child(of: a, named: try name("b")) == nil)
        #expect(tree.watchedCount == 4)
    }

    @Test func aDirectoryIsFoundByItsPath() throws {
        let (tree, a, _, c) = try sample()
        #expect(tree.directory(at: nil) == WatchTree.root)
        #expect(tree.directory(at: try name("a")) == a)
        #expect(tree.directory(at: try name("a/b/c")) == c)
        #expect(tree.directory(at: try name("a/c")) == nil)
    }

    @Test func removingGivesBackTheWatchesBelow() throws {
        var (tree, a, b, c) = try sample()
        #expect(Set(tree.remove(b)) == [2, 3])
        #expect(!tree.contains(b) && !tree.contains(c))
        #expect(tree.directory(of: 3) == nil)
        #expect(tree.children(of: a).isEmpty)
        #expect(tree.remove(WatchTree.root).isEmpty)
        #expect(tree.watchedCount == 2)
    }

    @Test func movingOverAnotherDirectoryReplacesIt() throws {
        var (tree, a, _, c) = try sample()
        let other = tree.enter(try name("x"), in: WatchTree.root)
        tree.set(9, for: other)
        #expect(tree.attach(c, as: try name("x"), in: WatchTree.root) == [9])
        #expect(tree.place(of: c) == .below(try name("x")))
        #expect(!tree.contains(other))
        // Into itself: not possible on a disk, so not in the tree.
        #expect(tree.attach(a, as: try name("y"), in: tree.child(of: a, named: try name("b")) ?? -1).isEmpty)
        #expect(tree.place(of: a) == .below(try name("a")))
    }

    @Test func aWatchBelongsToOneDirectory() throws {
        var (tree, a, b, _) = try sample()
        tree.set(1, for: b)
        #expect(tree.directory(of: 1) == b)
        #expect(tree.directory(of: 2) == nil)
        #expect(tree.watch(of: a) == .none)
        #expect(tree.drop(1) == b)
        #expect(tree.drop(1) == nil)
        #expect(tree.watch(of: b) == .none)
    }

    @Test func namesThatOnlyUnicodeTakesForEqualAreTwo() throws {
        var tree = WatchTree()
        let composed = tree.enter(try name("\u{E9}"), in: WatchTree.root)
        let decomposed = tree.enter(try name("e\u{301}"), in: WatchTree.root)
        #expect(composed != decomposed)
    }

    @Test func answersToEarlierRequestsAreKnown() throws {
        var (tree, a, _, _) = try sample()
        let first = tree.request(a)
        let second = tree.request(a)
        #expect(tree.requestCount == 2)
        #expect(tree.takeRequest(first) == a && tree.takeRequest(second) == a)
        #expect(tree.takeRequest(second) == nil)
        tree.fail(a, error: 28)
        #expect(tree.failures == [28: 1])
    }
}
