import FileAccess
import Testing

@testable import SyncAgent

/// The names that something is wrong with.
struct FolderActivityTests {
    /// A name is counted once, however often something is said of it, and beyond those whose message is kept, too.
    @Test func eachNameIsCountedOnce() throws {
        let activity = FolderActivity()
        for _ in 0..<3 {
            for number in 0..<1500 { activity.note("wrong", at: "d/\(number)") }
        }
        #expect(activity.snapshot.problemCount == 1500)
        #expect(activity.snapshot.firstProblems(2000).count == 1000)
        for number in 0..<1500 where number % 2 == 0 { activity.clear("d/\(number)") }
        #expect(activity.snapshot.problemCount == 750)
        activity.note("wrong again", at: "d/1499")
        #expect(activity.snapshot.problemCount == 750)
        #expect(activity.snapshot.firstProblems(1000).contains(.init(path: "d/1499", message: "wrong again")))
        activity.note("wrong", at: "other")
        activity.forgetFound(below: [try #require(RelativePath("d"))])
        #expect(activity.snapshot.problemCount == 1)
        activity.forgetFound(below: nil)
        #expect(activity.snapshot.problemCount == 0)
    }

    /// A look finds out anew what looks find, and ends nothing of what pulls cannot do.
    @Test func whatPullsCannotDoOutlastsLooks() throws {
        let activity = FolderActivity()
        activity.note("cannot be read", at: "d/x")
        activity.noteUndone("is not empty", at: "d")
        activity.noteUndone("cannot be fetched", at: "d/x")
        #expect(activity.snapshot.problemCount == 2)
        #expect(activity.snapshot.firstProblems(1) == [.init(path: "d", message: "is not empty")])
        activity.forgetFound(below: [try #require(RelativePath("d"))])
        #expect(
            activity.snapshot.firstProblems(9)
                == [.init(path: "d", message: "is not empty"), .init(path: "d/x", message: "cannot be fetched")])
        activity.forgetFound(below: nil)
        #expect(activity.snapshot.problemCount == 2)
        activity.clearUndone("d/x")
        activity.clear("d")
        #expect(activity.snapshot.problemCount == 0)
    }
}
