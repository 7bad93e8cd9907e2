import Testing

@testable import SyncAgent

@Suite struct DeletionGuardTests {
    struct Case: Sendable {
        var lost: Int
        var known: Int
        var isRootEmpty = false
        var isWhole = true
        var verdict: DeletionGuard.Verdict
    }

    @Test(arguments: [
        Case(lost: 1, known: 10, verdict: .proceed),
        Case(lost: 9, known: 10, verdict: .proceed),
        Case(lost: 100, known: 100, verdict: .proceed),
        Case(lost: 101, known: 202, verdict: .proceed),
        Case(lost: 102, known: 203, verdict: .massDeletion(lost: 102, of: 203)),
        Case(lost: 101, known: 101, verdict: .massDeletion(lost: 101, of: 101)),
        Case(lost: 101, known: 1000, isWhole: false, verdict: .lookAtEverything),
        Case(lost: 100, known: 1000, isWhole: false, verdict: .proceed),
        Case(lost: 2, known: 2, isRootEmpty: true, verdict: .proceed),
        Case(lost: 3, known: 3, isRootEmpty: true, verdict: .rootEmptied),
        Case(lost: 1, known: 3, isRootEmpty: true, isWhole: false, verdict: .lookAtEverything),
        Case(lost: 1000, known: 1000, isRootEmpty: true, verdict: .rootEmptied),
        // More new names than gone ones: a rename and something else.
        Case(lost: -5, known: 1000, isWhole: false, verdict: .proceed),
    ])
    func oneLook(_ example: Case) {
        var guardian = DeletionGuard()
        let verdict = guardian.verdict(
            lost: example.lost, known: example.known, isRootEmpty: example.isRootEmpty, isWhole: example.isWhole,
            at: .zero)
        #expect(verdict == example.verdict)
    }

    @Test func piecesOfOneMinuteCountTogether() {
        var guardian = DeletionGuard()
        var known = 180
        for piece in 0..<3 {
            #expect(
                guardian.verdict(lost: 30, known: known, isRootEmpty: false, isWhole: false, at: .seconds(piece))
                    == .proceed)
            guardian.noted(lost: 30, at: .seconds(piece))
            known -= 30
        }
        #expect(
            guardian.verdict(lost: 30, known: known, isRootEmpty: false, isWhole: false, at: .seconds(3))
                == .massDeletion(lost: 120, of: 180))
        #expect(
            guardian.verdict(lost: 30, known: known, isRootEmpty: false, isWhole: false, at: .seconds(200)) == .proceed)
    }

    @Test func whatWasMeantCountsNoMore() {
        var guardian = DeletionGuard()
        guardian.noted(lost: 90, at: .zero)
        guardian.reset()
        #expect(guardian.verdict(lost: 90, known: 100, isRootEmpty: false, isWhole: true, at: .zero) == .proceed)
    }

    @Test func theLastOfManyNamesCountsAsAll() {
        var guardian = DeletionGuard()
        guardian.noted(lost: 2, at: .zero)
        #expect(
            guardian.verdict(lost: 1, known: 1, isRootEmpty: true, isWhole: true, at: .seconds(1)) == .rootEmptied)
        #expect(
            guardian.verdict(lost: 1, known: 1, isRootEmpty: true, isWhole: true, at: .seconds(100)) == .proceed)
    }
}
