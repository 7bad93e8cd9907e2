import MountRules
import Testing

@Suite struct ReadBudgetTests {
    private static let minute = Duration.seconds(60)

    @Test func aProgramGetsNoMoreThanItsBudgetInTenMinutes() {
        var budget = ReadBudget(limit: 100)
        budget.spend(60, by: 1, at: .zero)
        #expect(!budget.isSpent(by: 1, at: .zero))
        budget.spend(39, by: 1, at: Self.minute * 5)
        #expect(!budget.isSpent(by: 1, at: Self.minute * 5))
        budget.spend(1, by: 1, at: Self.minute * 5)
        #expect(budget.isSpent(by: 1, at: Self.minute * 5) && !budget.isSpent(by: 2, at: Self.minute * 5))
        #expect(budget.isSpent(by: 1, at: Self.minute * 9))
        #expect(!budget.isSpent(by: 1, at: Self.minute * 10), "the first 60 are long ago")
        budget.spend(60, by: 1, at: Self.minute * 11)
        #expect(budget.isSpent(by: 1, at: Self.minute * 11))
        budget.setLimit(1000)
        #expect(!budget.isSpent(by: 1, at: Self.minute * 11))
    }

    @Test func withoutALimitNothingIsCounted() {
        var budget = ReadBudget()
        budget.spend(.max, by: 1, at: .zero)
        #expect(!budget.isSpent(by: 1, at: .zero))
        budget.setLimit(1)
        #expect(!budget.isSpent(by: 1, at: .zero))
    }

    @Test func manyProgramsAreForgottenAndLargeNumbersAdded() {
        var budget = ReadBudget(limit: 10)
        for group in 1...1001 as ClosedRange<UInt32> { budget.spend(10, by: group, at: .seconds(Int(group))) }
        #expect(
            !budget.isSpent(by: 1, at: .zero) && budget.isSpent(by: 2, at: Self.minute)
                && budget.isSpent(by: 1001, at: Self.minute))
        budget.setLimit(.max)
        for _ in 0..<3 { budget.spend(.max, by: 5, at: .zero) }
        #expect(budget.isSpent(by: 5, at: .zero))
    }

    @Test func limitsAreWords() {
        #expect(ReadBudget.limit(parsing: "none") == .some(nil))
        #expect(ReadBudget.limit(parsing: "5000\n") == .some(5000))
        for text in ["0", "-1", "", "1 GB", "99999999999999999999"] {
            if case .some = ReadBudget.limit(parsing: text) { Issue.record("\(text) is taken for a limit") }
        }
        #expect(ReadBudget(limit: 7).text == "7" && ReadBudget().text == "none")
    }
}
