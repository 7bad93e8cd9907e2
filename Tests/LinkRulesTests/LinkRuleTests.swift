import BlockExchange
import SyncTestKit
import Testing
import Transport

@testable import LinkRules

@Suite struct LinkRuleTests {
    static let low = Fixture.device(1)
    static let high = Fixture.device(2)

    static func rule(isLow: Bool = true, knows: Bool = true, wanted: Int = 1) -> LinkRule {
        LinkRule(
            local: isLow ? low : high, peer: isLow ? high : low, peerKnowsRule: knows, wanted: wanted)
    }

    @Test func theFirstLinkIsKept() {
        for way in LinkWay.allCases {
            #expect(Self.rule().decide(active: [], new: Fixture.link(1, way)) == .keep)
        }
    }

    /// Whoever dialled, whoever the peer is, however old: both ends see the same tiers.
    @Test func aBetterTierTakesOver() {
        let ordered: [[LinkWay]] = [[.localTCP, .wideTCP], [.relay, .l2cap], [.gatt], [.virtual]]
        for (rank, betters) in ordered.enumerated() {
            for worse in ordered[(rank + 1)...].joined() {
                for better in betters {
                    for (isOurs, knows) in [(true, true), (true, false), (false, true), (false, false)] {
                        let old = Fixture.link(1, worse, isOurs: isOurs)
                        let new = Fixture.link(2, better, isOurs: !isOurs, since: 60)
                        #expect(Self.rule(knows: knows).decide(active: [old], new: new) == .replace([old.number]))
                    }
                }
            }
        }
    }

    @Test func aWorseLinkOfThePeerHasTheBetterOneProbed() {
        let active = Fixture.link(1, .localTCP)
        for way in [LinkWay.relay, .l2cap, .gatt] {
            let new = Fixture.link(2, way, isOurs: false, since: 60)
            let rule = Self.rule()
            #expect(rule.decide(active: [active], new: new) == .wait(.probe([active.number])))
            #expect(rule.decide(active: [active], new: new, alive: [active.number]) == .refuse(.worse))
            // One that this end dialled was dialled while there was no better one.
            let own = Fixture.link(2, way, isOurs: true, since: 60)
            #expect(rule.decide(active: [active], new: own) == .refuse(.worse))
            // Two dials that crossed.
            let crossing = Fixture.link(2, way, isOurs: false, since: 1)
            #expect(rule.decide(active: [active], new: crossing) == .refuse(.worse))
            // The better path went seconds after it was found.
            let soon = Fixture.link(2, way, isOurs: false, since: 3)
            #expect(rule.decide(active: [active], new: soon) == .wait(.probe([active.number])))
        }
    }

