import Testing

@testable import SyncDecisions

@Suite struct IncomingGuardTests {
    @Test(arguments: [
        (lost: 0, known: 500, verdict: IncomingGuard.Verdict.proceed),
        (lost: 1, known: 1, verdict: .proceed),
        (lost: 100, known: 100, verdict: .proceed),
        (lost: 101, known: 101, verdict: .hold),
        (lost: 101, known: 201, verdict: .hold),
        (lost: 101, known: 202, verdict: .wait),
        (lost: 5000, known: 10_000, verdict: .wait),
        (lost: 5001, known: 10_000, verdict: .hold),
    ])
    func firstLook(lost: Int, known: Int, verdict: IncomingGuard.Verdict) {
        var guardian = IncomingGuard()
        let isSuspicious = guardian.mayBeTooMany(lost, known: known, at: .zero)
        #expect(isSuspicious == (verdict != .proceed))
        let found = guardian.verdict(lost: lost, known: known, at: .zero)
        #expect(found == verdict)
    }

    /// Looks at these seconds at a folder of 1,000 files.
    private func verdicts(_ looks: [(second: Int, lost: Int)]) -> [IncomingGuard.Verdict] {
        var guardian = IncomingGuard()
        return looks.map { guardian.verdict(lost: $0.lost, known: 1000, at: .seconds($0.second)) }
    }

    @Test func manyWaitForThoseThatFollow() {
        #expect(verdicts([(0, 200), (5, 200)]) == [.wait, .proceed])
        #expect(verdicts([(0, 200), (1, 200), (2, 200)]) == [.wait, .wait, .proceed])
        #expect(verdicts([(0, 200), (5, 400), (10, 600)]) == [.wait, .wait, .hold])
        // Some of them came back.
        #expect(verdicts([(0, 200), (5, 300), (10, 150)]) == [.wait, .wait, .proceed])
    }

    @Test func deletionsWithoutAnEndAreJudgedAfterAWhile() {
        let all = verdicts((0..<100).map { ($0, 200 + $0) })
        #expect(all.firstIndex(of: .proceed) == 60)
        #expect(!all.contains(.hold))
    }

    @Test func piecesOfOneRunCountTogether() {
        var guardian = IncomingGuard()
        func verdict(_ lost: Int, of known: Int, at second: Int) -> IncomingGuard.Verdict {
            guardian.verdict(lost: lost, known: known, at: .seconds(second))
        }
        for second in 0..<2 {
            #expect(verdict(50, of: 180 - 50 * second, at: second) == .proceed)
            guardian.noted(50, at: .seconds(second))
        }
        let isSuspicious = guardian.mayBeTooMany(1, known: 80, at: .seconds(2))
        #expect(isSuspicious)
        #expect(verdict(50, of: 80, at: 2) == .hold)
        #expect(verdict(0, of: 80, at: 2) == .proceed)
        #expect(verdict(50, of: 80, at: 301) == .hold)
        #expect(verdict(50, of: 80, at: 302) == .proceed)
        let isSuspiciousLater = guardian.mayBeTooMany(50, known: 80, at: .seconds(302))
        #expect(!isSuspiciousLater)
    }

    /// One file each ten seconds; each has another follow it, or not.
    @Test(arguments: [false, true]) func deletionsThatTrickleAreHeld(areReplaced: Bool) {
        var guardian = IncomingGuard()
        var (known, deleted) = (300, 0)
        for step in 0..<300 {
            let now = Duration.seconds(step * 10)
            if guardian.mayBeTooMany(1, known: known, at: now) {
                // What waits for others is carried out in the end.
                if guardian.verdict(lost: 1, known: known, at: now) == .hold { break }
            }
            guardian.noted(1, at: now)
            deleted += 1
            if !areReplaced { known -= 1 }
        }
        #expect(deleted == (areReplaced ? 300 : 150))
    }

    @Test func theSentenceSaysWhoDeletedHowManyAndBothWaysOn() {
        var held = HeldDeletions(files: 812, known: 1000, devices: [(name: "laptop", files: 812)])
        #expect(
            held.text(folder: "photos").english
                == "laptop deleted 812 of the 1000 files here, so nothing that other devices delete is deleted here; if this "
                + "was intended: synctrain folder confirm photos; to keep the files, restore them on laptop")
        held = HeldDeletions(files: 10, known: 12, devices: [("a", 1), ("d", 2), ("b", 6), ("c", 1)])
        #expect(held.text(folder: "f").english.hasPrefix("b (6), d (2), a (1) and others deleted 10 of the 12 files"))
    }
}
