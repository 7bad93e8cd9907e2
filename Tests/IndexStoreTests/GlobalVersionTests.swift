import BlockExchange
import Testing

@testable import IndexStore

@Suite struct GlobalVersionTests {
    static let base = version((alice, 1))
    static let later = version((alice, 2))
    static let aside = version((bob, 1))

    /// Candidates and which of them is to win.
    static let table: [(String, [FileInfo], Int?)] = [
        ("nobody", [], nil),
        ("only one", [file("f", base)], 0),
        ("only one, invalid", [file("f", base).asInvalid], 0),
        ("the one that has seen the other", [file("f", base), file("f", later)], 1),
        ("valid over a later invalid one", [file("f", base), file("f", later).asInvalid], 0),
        ("the later of two invalid ones", [file("f", later).asInvalid, file("f", base).asInvalid], 0),
        ("a later deletion", [file("f", base), deleted("f", later)], 1),
        ("a file over a concurrent newer deletion", [deleted("f", aside, modified: 9_000), file("f", base)], 1),
        ("the newer of concurrent ones", [file("f", base, modified: 5), file("f", aside, modified: 6)], 1),
        ("equal versions: the first", [file("f", base, modified: 5), file("f", base, modified: 6)], 0),
    ]

    @Test(arguments: table.indices) func winner(_ index: Int) {
        let (label, candidates, expected) = Self.table[index]
        #expect(GlobalVersion.winner(among: candidates) == expected, "\(label)")
    }

    @Test func nanosecondsDecide() {
        var newer = file("f", Self.aside)
        newer.modifiedNanoseconds = 1
        #expect(GlobalVersion.winner(among: [file("f", Self.base), newer]) == 1)
    }

    @Test func versionsDecideAtLast() {
        let candidates = [file("f", Self.base), file("f", Self.aside)]
        let expected = Self.base.compare(Self.aside) == .concurrentGreater ? 0 : 1
        #expect(GlobalVersion.winner(among: candidates) == expected)
        #expect(GlobalVersion.winner(among: candidates.reversed()) == 1 - expected)
    }

    /// C has seen A but is older than B, which is older than A: pair by pair each loses to one. A is out, as C has seen
    /// it, so it is between B and C, and B is newer.
    @Test func circleHasOneWinnerInAnyOrder() {
        let circle = [
            file("f", Self.base, modified: 30), file("f", Self.aside, modified: 20),
            file("f", Self.later, modified: 10),
        ]
        #expect(circle[0].wins(over: circle[1]) && circle[1].wins(over: circle[2]) && circle[2].wins(over: circle[0]))
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            #expect(GlobalVersion.winner(among: order.map { circle[$0] }).map { order[$0] } == 1)
        }
    }
}
