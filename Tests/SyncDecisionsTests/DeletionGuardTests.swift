import Testing

@testable import SyncDecisions

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
            gone: [], lost: example.lost, known: example.known, isRootEmpty: example.isRootEmpty,
            isWhole: example.isWhole,
            mayWait: false, at: .zero)
        #expect(verdict == example.verdict)
    }

    private func names(_ count: Int, _ prefix: String) -> [String] { (0..<count).map { "\(prefix)/\($0)" } }

    /// A root that was emptied halts its folder; then a file is put there, or some of what is missing comes back.
    @Test func whatIsHeldStaysHeldWhileAnyOfItIsMissing() {
        for (lost, known, verdict) in [
            (7, 9, DeletionGuard.Verdict.massDeletion(lost: 7, of: 9)), (1, 500, .massDeletion(lost: 1, of: 500)),
            (0, 9, .proceed),
        ] {
            var guardian = DeletionGuard()
            let held = guardian.verdict(
                gone: names(lost, "a"), lost: lost, known: known, isRootEmpty: false, isWhole: true, mayWait: false,
                isHeld: true, at: .zero)
            #expect(held == verdict)
        }
    }

    /// A build of 98 files that is made and cleaned again and again, in a folder of 150 names.
    @Test(arguments: [false, true]) func aNameCountsOnce(isSeenReturning: Bool) {
        var guardian = DeletionGuard()
        let build = names(98, "build")
        for round in 0..<10 {
            let verdict = guardian.verdict(
                gone: build, lost: 98, known: 150, isRootEmpty: false, isWhole: true, mayWait: false,
                at: .seconds(round))
            #expect(verdict == .proceed)
            guardian.noted(gone: build, lost: 98, at: .seconds(round))
            if isSeenReturning { guardian.returned(build) }
        }
        // What is gone besides counts with those of them that are gone still.
        let others = names(40, "other")
        let verdict = guardian.verdict(
            gone: others, lost: 40, known: isSeenReturning ? 150 : 52, isRootEmpty: false, isWhole: true,
            mayWait: false,
            at: .seconds(10))
        #expect(verdict == (isSeenReturning ? .proceed : .massDeletion(lost: 138, of: 150)))
    }

    /// Of 60 names gone of which 50 were renamed, 10 count; not more of them than are still gone.
    @Test func renamedNamesDoNotCount() {
        var guardian = DeletionGuard()
        let first = names(60, "a")
        guardian.noted(gone: first, lost: 10, at: .zero)
        func lost(with more: Int, of known: Int) -> DeletionGuard.Verdict {
            guardian.verdict(
                gone: [], lost: more, known: known, isRootEmpty: false, isWhole: true, mayWait: false, at: .seconds(1))
        }
        #expect(lost(with: 91, of: 105) == .massDeletion(lost: 101, of: 115))
        guardian.returned(first[..<55])
        #expect(lost(with: 95, of: 160) == .proceed)
        #expect(lost(with: 96, of: 160) == .massDeletion(lost: 101, of: 165))
    }

    @Test func piecesOfOneRunCountTogether() {
        var guardian = DeletionGuard()
        var known = 180
        for piece in 0..<3 {
            #expect(
                guardian.verdict(
                    gone: [], lost: 30, known: known, isRootEmpty: false, isWhole: false, mayWait: false,
                    at: .seconds(piece))
                    == .proceed)
            guardian.noted(gone: names(30, "\(piece)"), lost: 30, at: .seconds(piece))
            known -= 30
        }
        #expect(
            guardian.verdict(
                gone: [], lost: 30, known: known, isRootEmpty: false, isWhole: false, mayWait: false, at: .seconds(3))
                == .massDeletion(lost: 120, of: 180))
        #expect(
            guardian.verdict(
                gone: [], lost: 30, known: known, isRootEmpty: false, isWhole: false, mayWait: false, at: .seconds(303))
                == .proceed)
    }

    /// One name after the other, so many seconds apart, in a folder of 300 names, until that is refused.
    ///
    /// - Parameter come: how many new names come meanwhile for each that goes.
    private func deleted(each pause: Int, in scope: DeletionGuard.Scope = .here, come: Int = 0, most: Int = 1000) -> Int
    {
        var guardian = DeletionGuard()
        var known = 300
        for step in 0..<min(most, known + come * most) {
            let verdict = guardian.verdict(
                gone: ["\(step)"], lost: 1, known: known, isRootEmpty: false, isWhole: true, mayWait: false, in: scope,
                at: .seconds(step * pause))
            guard verdict == .proceed else { return step }
            guardian.noted(gone: ["\(step)"], lost: 1, in: scope, at: .seconds(step * pause))
            known += come - 1
        }
        return most
    }

    @Test func aDeletionThatTakesLongIsOne() {
        for pause in [0, 1, 60, 300] { #expect(deleted(each: pause) == 150, "\(pause)") }
        #expect(deleted(each: 60, in: .elsewhere) == 150)
        #expect(deleted(each: 301, most: 299) == 299, "a pause ends it")
        #expect(deleted(each: 60, come: 1) == 1000, "as in a queue")
    }

    /// What others have and this device does not is none of the names here.
    @Test func eachScopeIsJudgedByItsOwnNames() {
        var guardian = DeletionGuard()
        func verdict(known: Int, _ scope: DeletionGuard.Scope) -> DeletionGuard.Verdict {
            guardian.verdict(
                gone: ["next"], lost: 1, known: known, isRootEmpty: false, isWhole: true, mayWait: false, in: scope,
                at: .seconds(200))
        }
        for number in 0..<120 { guardian.noted(gone: ["\(number)"], lost: 1, in: .elsewhere, at: .seconds(number)) }
        #expect(verdict(known: 110, .here) == .proceed)
        #expect(verdict(known: 110, .elsewhere) == .massDeletion(lost: 121, of: 230))
        guardian.reset()
        for number in 0..<120 { guardian.noted(gone: ["\(number)"], lost: 1, at: .seconds(number)) }
        #expect(verdict(known: 110, .here) == .massDeletion(lost: 121, of: 230))
        #expect(verdict(known: 110, .elsewhere) == .massDeletion(lost: 121, of: 230))
    }

    @Test func aRenameIsToldAtOnceWhateverWasDeletedBefore() {
        var guardian = DeletionGuard()
        guardian.noted(gone: names(90, "a"), lost: 90, at: .zero)
        guardian.noted(gone: names(90, "b"), lost: 90, at: .seconds(1))
        for lost in [0, -1] {
            let verdict = guardian.verdict(
                gone: [], lost: lost, known: 1000, isRootEmpty: false, isWhole: false, mayWait: true, at: .seconds(2))
            #expect(verdict == .proceed)
        }
    }

    @Test func whatWasMeantCountsNoMore() {
        var guardian = DeletionGuard()
        guardian.noted(gone: names(90, "a"), lost: 90, at: .zero)
        guardian.reset()
        #expect(
            guardian.verdict(
                gone: [], lost: 90, known: 100, isRootEmpty: false, isWhole: true, mayWait: true, at: .zero)
                == .proceed)
    }

    @Test func theLastOfManyNamesCountsAsAll() {
        var guardian = DeletionGuard()
        guardian.noted(gone: names(2, "a"), lost: 2, at: .zero)
        #expect(
            guardian.verdict(
                gone: [], lost: 1, known: 1, isRootEmpty: true, isWhole: true, mayWait: true, at: .seconds(1))
                == .rootEmptied)
        #expect(
            guardian.verdict(
                gone: [], lost: 1, known: 1, isRootEmpty: true, isWhole: true, mayWait: true, at: .seconds(100))
                == .proceed)
    }

    /// Verdicts on looks at parts of a folder of 1,000 names, which find so many gone at these milliseconds.
    private func verdicts(_ looks: [(time: Int, lost: Int)]) -> [DeletionGuard.Verdict] {
        var guardian = DeletionGuard()
        return looks.map { look in
            guardian.verdict(
                gone: [], lost: look.lost, known: 1000, isRootEmpty: false, isWhole: false, mayWait: true,
                at: .milliseconds(look.time))
        }
    }

    @Test func deletionsWaitForThoseThatFollow() {
        #expect(verdicts([(0, 1), (500, 1)]) == [.wait(until: .milliseconds(500)), .proceed])
        // What was renamed is not waited for.
        #expect(verdicts([(0, 0), (0, -1)]) == [.proceed, .proceed])
        // More came before the time was over.
        #expect(
            verdicts([(0, 50), (300, 60), (800, 700)]) == [
                .wait(until: .milliseconds(500)), .wait(until: .milliseconds(800)),
                .massDeletion(lost: 700, of: 1000),
            ])
        // What was waited for came back; this is another deletion.
        #expect(
            verdicts([(0, 50), (100_000, 50)]) == [
                .wait(until: .milliseconds(500)), .wait(until: .milliseconds(100_500)),
            ])
    }

    @Test func deletionsWithoutAnEndAreJudgedAfterAWhile() {
        let all = verdicts((0..<60).map { ($0 * 100, 1) })
        #expect(all.firstIndex(of: .proceed) == 51)
    }
}
