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
            mayWait: false, at: .zero)
        #expect(verdict == example.verdict)
    }

    @Test func piecesOfOneMinuteCountTogether() {
        var guardian = DeletionGuard()
        var known = 180
        for piece in 0..<3 {
            #expect(
                guardian.verdict(
                    lost: 30, known: known, isRootEmpty: false, isWhole: false, mayWait: false,
                    at: .seconds(piece))
                    == .proceed)
            guardian.noted(lost: 30, at: .seconds(piece))
            known -= 30
        }
        #expect(
            guardian.verdict(
                lost: 30, known: known, isRootEmpty: false, isWhole: false, mayWait: false, at: .seconds(3))
                == .massDeletion(lost: 120, of: 180))
        #expect(
            guardian.verdict(
                lost: 30, known: known, isRootEmpty: false, isWhole: false, mayWait: false, at: .seconds(200))
                == .proceed)
    }

    @Test func whatWasMeantCountsNoMore() {
        var guardian = DeletionGuard()
        guardian.noted(lost: 90, at: .zero)
        guardian.reset()
        #expect(
            guardian.verdict(lost: 90, known: 100, isRootEmpty: false, isWhole: true, mayWait: true, at: .zero)
                == .proceed)
    }

    @Test func theLastOfManyNamesCountsAsAll() {
        var guardian = DeletionGuard()
        guardian.noted(lost: 2, at: .zero)
        #expect(
            guardian.verdict(lost: 1, known: 1, isRootEmpty: true, isWhole: true, mayWait: true, at: .seconds(1))
                == .rootEmptied)
        #expect(
            guardian.verdict(lost: 1, known: 1, isRootEmpty: true, isWhole: true, mayWait: true, at: .seconds(100))
                == .proceed)
    }

    /// Verdicts on partial looks at the whole of 1,000 names, which find so many gone at these seconds.
    private func verdicts(_ looks: [(seconds: Int, lost: Int)]) -> [DeletionGuard.Verdict] {
        var guardian = DeletionGuard()
        return looks.map { look in
            guardian.verdict(
                lost: look.lost, known: 1000, isRootEmpty: false, isWhole: false, mayWait: true,
                at: .seconds(look.seconds))
        }
    }

    @Test func moreThanAFewNamesAreWaitedFor() {
        #expect(verdicts([(0, 10)]) == [.proceed])
        #expect(verdicts([(0, 11), (1, 11)]) == [.wait(until: .seconds(1)), .proceed])
        // More came before the time was over.
        #expect(
            verdicts([(5, 50), (5, 60), (6, 700)]) == [
                .wait(until: .seconds(6)), .wait(until: .seconds(6)), .massDeletion(lost: 700, of: 1000),
            ])
        // What was waited for came back; this is another deletion.
        #expect(verdicts([(0, 50), (100, 50)]) == [.wait(until: .seconds(1)), .wait(until: .seconds(101))])
    }
}
