import AgentContext
import FileAccess
import IndexStore
import Testing

@testable import FolderSync

/// The names that something is wrong with.
struct FolderStatusBoardTests {
    /// A step has said this.
    private func take(_ board: FolderStatusBoard, _ body: (inout ProblemJournal) throws -> Void) rethrows {
        var effects = FolderEffects()
        try body(&effects.problems)
        board.take(effects, at: WallTime(seconds: 0))
    }

    /// A name is counted once, however often something is said of it, and beyond those whose message is kept, too.
    @Test func eachNameIsCountedOnce() throws {
        let board = FolderStatusBoard()
        for _ in 0..<3 {
            take(board) { for number in 0..<1500 { $0.noteFound("wrong", at: "d/\(number)") } }
        }
        #expect(board.snapshot.problemCount == 1500)
        #expect(board.snapshot.firstProblems(2000).count == 1000)
        take(board) { for number in 0..<1500 where number % 2 == 0 { $0.clear("d/\(number)") } }
        #expect(board.snapshot.problemCount == 750)
        take(board) { $0.noteFound("wrong again", at: "d/1499") }
        #expect(board.snapshot.problemCount == 750)
        #expect(board.snapshot.firstProblems(1000).contains(.init(path: "d/1499", message: "wrong again")))
        try take(board) {
            $0.noteFound("wrong", at: "other")
            $0.forgetFound(below: [try #require(RelativePath("d"))])
        }
        #expect(board.snapshot.problemCount == 1)
        take(board) { $0.forgetFound(below: nil) }
        #expect(board.snapshot.problemCount == 0)
    }

    /// A folder that only sends needs nothing, whatever others changed.
    @Test func whatIsNotTakenIsNotNeeded() {
        let board = FolderStatusBoard()
        var effects = FolderEffects()
        let changes = NeededTotals(items: Aggregate(files: 2), deletions: 1)
        effects.counts.need = changes
        board.take(effects, at: WallTime(seconds: 0), onlySends: true)
        #expect(board.snapshot.need == NeededTotals() && board.snapshot.untaken == changes)
        board.take(effects, at: WallTime(seconds: 1))
        #expect(board.snapshot.need == changes && board.snapshot.untaken == NeededTotals())
    }

    @Test func somethingIsMissingSinceNothingWas() {
        let board = FolderStatusBoard()
        func end(_ files: Int64?, at now: Int64) -> Int64? {
            var effects = FolderEffects()
            if let files { effects.counts.need = NeededTotals(items: Aggregate(files: files)) }
            let before = board.snapshot.completeness
            let changed = board.take(effects, at: WallTime(seconds: now))
            #expect((changed ?? before) == board.snapshot.completeness && (changed == nil || changed != before))
            return board.snapshot.completeness?.end
        }
        #expect(end(0, at: 0) == nil && board.snapshot.completeness == nil, "nobody has read what was noted")
        board.set(completeness: Completeness())
        // It was so when the agent started.
        #expect(end(3, at: 1) == nil)
        #expect(end(0, at: 2) == nil)
        #expect(end(2, at: 3) == 3)
        #expect(end(5, at: 4) == 3)
        #expect(end(nil, at: 5) == 3, "nothing was counted")
        #expect(end(0, at: 6) == nil)
        #expect(end(1, at: 7) == 7)
    }

    /// A scan finds out anew what scans find, and ends nothing of what pulls cannot do.
    @Test func whatPullsCannotDoOutlastsScans() throws {
        let board = FolderStatusBoard()
        take(board) {
            $0.noteFound("cannot be read", at: "d/x")
            $0.noteUndone("is not empty", at: "d")
            $0.noteUndone("cannot be fetched", at: "d/x")
        }
        #expect(board.snapshot.problemCount == 2)
        #expect(board.snapshot.firstProblems(1) == [.init(path: "d", message: "is not empty")])
        try take(board) { $0.forgetFound(below: [try #require(RelativePath("d"))]) }
        #expect(
            board.snapshot.firstProblems(9)
                == [.init(path: "d", message: "is not empty"), .init(path: "d/x", message: "cannot be fetched")])
        take(board) { $0.forgetFound(below: nil) }
        #expect(board.snapshot.problemCount == 2)
        take(board) {
            $0.clear("d")
            $0.clear("d/x")
        }
        #expect(board.snapshot.problemCount == 0)
    }

    /// What a pull could not do is over with the next one that says nothing of it.
    @Test func whatThePullBeforeCouldNotDoIsOverWithTheNext() {
        let board = FolderStatusBoard()
        take(board) {
            $0.noteUndone("cannot be fetched", at: "a")
            $0.noteUndone("cannot be fetched", at: "b")
        }
        board.pullEnded()
        #expect(board.snapshot.problemCount == 2)
        take(board) { $0.noteUndone("cannot be fetched", at: "b") }
        board.pullEnded()
        #expect(board.snapshot.firstProblems(9).map(\.path) == ["b"])
        board.pullEnded()
        #expect(board.snapshot.problemCount == 0)
    }
}
