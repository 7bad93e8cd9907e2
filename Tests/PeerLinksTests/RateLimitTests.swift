import AgentConfiguration
import BlockExchange
import LinkRules
import SyncTestKit
import Testing
import Transport

@testable import AgentContext
@testable import PeerLinks
@testable import SyncDecisions

@Suite struct TokenBucketTests {
    /// Takes what is asked for as soon as it may go, and notes when.
    private static func run(_ bucket: inout TokenBucket, _ sizes: [Int], from start: MonotonicTime) -> [MonotonicTime] {
        var now = start
        return sizes.map { size in
            while let pause = bucket.take(size, now: now) { now += pause }
            return now
        }
    }

    /// In no stretch of time do more go than the rate gives, the burst, and the excess of one over it.
    @Test(arguments: 0..<40 as Range<UInt64>) func neverMoreThanTheRateGives(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let rate = Int64.random(in: 1000...5_000_000, using: &random)
        let sizes = (0..<60).map { _ in
            Int.random(in: 0...16 << 20, using: &random) >> Int.random(in: 0...16, using: &random)
        }
        var bucket = TokenBucket(rate: rate, now: .zero)
        let burst = bucket.burst
        let times = Self.run(&bucket, sizes, from: .zero)
        for first in sizes.indices {
            var sum = 0.0
            for last in first..<sizes.count {
                sum += Double(sizes[last])
                let time = (times[last] - times[first]) / .seconds(1)
                let excess = max(0, Double(sizes[last]) - burst)
                #expect(sum <= Double(rate) * time + burst + excess + 1 || first == last, "seed \(seed)")
            }
        }
        // Nobody waits for more than what was asked for before and by himself.
        let total = Double(sizes.reduce(0, +))
        let last: Double = (times.last ?? MonotonicTime.zero) / MonotonicTime.seconds(1)
        let longest: Double = total / Double(rate) + 1
        #expect(last <= longest, "seed \(seed)")
    }

    @Test func whatIsOwedIsPaidAtTheNewRate() {
        var bucket = TokenBucket(rate: 1_000_000, now: .zero)
        #expect(bucket.take(3_000_000, now: .zero) == nil)
        let slow = bucket.take(500_000, now: .zero)
        bucket.set(rate: 10_000_000, now: .zero)
        let fast = bucket.take(500_000, now: .zero)
        #expect(slow.map { $0 > .seconds(2) } == true && fast.map { $0 < .milliseconds(300) } == true)
        bucket.set(rate: 1000, now: .seconds(100))
        // What was earned at the fast rate is no more than the slow one's burst.
        #expect(bucket.take(Int(bucket.burst), now: .seconds(100)) == nil)
        #expect(bucket.take(1, now: .seconds(100)) != nil)
    }

    @Test func whatDoesNotWaitIsPaidForByWhatDoes() {
        var bucket = TokenBucket(rate: 1_000_000, now: .zero)
        bucket.charge(5_000_000, now: .zero)
        let pause = bucket.take(1_000_000, now: .zero)
        #expect(pause.map { $0 > .seconds(4) && $0 < .seconds(6) } == true)
    }
}

@Suite struct DeviceRatesTests {
    static let (nas, phone) = (DeviceID(certificateDER: [1]), DeviceID(certificateDER: [2]))

    static func configuration(_ rates: TransferLimits.Rates, isLocalLimited: Bool = true) -> Configuration {
        var device = DeviceConfiguration(id: nas)
        device.rates = rates
        return Configuration(
            name: "x", devices: [device, DeviceConfiguration(id: phone)],
            limits: TransferLimits(includesLocalNetwork: isLocalLimited))
    }

