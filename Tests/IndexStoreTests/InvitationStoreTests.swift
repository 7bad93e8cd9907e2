import BlockExchange
import SyncTestKit
import Testing

@testable import IndexStore

@Suite struct InvitationStoreTests {
    @Test func anInvitationIsGoodOnceAndOutlivesTheProcess() async throws {
        let index = try await TestIndex()
        let store = index.store
        let number = try #require(
            try await store.addInvitation(digest: hash(1), folder: music, role: "read", expires: 100, now: 0))
        #expect(try await store.redeemInvitation(number, by: bob) == .noted)
        // The same device may try again, no other.
        #expect(try await store.redeemInvitation(number, by: bob) == .noted)
        #expect(try await store.redeemInvitation(number, by: carol) == .taken)
        #expect(try await store.redeemInvitation(number + 1, by: bob) == .gone)
        try await store.settleInvitations(stored: [number], withdrawn: [number + 1])
        #expect(try await store.redeemInvitation(number, by: bob) == .stored)
        #expect(try await store.redeemInvitation(number, by: carol) == .taken)
        try store.close()
        let again = try IndexStore.open(path: index.directory.index)
        #expect(
            try await again.invitations() == [
                StoredInvitation(
                    number: number, digest: hash(1), folder: music, role: "read", expires: 100, device: bob,
                    isStored: true)
            ])
        #expect(try await again.redeemInvitation(number, by: bob) == .stored)
        #expect(try await again.removeInvitation(number))
        #expect(try await !again.removeInvitation(number))
        // A number is not given again.
        #expect(
            try await again.addInvitation(digest: hash(2), folder: music, role: "write", expires: 9, now: 0) == number
                + 1
        )
        try again.close()
    }

    @Test func whatIsWithdrawnIsGone() async throws {
        let index = try await TestIndex()
        var numbers: [Int64] = []
        for content in 1...2 as ClosedRange<UInt64> {
            numbers.append(
                try #require(
                    try await index.store.addInvitation(
                        digest: hash(content), folder: music, role: "read", expires: 100, now: 0)))
        }
        #expect(try await index.store.redeemInvitation(numbers[0], by: bob) == .noted)
        try await index.store.settleInvitations(stored: [], withdrawn: [numbers[0]])
        #expect(try await index.store.redeemInvitation(numbers[0], by: bob) == .gone)
        #expect(try await index.store.invitations().map(\.number) == [numbers[1]])
    }

    @Test func thereAreNotTooManyAndExpiredOnesGo() async throws {
        let index = try await TestIndex()
        for number in 0..<IndexStore.invitationLimit {
            _ = try await index.store.addInvitation(
                digest: hash(UInt64(number)), folder: music, role: "read", expires: number == 0 ? 5 : 100, now: 0)
        }
        func add(now: Int64) async throws -> Int64? {
            try await index.store.addInvitation(digest: hash(999), folder: music, role: "read", expires: 200, now: now)
        }
        #expect(try await add(now: 5) == nil)
        #expect(try await add(now: 6) != nil)
        #expect(try await index.store.invitations().count == IndexStore.invitationLimit)
    }
}
