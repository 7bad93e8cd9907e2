import SyncTestKit
import Testing

@testable import LinkRules

@Suite struct LinkUpgradesTests {
    static func all(_ upgrades: LinkUpgrades, at now: Duration) -> [LinkWorth] {
        LinkWay.allCases.map { upgrades.worth($0, at: now) }
    }

    @Test func withoutALinkEverythingIsDialled() {
        let upgrades = LinkUpgrades()
        let wish = upgrades.wish(over: nil, candidates: Self.all(upgrades, at: .zero), at: .zero)
        #expect(wish == LinkUpgrades.Wish(ways: Set(LinkWay.allCases)))
    }

    /// What is dialled beside each way when it has just come up, and a minute later.
    @Test(
        arguments: [
            (LinkWay.localTCP, Set<LinkWay>(), Set<LinkWay>()),
            (.wideTCP, [], [.localTCP]),
            (.relay, [.localTCP, .wideTCP], [.localTCP, .wideTCP]),
            (.l2cap, [.localTCP, .wideTCP], [.localTCP, .wideTCP, .relay]),
            (.gatt, [.localTCP, .wideTCP, .relay, .l2cap], [.localTCP, .wideTCP, .relay, .l2cap]),
        ] as [(LinkWay, Set<LinkWay>, Set<LinkWay>)])
    func betterWaysAreDialled(_ way: LinkWay, _ atOnce: Set<LinkWay>, _ later: Set<LinkWay>) {
        var upgrades = LinkUpgrades()
        upgrades.began(way, at: .seconds(10))
        let active = upgrades.worth(way, at: .seconds(10))
        let first = upgrades.wish(over: active, candidates: Self.all(upgrades, at: .seconds(10)), at: .seconds(10))
        #expect(first.ways == atOnce)
        #expect(first.next == (atOnce == later ? nil : .seconds(70)))
        let second = upgrades.wish(over: active, candidates: Self.all(upgrades, at: .seconds(70)), at: .seconds(70))
        #expect(second.ways == later)
        #expect(second.next == nil)
    }

    @Test func anUnsteadyWayWaitsLongerEachTime() {
        var upgrades = LinkUpgrades()
        var now = Duration.seconds(100)
        for pause in [30.0, 60, 120, 240, 480, 600, 600] {
            upgrades.began(.wideTCP, at: now)
            now += .seconds(5)
            upgrades.lost(at: now)
            #expect(upgrades.wish(over: nil, candidates: Self.all(upgrades, at: now), at: now).later == [.wideTCP])
            upgrades.began(.relay, at: now)
            let relay = upgrades.worth(.relay, at: now)
            let wish = upgrades.wish(over: relay, candidates: [LinkWorth(.wideTCP)], at: now)
            #expect(wish.ways.isEmpty)
            #expect(wish.next == now + .seconds(pause))
            now += .seconds(pause)
            #expect(upgrades.wish(over: relay, candidates: [LinkWorth(.wideTCP)], at: now).ways == [.wideTCP])
            now += .seconds(100)
        }
        upgrades.networkChanged()
        #expect(upgrades.wish(over: LinkWorth(.relay), candidates: [LinkWorth(.wideTCP)], at: now).ways == [.wideTCP])
    }

    @Test func whatThePeerChoseIsKept() {
        var upgrades = LinkUpgrades()
        upgrades.began(.relay, at: .zero)
        upgrades.began(.l2cap, wasPeersChoice: true, at: .seconds(100))
        let active = upgrades.worth(.l2cap, at: .seconds(100))
        let wish = upgrades.wish(over: active, candidates: Self.all(upgrades, at: .seconds(400)), at: .seconds(400))
        #expect(wish.ways == [.localTCP, .wideTCP])
        #expect(wish.next == .seconds(700))
    }

    /// Random rates, random losses, a relay and a radio that stay: however fast things change, the device changes its way
    /// at most eight times a minute, and never leaves a link of its own accord more often than four times.
    @Test func itNeverFlaps() {
        for seed in 0..<300 {
            var random = SeededGenerator(seed: UInt64(seed))
            var upgrades = LinkUpgrades()
            var active: LinkWay?
            var changes: [Duration] = []
            var ownChanges: [Duration] = []
            let lossOneIn = random.pick([3, 10, 40, 200])
            func best(_ ways: Set<LinkWay>) -> LinkWay? {
                ways.min { ($0.tier, -$0.expectedRate) < ($1.tier, -$1.expectedRate) }
            }
            for step in 1...(20 * 60) {
                let now = Duration.seconds(step)
                if let way = active {
                    upgrades.measured(way, rate: Double(random.int(1...20_000_000)), at: now)
                    if way.tier == 0 || way == .l2cap && random.isOne(in: 2), random.isOne(in: lossOneIn) {
                        upgrades.lost(at: now)
                        active = nil
                    }
                }
                let candidates = Self.all(upgrades, at: now).filter { $0.way != .virtual }
                let wish = upgrades.wish(
                    over: active.map { upgrades.worth($0, at: now) }, candidates: candidates, at: now)
                guard let next = best(wish.ways) ?? best(wish.later), next != active else { continue }
                if active != nil { ownChanges.append(now) }
                changes.append(now)
                upgrades.began(next, at: now)
                active = next
            }
            func most(_ moments: [Duration]) -> Int {
                moments.map { start in moments.count { $0 >= start && $0 - start < .seconds(60) } }.max() ?? 0
            }
            #expect(most(changes) <= 8, "seed \(seed)")
            #expect(most(ownChanges) <= LinkUpgrades.upgradesPerMinute, "seed \(seed)")
            // It settles: twenty minutes bring fewer changes than the first would allow.
            #expect(changes.count <= 40, "seed \(seed)")
        }
    }

    /// Two ends that see opposite costs do not swap a link back and forth.
    @Test func twoEndsWithOppositeViewsSettle() {
        var ends = [LinkUpgrades(), LinkUpgrades()]
        var changes = 0
        var active = LinkWay.relay
        for end in 0...1 { ends[end].began(.relay, at: .zero) }
        for step in 1...1800 {
            let now = Duration.seconds(step)
            for end in 0...1 {
                let worths = [LinkWorth(.relay, isMetered: end == 0), LinkWorth(.l2cap)]
                guard let current = worths.first(where: { $0.way == active }),
                    let next = ends[end].wish(over: current, candidates: worths, at: now).ways.first
                else { continue }
                ends[end].began(next, at: now)
                ends[1 - end].began(next, wasPeersChoice: true, at: now)
                active = next
                changes += 1
            }
        }
        #expect(changes <= 6)
        #expect(changes >= 1)
    }
}