    static func time(_ clock: ManualClock) -> AgentTime {
        AgentTime(
            clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 1_800_000_000) }, random: { 0.5 })
    }

    static func rates(_ configuration: Configuration, _ clock: ManualClock) -> AgentRates {
        AgentRates(configuration, held: { HeldTransfers() }, time: time(clock))
    }

    /// All links of the device together keep its limit, each way its own, and other devices know nothing of it.
    @Test func aDeviceHasItsOwnLimit() async throws {
        let clock = ManualClock()
        let rates = Self.rates(Self.configuration(.init(up: 1 << 20)), clock)
        let one = try #require(rates.limits(for: .internet, of: Self.nas))
        let two = try #require(rates.limits(for: .localNetwork, of: Self.nas))
        await one.waitToSend(1 << 20)
        let second = Task { await two.waitToSend(1 << 20) }
        await clock.advance(whenAsleep: 1)
        await second.value
        #expect(clock.now.offset >= .seconds(1) && clock.now.offset < .seconds(1.1))
        let before = clock.now.offset
        await one.waitToAsk(1 << 40)
        let phone = try #require(rates.limits(for: .internet, of: Self.phone))
        for _ in 0..<3 { await phone.waitToSend(1 << 40) }
        #expect(clock.now.offset == before)
        #expect(rates.limits(for: .radio, of: Self.nas) == nil)
    }

    @Test func whatIsSentWithoutWaitingCountsForTheDevice() async throws {
        let clock = ManualClock()
        let rates = Self.rates(Self.configuration(.init(up: 1 << 20)), clock)
        let limits = try #require(rates.limits(for: .internet, of: Self.nas))
        limits.sent(3 << 20)
        let sending = Task { await limits.waitToSend(1 << 20) }
        await clock.advance(whenAsleep: 1)
        await sending.value
        #expect(clock.now.offset >= .seconds(3) && clock.now.offset < .seconds(3.1))
    }

    /// Who waits goes on at once when the limit goes.
    @Test func aNewLimitHoldsForOpenLinks() async throws {
        let clock = ManualClock()
        let rates = Self.rates(Self.configuration(.init(down: 1024)), clock)
        let limits = try #require(rates.limits(for: .internet, of: Self.nas))
        await limits.waitToAsk(1 << 20)
        let waiting = Task { await limits.waitToAsk(1 << 20) }
        try await yields { clock.sleeperCount > 0 }
        rates.set(Self.configuration(.init()))
        await waiting.value
        #expect(clock.now.offset == .zero)
        rates.set(Self.configuration(.init(down: 1 << 20)))
        await limits.waitToAsk(1 << 20)
        let again = Task { await limits.waitToAsk(1 << 20) }
        await clock.advance(whenAsleep: 1)
        await again.value
        #expect(clock.now.offset >= .seconds(1))
    }

    @Test func theLocalNetworkIsFreeUnlessItIsLimitedToo() async throws {
        let clock = ManualClock()
        let rates = Self.rates(Self.configuration(.init(up: 1024, down: 1024), isLocalLimited: false), clock)
        let limits = try #require(rates.limits(for: .localNetwork, of: Self.nas))
        for _ in 0..<3 {
            await limits.waitToSend(1 << 40)
            await limits.waitToAsk(1 << 40)
        }
        #expect(clock.now.offset == .zero)
    }
}

@Suite struct MachineNetworksTests {
    static let networks = MachineNetworks(
        prefixes: ["192.168.7.3/24", "2001:db8::/64"].compactMap { try? NetworkPrefix(parsing: $0) })

    static let table: [(String, Bool)] = [
        ("tcp://192.168.7.200:22000", true), ("tcp://192.168.8.1:22000", false), ("tcp://10.0.0.1:1", false),
        ("tcp://127.0.0.1:1", true), ("tcp://169.254.3.4:1", true),
        ("tcp://[::1]:1", true), ("tcp://[fe80::1%eth0]:1", true), ("tcp://[2001:db8::7]:1", true),
        ("tcp://[2001:db8:0:1::7]:1", false), ("tcp://[::ffff:192.168.7.9]:1", true),
        ("tcp://[::ffff:8.8.8.8]:1", false), ("tcp://example.org:1", false), ("dynamic", false), ("virtual://a", false),
        ("tcp://[fc00::1]:1", false),
    ]

    @Test(arguments: table.indices) func isInOneOfThem(_ number: Int) throws {
        let (address, expected) = Self.table[number]
        #expect(Self.networks.contain(try LinkAddress(parsing: address)) == expected, "\(address)")
    }

    @Test func thisMachineIsInItsOwnNetworks() throws {
        let networks = MachineNetworks.current()
        #expect(try networks.contain(LinkAddress(parsing: "tcp://127.0.0.1:1")))
        #expect(networks.addresses.contains { $0.isLoopback })
    }
}
