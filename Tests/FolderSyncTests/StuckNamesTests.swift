import Testing

@testable import FolderSync

struct StuckNamesTests {
    @Test func aNameRestsForAWhile() {
        var names = StuckNames()
        names.note(["a"], at: .seconds(1000))
        names.note(["b"], at: .seconds(1500))
        #expect(names.contains("a", at: .seconds(1599)) && !names.contains("a", at: .seconds(1600)))
        #expect(names.contains("b", at: .seconds(2099)) && !names.contains("b", at: .seconds(2100)))
        #expect(!names.contains("c", at: .seconds(1500)))
        names.note(["a"], at: .seconds(1700))
        #expect(names.contains("a", at: .seconds(2299)), "tried again")
    }

    /// More than can be remembered: nothing is tried until they all have rested.
    @Test func ofTooManyAllRest() {
        var names = StuckNames()
        names.note((0...StuckNames.limit).map(String.init), at: .zero)
        #expect(names.contains("another", at: .seconds(599)) && !names.contains("another", at: .seconds(600)))
        names.note(["a"], at: .seconds(600))
        #expect(names.contains("a", at: .seconds(601)) && !names.contains("another", at: .seconds(601)))
    }
}