    /// A device that lost its link quietly dials again; the other end still believes in the old one.
    @Test func whoDialsAgainIsLetIn() {
        for isLow in [true, false] {
            for oldIsOurs in [true, false] {
                let old = Fixture.link(1, isOurs: oldIsOurs)
                let again = Fixture.link(2, isOurs: false, since: 60)
                #expect(Self.rule(isLow: isLow).decide(active: [old], new: again) == .replace([old.number]))
                #expect(
                    Self.rule(isLow: isLow, knows: false).decide(active: [old], new: again) == .replace([old.number]))
            }
        }
    }

    @Test func aSyncthingHasTimeToChoose() {
        let rule = Self.rule(knows: false)
        let old = Fixture.link(1, isOurs: true)
        let new = Fixture.link(2, isOurs: false, since: 1)
        #expect(rule.decide(active: [old], new: new) == .wait(.peersChoice(.seconds(5))))
        #expect(rule.decide(active: [old], new: new, waited: .seconds(2)) == .wait(.peersChoice(.seconds(3))))
        #expect(rule.decide(active: [old], new: new, waited: .seconds(5)) == .refuse(.undecided))
        #expect(rule.decide(active: [], new: new, waited: .seconds(2)) == .keep)
        // This end dials for a better path while the Syncthing may not see it as better.
        let local = Fixture.link(3, .localTCP, isOurs: true, since: 90)
        #expect(rule.decide(active: [old], new: local) == .wait(.peersChoice(.seconds(5))))
    }

    @Test func furtherLinksAreKeptUpToWhatBothWant() {
        let rule = Self.rule(wanted: 3)
        let two = [Fixture.link(1), Fixture.link(2, since: 1)]
        #expect(rule.decide(active: two, new: Fixture.link(3, since: 2)) == .keep)
        let three = two + [Fixture.link(3, since: 2)]
        #expect(rule.decide(active: three, new: Fixture.link(4, since: 3)) == .refuse(.enough))
        let fromPeer = Fixture.link(4, isOurs: false, since: 60)
        #expect(rule.decide(active: three, new: fromPeer) == .wait(.probe(three.map(\.number))))
        #expect(
            rule.decide(active: three, new: fromPeer, alive: [LinkNumber(1), LinkNumber(3)])
                == .wait(.probe([LinkNumber(2)])))
        #expect(rule.decide(active: three, new: fromPeer, alive: Set(three.map(\.number))) == .refuse(.enough))
    }

    @Test func aRelayAndARadioNeverAdd() {
        for way in [LinkWay.relay, .l2cap, .gatt] {
            let old = Fixture.link(1, way)
            let new = Fixture.link(2, way, since: 60)
            #expect(Self.rule(wanted: 3).decide(active: [old], new: new) == .replace([old.number]))
        }
        let relay = Fixture.link(1, .relay)
        let direct = [Fixture.link(2, since: 60), Fixture.link(3, since: 61)]
        #expect(Self.rule(wanted: 3).decide(active: [relay], new: direct[0]) == .replace([relay.number]))
        #expect(Self.rule(wanted: 3).decide(active: direct, new: Fixture.link(4, .relay, since: 90)) == .refuse(.worse))
    }

    @Test func aLocalPathThatThisEndDialledReplacesTheOthers() {
        let wide = [Fixture.link(1), Fixture.link(2, since: 1)]
        let local = Fixture.link(3, .localTCP, since: 60)
        for wanted in [2, 3] {
            #expect(Self.rule(wanted: wanted).decide(active: wide, new: local) == .replace(wide.map(\.number)))
        }
        // The peer that dialled it closes what it does not want.
        var peers = local
        peers.isOurs = false
        #expect(Self.rule(wanted: 3).decide(active: wide, new: peers) == .keep)
    }

    /// Two ends, two to five links that come up within some seconds at each end in an order of its own. What is left must
    /// be the same on both ends, and not nothing.
    @Test func bothEndsKeepTheSameLinks() {
        for seed in 0..<4000 {
            var random = SeededGenerator(seed: UInt64(seed))
            let wanted = random.int(1...3)
            let ways: [LinkWay] = random.isOne(in: 2) ? [.wideTCP] : [.wideTCP, .relay, .l2cap, .gatt]
            let links = (1...random.int(2...5)).map { number in
                (
                    number: number, way: random.pick(ways), isLow: random.isOne(in: 2),
                    since: Double(random.int(0...3000)) / 1000
                )
            }
            var open = Set(links.map(\.number))
            var held: [[LinkView]] = [[], []]
            // Each end sees a link within half a second; links are closed for both when one closes.
            var arrivals: [(moment: Double, end: Int, index: Int)] = []
            for index in links.indices {
                for end in 0...1 {
                    arrivals.append((links[index].since + Double(random.int(0...500)) / 1000, end, index))
                }
            }
            for arrival in arrivals.sorted(by: { $0.moment < $1.moment }) {
                let link = links[arrival.index]
                for end in 0...1 { held[end].removeAll { !open.contains($0.number.rawValue) } }
                guard open.contains(link.number) else { continue }
                let view = Fixture.link(
                    link.number, link.way, isOurs: link.isLow == (arrival.end == 0), since: arrival.moment)
                let rule = Self.rule(isLow: arrival.end == 0, wanted: wanted)
                switch rule.decide(active: held[arrival.end], new: view) {
                case .keep: held[arrival.end].append(view)
                case .replace(let replaced):
                    held[arrival.end].removeAll { replaced.contains($0.number) }
                    held[arrival.end].append(view)
                    for number in replaced { open.remove(number.rawValue) }
                // All that was probed answers.
                case .refuse, .wait: open.remove(link.number)
                }
            }
            let left = held.map { Set($0.map(\.number.rawValue)).intersection(open) }
            #expect(left[0] == left[1], "seed \(seed)")
            #expect(!left[0].isEmpty, "seed \(seed)")
            #expect(left[0].count <= wanted, "seed \(seed)")
        }
    }

    @Test func crossingDialsKeepTheOneOfTheLowerDevice() {
        for isLow in [true, false] {
            for oldIsOurs in [true, false] {
                let old = Fixture.link(1, isOurs: oldIsOurs)
                let new = Fixture.link(2, isOurs: !oldIsOurs, since: 0.2)
                let keepsNew = isLow == !oldIsOurs
                #expect(
                    Self.rule(isLow: isLow).decide(active: [old], new: new)
                        == (keepsNew ? .replace([old.number]) : .refuse(.crossing)))
            }
        }
    }
}

@Suite struct LinkWayTests {
    @Test func kindsAreWays() {
        #expect(LinkWay(.tcp, isLocal: true) == .localTCP)
        #expect(LinkWay(.tcp, isLocal: false) == .wideTCP)
        #expect(LinkWay(.relay, isLocal: true) == .relay)
        #expect(LinkWay(.l2cap, isLocal: true) == .l2cap)
        #expect(LinkWay(.gatt, isLocal: false) == .gatt)
    }

    @Test func costAndRateDecideWithinATier() {
        let relay = LinkWorth(.relay)
        #expect(relay.isUpgrade(over: LinkWorth(.l2cap)))
        #expect(!LinkWorth(.relay, isMetered: true).isUpgrade(over: LinkWorth(.l2cap)))
        #expect(LinkWorth(.l2cap).isUpgrade(over: LinkWorth(.relay, isMetered: true)))
        #expect(LinkWorth(.l2cap).isUpgrade(over: LinkWorth(.relay, limit: 20_000)))
        #expect(LinkWorth(.l2cap).isUpgrade(over: LinkWorth(.relay, measuredRate: 30_000)))
        #expect(!LinkWorth(.l2cap).isUpgrade(over: LinkWorth(.relay, measuredRate: 80_000)))
        // Between tiers nothing measured counts.
        #expect(LinkWorth(.wideTCP, measuredRate: 2000).isUpgrade(over: LinkWorth(.relay, measuredRate: 9_000_000)))
        #expect(!LinkWorth(.gatt, measuredRate: 9_000_000).isUpgrade(over: LinkWorth(.l2cap, measuredRate: 1)))
    }

    @Test func oddMeasurementsAreIgnored() {
        for odd in [Double.nan, .infinity, -1, 0] {
            #expect(LinkWorth(.relay, measuredRate: odd, limit: odd).rate == LinkWay.relay.expectedRate)
        }
        #expect(LinkWorth(.relay, measuredRate: 1e300).rate.isFinite)
    }
}
