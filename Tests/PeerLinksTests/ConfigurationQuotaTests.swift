import AgentConfiguration
import IndexStore
import Testing

@testable import PeerLinks

@Suite struct ConfigurationQuotaTests {
    @Test func aBurstIsTakenAndMoreIsNot() {
        var quota = ConfigurationQuota()
        #expect((0..<200).allSatisfy { _ in quota.take(at: .seconds(5)) })
        var isTaken = quota.take(at: .seconds(5))
        #expect(!isTaken)
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

@Suite struct DeviceAllowanceTests {
    @Test func whatIsOverWhichQuota() {
        var allowance = DeviceAllowance()
        #expect(allowance.configured(offering: 1000, at: .zero) == nil)
        #expect(allowance.configured(offering: 1001, at: .zero) == .offers)
        for _ in 0..<198 { #expect(allowance.configured(offering: 0, at: .zero) == nil) }
        #expect(allowance.configured(offering: 0, at: .zero) == .sharing)
        var isNews = allowance.exceed(.sharing)
        #expect(isNews && allowance.exceeded == .sharing)
        // What it goes over next is no news.
        isNews = allowance.exceed(.names)
        #expect(!isNews && allowance.exceeded == .sharing)
    }

    @Test func onALowDiskADeviceHasSoManyBytes() {
        var allowance = DeviceAllowance()
        let low = IndexSpace(free: 399, kept: 100)
        let rows: [(bytes: UInt64, space: IndexSpace?, quota: DeviceQuota?)] = [
            (1000, nil, nil),
            (1000, IndexSpace(free: 400, kept: 100), nil),
            (60, low, nil), (40, low, nil), (1, low, .indexSpace),
            // There is space again.
            (1, IndexSpace(free: 400, kept: 100), nil), (100, low, nil), (.max, low, .indexSpace),
            (1, low, .indexSpace),
        ]
        for (number, row) in rows.enumerated() {
            #expect(allowance.announced(row.bytes, with: row.space) == row.quota, "row \(number)")
        }
    }
}
