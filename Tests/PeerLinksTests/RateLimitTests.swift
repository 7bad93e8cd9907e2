import BlockExchange
import SyncTestKit
import Testing
import Transport

@testable import AgentContext
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

@Suite struct LocalNetworksTests {
    static let networks = [
        LocalNetworks.Network(address: [192, 168, 7, 3], mask: [255, 255, 255, 0]),
        LocalNetworks.Network(
            address: [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 12),
            mask: [UInt8](repeating: 255, count: 8) + [UInt8](repeating: 0, count: 8)),
    ]

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
        #expect(
            LocalNetworks.contain(try LinkAddress(parsing: address), networks: Self.networks) == expected, "\(address)")
    }

    @Test func thisMachineIsInItsOwnNetworks() {
        #expect(LocalNetworks.current().contains { $0.contains([127, 0, 0, 1]) })
    }
}
