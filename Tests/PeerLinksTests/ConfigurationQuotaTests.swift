import Testing

@testable import PeerLinks

@Suite struct ConfigurationQuotaTests {
    @Test func aBurstIsTakenAndMoreIsNot() {
        var quota = ConfigurationQuota()
        #expect((0..<200).allSatisfy { _ in quota.take(at: .seconds(5)) })
        #expect(quota.pause(at: .seconds(5)) == nil)
        var isTaken = quota.take(at: .seconds(5))
        #expect(!isTaken)
        #expect(quota.pause(at: .seconds(5)) == .seconds(60))
        #expect(quota.pause(at: .seconds(64)) == .seconds(1))
        #expect(quota.pause(at: .seconds(65)) == nil)
        // A minute later it may say it again, 120 times.
        #expect((0..<120).allSatisfy { _ in quota.take(at: .seconds(65)) })
        isTaken = quota.take(at: .seconds(65))
        #expect(!isTaken)
    }

    @Test func twiceASecondIsAlwaysTaken() {
        var quota = ConfigurationQuota()
        #expect((0..<5000).allSatisfy { quota.take(at: .milliseconds(500 * $0)) })
    }
}
