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
        let unit: UInt64 = 1 << 20
        let low = IndexSpace(free: 399 * unit, kept: 100 * unit)
        let small = IndexSpace(free: 3 * unit, kept: unit)
        let rows: [(bytes: UInt64, space: IndexSpace?, quota: DeviceQuota?)] = [
            (1000 * unit, nil, nil),
            (1000 * unit, IndexSpace(free: 400 * unit, kept: 100 * unit), nil),
            (60 * unit, low, nil), (40 * unit, low, nil), (1, low, .indexSpace),
            // There is space again.
            (1, IndexSpace(free: 400 * unit, kept: 100 * unit), nil), (100 * unit, low, nil), (.max, low, .indexSpace),
            (1, low, .indexSpace), (1, nil, nil),
            (64 * unit, small, nil), (1, small, .indexSpace),
        ]
        for (number, row) in rows.enumerated() {
            #expect(allowance.announced(row.bytes, with: row.space) == row.quota, "row \(number)")
        }
    }
}
