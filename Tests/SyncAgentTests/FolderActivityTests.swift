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
        #expect(activity.snapshot.problems.count == 1000)
        for number in 0..<1500 where number % 2 == 0 { activity.clear("d/\(number)") }
        #expect(activity.snapshot.problemCount == 750)
        activity.note("wrong again", at: "d/1499")
        #expect(activity.snapshot.problemCount == 750)
        #expect(activity.snapshot.problems["d/1499"] == "wrong again")
        activity.note("wrong", at: "other")
        activity.forgetProblems(below: [try #require(RelativePath("d"))])
        #expect(activity.snapshot.problemCount == 1)
        activity.forgetProblems(below: nil)
        #expect(activity.snapshot.problemCount == 0)
    }
}
