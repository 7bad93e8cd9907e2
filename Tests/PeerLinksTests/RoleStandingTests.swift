import Testing

@testable import PeerLinks

@Suite struct RoleStandingTests {
    @Test func aRoleHoldsUntilItIsEnded() {
        var standing = RoleStanding()
        let first = standing.give(.primary)
        #expect(standing.holds(first) && first.role == .primary)
        // It waited for its turn.
        let ends = standing.demote(hasBegun: false)
        #expect(!ends)
        #expect(!standing.holds(first))
        let second = standing.give(.secondary)
        #expect(standing.holds(second) && !standing.holds(first))
    }

    /// A peer that has not been heeded yet keeps what it said; of one that has, the indexes come elsewhere until it says
    /// again what it shares.
    @Test func indexesComeOnOneLinkOnly() {
        var standing = RoleStanding()
        #expect(standing.takesIndexes)
        _ = standing.demote(hasBegun: false)
        #expect(standing.takesIndexes)
        let ends = standing.demote(hasBegun: true)
        #expect(ends)
        #expect(!standing.takesIndexes)
        _ = standing.demote(hasBegun: false)
        #expect(!standing.takesIndexes)
        standing.hearConfig()
        #expect(standing.takesIndexes)
    }
}
