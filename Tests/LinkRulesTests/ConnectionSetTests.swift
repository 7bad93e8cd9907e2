import BlockExchange
import SyncTestKit
import Testing

@testable import LinkRules

@Suite struct ConnectionSetTests {
    static let low = Fixture.device(1)
    static let high = Fixture.device(2)

    static func set(isLow: Bool = true, own: Int = 3) -> ConnectionSet {
        var settings = ConnectionSet.Settings()
        settings.own = own
        return ConnectionSet(
            local: isLow ? low : high, peer: isLow ? high : low, settings: settings)
    }

    static func hello(
        _ number: Int, _ way: LinkWay = .wideTCP, isOurs: Bool = true, since: Double = 0, count: Int32 = 3,
        knows: Bool = true
    ) -> ConnectionSet.Event {
        .hello(Fixture.link(number, way, isOurs: isOurs, since: since), connectionCount: count, knowsRule: knows)
    }

    /// A set with so many connections, all of which are in use.
    static func set(of count: Int, isLow: Bool = true, knows: Bool = true) -> ConnectionSet {
        var set = set(isLow: isLow)
        for number in 1...count {
            _ = set.handle(hello(number, since: Double(number), knows: knows), at: .seconds(number))
            _ = set.handle(.time, at: .seconds(number + 1))
            _ = set.handle(.configSent(LinkNumber(number)), at: .seconds(number + 1))
            _ = set.handle(.configReceived(LinkNumber(number), isSecondary: number > 1), at: .seconds(number + 1))
        }
        return set
    }

    @Test(
        arguments: [
            (3, 0, 1), (3, 1, 1), (1, 3, 1), (3, 3, 3), (2, 5, 5), (5, 2, 5), (3, -7, 1), (3, 128, 16),
            (3, Int32.max, 16),
        ] as [(Int, Int32, Int)])
    func bothEndsHaveASay(_ own: Int, _ peer: Int32, _ wanted: Int) {
        #expect(ConnectionCount.wanted(own: own, peer: peer) == wanted)
    }

    @Test func theSettingHasBounds() {
        #expect([0, -1, 1, 2, 99].map(ConnectionCount.own) == [3, 1, 1, 2, 16])
    }

    @Test func theFirstIsThePrimary() {
        var set = Self.set()
        #expect(set.handle(.arrived(Fixture.link(1)), at: .zero) == [.proceed(LinkNumber(1))])
        #expect(
            set.handle(Self.hello(1), at: .zero) == [
                .admit(LinkNumber(1)), .connected, .promote(LinkNumber(1)),
            ])
        #expect(set.primary == LinkNumber(1))
        #expect(set.further == 2)
        // No request before the ClusterConfig has left.
        #expect(set.openLinks == [])
        _ = set.handle(.configSent(LinkNumber(1)), at: .zero)
        #expect(set.openLinks == [LinkNumber(1)])
    }

    @Test func theFirstMayWaitAsInSyncthing() {
        var settings = ConnectionSet.Settings()
        settings.firstPromotionDelay = .seconds(1)
        var set = ConnectionSet(local: Self.low, peer: Self.high, settings: settings)
        #expect(set.handle(Self.hello(1), at: .zero) == [.admit(LinkNumber(1)), .connected])
        #expect(set.nextWake == .seconds(1))
        #expect(set.handle(.time, at: .seconds(1)) == [.promote(LinkNumber(1))])
        // Unless the peer has chosen already.
        set = ConnectionSet(local: Self.low, peer: Self.high, settings: settings)
        _ = set.handle(Self.hello(1), at: .zero)
        _ = set.handle(Self.hello(2), at: .zero)
        #expect(
            set.handle(.configReceived(LinkNumber(2), isSecondary: false), at: .zero)
                == [.promote(LinkNumber(2))])
        #expect(set.handle(.time, at: .seconds(1)) == [.sendSecondary(LinkNumber(1))])
    }

    @Test func furtherOnesCarryRequestsOnly() {
        var set = Self.set(of: 1)
        #expect(set.handle(Self.hello(2, since: 5), at: .seconds(5)) == [.admit(LinkNumber(2))])
        #expect(set.nextWake == .seconds(6))
        #expect(set.handle(.time, at: .seconds(6)) == [.sendSecondary(LinkNumber(2))])
        _ = set.handle(.configSent(LinkNumber(2)), at: .seconds(6))
        // Its own ClusterConfig was sent, the peer's has not come.
        #expect(set.openLinks == [LinkNumber(1)])
        _ = set.handle(.configReceived(LinkNumber(2), isSecondary: true), at: .seconds(6))
        #expect(set.openLinks == [LinkNumber(1), LinkNumber(2)])
        #expect(set.primary == LinkNumber(1))
    }

    @Test func theNextTakesOverFromADeadPrimary() {
        var set = Self.set(of: 3)
        #expect(set.handle(.ended(LinkNumber(1)), at: .seconds(9)) == [.promote(LinkNumber(2))])
        // The secondary ClusterConfig that was sent on it lets requests go on meanwhile.
        #expect(set.openLinks == [LinkNumber(2), LinkNumber(3)])
        #expect(set.further == 1)
        #expect(set.handle(.ended(LinkNumber(3)), at: .seconds(9)) == [])
        #expect(set.handle(.ended(LinkNumber(2)), at: .seconds(9)) == [.disconnected])
        #expect(set.handle(.ended(LinkNumber(2)), at: .seconds(9)) == [])
        #expect(set.nextWake == nil)
    }

    @Test func aSyncthingThatPromotesAnotherIsFollowed() {
        for isLow in [true, false] {
            var set = Self.set(of: 2, isLow: isLow, knows: false)
            #expect(
                set.handle(.configReceived(LinkNumber(2), isSecondary: false), at: .seconds(9))
                    == [.demote(LinkNumber(1)), .promote(LinkNumber(2))])
            #expect(set.primary == LinkNumber(2))
            #expect(set.handle(.configReceived(LinkNumber(2), isSecondary: false), at: .seconds(10)) == [])
        }
    }

    @Test func ofTwoOfAKindTheHigherFollows() {
        var high = Self.set(of: 2, isLow: false)
        #expect(
            high.handle(.configReceived(LinkNumber(2), isSecondary: false), at: .seconds(9))
                == [.demote(LinkNumber(1)), .promote(LinkNumber(2))])
        var low = Self.set(of: 2, isLow: true)
        #expect(low.handle(.configReceived(LinkNumber(2), isSecondary: false), at: .seconds(9)) == [])
        #expect(low.nextWake == .seconds(14))
        // The higher follows in time.
        var settled = low
        #expect(settled.handle(.configReceived(LinkNumber(1), isSecondary: false), at: .seconds(10)) == [])
        #expect(settled.handle(.time, at: .seconds(14)) == [])
        #expect(settled.primary == LinkNumber(1))
        // It does not.
        #expect(
            low.handle(.time, at: .seconds(14)) == [.demote(LinkNumber(1)), .promote(LinkNumber(2))])
    }

    @Test func aBetterLinkTakesOverWithoutDisconnecting() {
        var set = Self.set()
        _ = set.handle(Self.hello(1, .relay), at: .zero)
        #expect(set.further == 0)
        _ = set.handle(.configSent(LinkNumber(1)), at: .zero)
        #expect(
            set.handle(Self.hello(2, since: 30), at: .seconds(30)) == [
                .admit(LinkNumber(2)), .demote(LinkNumber(1)), .promote(LinkNumber(2)),
            ])
        // It carries requests until the new one does.
        #expect(set.openLinks == [LinkNumber(1)])
        var other = set
        #expect(set.handle(.configSent(LinkNumber(2)), at: .seconds(31)) == [.retire(LinkNumber(1))])
        #expect(set.openLinks == [LinkNumber(2)])
        #expect(set.handle(.idle(LinkNumber(1)), at: .seconds(31)) == [.close(LinkNumber(1), .replaced)])
        #expect(set.handle(.ended(LinkNumber(1)), at: .seconds(31)) == [])
        #expect(other.handle(.time, at: .seconds(35)) == [.close(LinkNumber(1), .replaced)])
        #expect(other.openLinks == [] && other.further == 2)
    }

    /// Who was told to retire a link waits until it is idle; told again, two would wait for the same.
    @Test func aLinkIsRetiredOnceUntilItIsIdle() {
        var set = Self.set()
        _ = set.handle(Self.hello(1, .relay), at: .zero)
        _ = set.handle(.configSent(LinkNumber(1)), at: .zero)
        let better = set.handle(Self.hello(2, since: 30), at: .seconds(30))
        // Nothing else carries requests yet, so there is nothing to wait for.
        #expect(!better.contains(.retire(LinkNumber(1))))
        #expect(set.handle(.configSent(LinkNumber(2)), at: .seconds(31)) == [.retire(LinkNumber(1))])
        // The new one goes, and the old one is used again.
        _ = set.handle(.ended(LinkNumber(2)), at: .seconds(31))
        #expect(set.openLinks == [LinkNumber(1)])
        _ = set.handle(Self.hello(3, since: 32), at: .seconds(32))
        // Whoever waits still does.
        #expect(set.handle(.configSent(LinkNumber(3)), at: .seconds(32)) == [])
        #expect(set.openLinks == [LinkNumber(3)])
        #expect(set.handle(.idle(LinkNumber(1)), at: .seconds(33)) == [.close(LinkNumber(1), .replaced)])
    }

    @Test func aLinkThatWasIdleWhileInUseIsRetiredAgain() {
        var set = Self.set()
        _ = set.handle(Self.hello(1, .relay), at: .zero)
        _ = set.handle(.configSent(LinkNumber(1)), at: .zero)
        _ = set.handle(Self.hello(2, since: 30), at: .seconds(30))
        _ = set.handle(.configSent(LinkNumber(2)), at: .seconds(31))
        _ = set.handle(.ended(LinkNumber(2)), at: .seconds(31))
        _ = set.handle(Self.hello(3, since: 32), at: .seconds(32))
        // That it has nothing under way at the moment may change.
        #expect(set.handle(.idle(LinkNumber(1)), at: .seconds(32)) == [])
        #expect(set.openLinks == [LinkNumber(1)])
        #expect(set.handle(.configSent(LinkNumber(3)), at: .seconds(32)) == [.retire(LinkNumber(1))])
    }

    @Test func aReplacedLinkComesBackIfTheBetterOneGoesFirst() {
        var set = Self.set()
        _ = set.handle(Self.hello(1, .relay), at: .zero)
        _ = set.handle(Self.hello(2, since: 30), at: .seconds(30))
        #expect(set.handle(.ended(LinkNumber(2)), at: .seconds(31)) == [.promote(LinkNumber(1))])
        #expect(set.handle(.ended(LinkNumber(1)), at: .seconds(32)) == [.disconnected])
    }

    /// The peer has never left it, and would not say again what it shares: without that nothing is taken of its indexes.
    @Test func aReplacedLinkIsClosedWhereThePeerHasNotLeftIt() {
        var set = Self.set()
        _ = set.handle(Self.hello(1, .relay), at: .zero)
        _ = set.handle(.configReceived(LinkNumber(1), isSecondary: false), at: .zero)
        _ = set.handle(Self.hello(2, since: 30), at: .seconds(30))
        var left = set, said = set
        #expect(
            set.handle(.ended(LinkNumber(2)), at: .seconds(31)) == [.close(LinkNumber(1), .replaced), .disconnected])
        #expect(set.handle(.ended(LinkNumber(1)), at: .seconds(31)) == [])
        // It has gone over to the new one, so it comes back as this end does.
        _ = left.handle(.configReceived(LinkNumber(2), isSecondary: false), at: .seconds(30))
        #expect(left.handle(.ended(LinkNumber(2)), at: .seconds(31)) == [.promote(LinkNumber(1))])
        // It has said it again.
        _ = said.handle(.configReceived(LinkNumber(1), isSecondary: false), at: .seconds(30))
        #expect(said.handle(.ended(LinkNumber(2)), at: .seconds(31)) == [.promote(LinkNumber(1))])
    }

    @Test func moreThanWantedAreRefusedBeforeHello() {
        var set = Self.set(of: 3)
        #expect(set.further == 0)
        #expect(
            set.handle(.arrived(Fixture.link(4, since: 60)), at: .seconds(60)) == [.refuse(LinkNumber(4), .enough)])
        var one = Self.set()
        _ = one.handle(Self.hello(1, count: 0), at: .zero)
        #expect(one.wanted == 1)
        #expect(one.further == 0)
    }

    @Test func aPeerThatDialsTooManyHasTheOthersProbed() {
        var set = Self.set(of: 3)
        let new = Self.hello(4, isOurs: false, since: 60)
        #expect(
            set.handle(.arrived(Fixture.link(4, isOurs: false, since: 60)), at: .seconds(60)) == [
                .proceed(LinkNumber(4))
            ])
        #expect(set.handle(new, at: .seconds(60)) == [.probe([1, 2, 3].map { LinkNumber($0) })])
        _ = set.handle(.answered(LinkNumber(1)), at: .seconds(61))
        #expect(
            set.handle(.time, at: .seconds(62)) == [
                .close(LinkNumber(2), .silent), .close(LinkNumber(3), .silent), .admit(LinkNumber(4)),
            ])
        // All answer: it is refused, and nothing is closed.
        set = Self.set(of: 3)
        _ = set.handle(new, at: .seconds(60))
        _ = set.handle(.answered(LinkNumber(1)), at: .seconds(61))
        _ = set.handle(.answered(LinkNumber(2)), at: .seconds(61))
        #expect(set.handle(.answered(LinkNumber(3)), at: .seconds(61)) == [.refuse(LinkNumber(4), .enough)])
    }

    /// LAN gone: the peer comes over a relay while this end still believes in the LAN.
    @Test func aRelayTakesOverFromALinkThatDoesNotAnswer() {
        var set = Self.set()
        _ = set.handle(Self.hello(1, .localTCP), at: .zero)
        #expect(
            set.handle(Self.hello(2, .relay, isOurs: false, since: 60), at: .seconds(60)) == [.probe([LinkNumber(1)])])
        #expect(
            set.handle(.time, at: .seconds(62)) == [
                .close(LinkNumber(1), .silent), .admit(LinkNumber(2)), .promote(LinkNumber(2)),
            ])
    }

    @Test func aSyncthingDecidesOverCrossingDials() {
        func waiting() -> ConnectionSet {
            var set = Self.set()
            _ = set.handle(Self.hello(1, count: 0, knows: false), at: .zero)
            #expect(set.handle(Self.hello(2, isOurs: false, since: 1, count: 0, knows: false), at: .seconds(1)) == [])
            #expect(set.nextWake == .seconds(6))
            return set
        }
        var closesOld = waiting()
        #expect(
            closesOld.handle(.ended(LinkNumber(1)), at: .seconds(2))
                == [.admit(LinkNumber(2)), .promote(LinkNumber(2))])
        var closesNew = waiting()
        #expect(closesNew.handle(.ended(LinkNumber(2)), at: .seconds(2)) == [])
        var closesNone = waiting()
        #expect(closesNone.handle(.time, at: .seconds(6)) == [.refuse(LinkNumber(2), .undecided)])
        #expect(closesNone.primary == LinkNumber(1))
    }

    /// A link of which nobody knows whether it works keeps no other out that was dialled because of that, whatever the peer is.
    @Test(arguments: [true, false], [true, false])
    func aDoubtfulLinkGivesWayToWhatWasDialled(_ knows: Bool, _ isOurs: Bool) {
        var set = Self.set(of: 1, knows: knows)
        set.doubtful = [LinkNumber(1)]
        let new = Fixture.link(2, isOurs: isOurs, since: 9)
        #expect(set.handle(.arrived(new), at: .seconds(9)) == [.proceed(LinkNumber(2))])
        let actions = set.handle(Self.hello(2, isOurs: isOurs, since: 9, count: 1, knows: knows), at: .seconds(9))
        #expect(
            actions.prefix(3) == [.admit(LinkNumber(2)), .demote(LinkNumber(1)), .close(LinkNumber(1), .silent)])
        #expect(set.active.map(\.number) == [LinkNumber(2)])
        #expect(set.openLinks == [], "nothing is asked for over a link in doubt")
    }

    @Test func fewWaitForADecision() {
        var set = Self.set(of: 3)
        var refused = 0
        for number in 4...40 {
            let actions = set.handle(Self.hello(number, isOurs: false, since: 60), at: .seconds(60))
            if actions.contains(.refuse(LinkNumber(number), .enough)) { refused += 1 }
        }
        #expect(refused == 33)
    }

    /// Any events in any order: at most one primary, promoted and demoted in turns; no request where no ClusterConfig was
    /// sent; connected and disconnected alternate; nothing is done to a connection that is not there.
    @Test func rolesHoldWhateverHappens() {
        for seed in 0..<600 {
            var random = SeededGenerator(seed: UInt64(seed))
            var set = Self.set(isLow: random.isOne(in: 2), own: random.int(1...4))
            let knows = random.isOne(in: 2)
            let count = Int32(random.int(0...4))
            var now = Duration.zero
            var members: Set<LinkNumber> = []
            var given: [LinkNumber] = []
            var sent: Set<LinkNumber> = []
            var asked: Set<LinkNumber> = []
            var retired: Set<LinkNumber> = []
            var exchanging: LinkNumber?
            var isConnected = false
            for _ in 0..<200 {
                now += .milliseconds(random.int(0...3000))
                let anyLink = given.isEmpty ? LinkNumber(0) : random.pick(given)
                let event: ConnectionSet.Event
                switch random.int(0...9) {
                case 0, 1:
                    let number = given.count + 1
                    given.append(LinkNumber(number))
                    let view = LinkView(
                        LinkNumber(number), way: random.pick(LinkWay.allCases), isOurs: random.isOne(in: 2), since: now)
                    event = .hello(view, connectionCount: count, knowsRule: knows)
                case 2: event = .configReceived(anyLink, isSecondary: random.isOne(in: 2))
                case 3: event = .ended(anyLink)
                case 4: event = .answered(anyLink)
                case 5: event = .idle(anyLink)
                case 6, 7:
                    guard let next = asked.subtracting(sent).min() else { continue }
                    sent.insert(next)
                    event = .configSent(next)
                default:
                    now = max(now, set.nextWake ?? now)
                    event = .time
                }
                if case .idle(let link) = event { retired.remove(link) }
                if case .ended(let link) = event {
                    members.remove(link)
                    if exchanging == link { exchanging = nil }
                }
                for action in set.handle(event, at: now) {
                    switch action {
                    case .admit(let link): #expect(members.insert(link).inserted, "seed \(seed)")
                    case .refuse(let link, _): #expect(!members.contains(link), "seed \(seed)")
                    case .close(let link, _):
                        members.remove(link)
                        if exchanging == link { exchanging = nil }
                    case .promote(let link):
                        #expect(exchanging == nil && members.contains(link), "seed \(seed)")
                        exchanging = link
                        asked.insert(link)
                    case .demote(let link):
                        #expect(exchanging == link, "seed \(seed)")
                        exchanging = nil
                    case .sendSecondary(let link):
                        #expect(members.contains(link) && link != exchanging, "seed \(seed)")
                        asked.insert(link)
                    case .connected:
                        #expect(!isConnected, "seed \(seed)")
                        isConnected = true
                    case .disconnected:
                        #expect(isConnected, "seed \(seed)")
                        isConnected = false
                    case .retire(let link):
                        #expect(members.contains(link) && !set.openLinks.contains(link), "seed \(seed)")
                        #expect(retired.insert(link).inserted, "seed \(seed)")
                    case .probe(let links): #expect(members.isSuperset(of: links), "seed \(seed)")
                    case .proceed: break
                    }
                }
                #expect(set.primary == exchanging, "seed \(seed)")
                #expect(isConnected == !members.isEmpty, "seed \(seed)")
                #expect(set.active.count <= max(1, set.wanted), "seed \(seed)")
                #expect(set.active.isEmpty || set.primary != nil, "seed \(seed)")
                #expect(Set(set.active.map(\.way.tier)).count <= 1, "seed \(seed)")
                if event == .time { #expect(set.nextWake.map { $0 > now } ?? true, "seed \(seed)") }
                #expect(Set(set.openLinks).isSubset(of: sent.intersection(members)), "seed \(seed)")
            }
        }
    }

    @Test func whatThisSideClosesTakesOverFromNone() {
        var set = Self.set(of: 2)
        for number in [1, 2] { #expect(set.handle(.closing(LinkNumber(number)), at: .seconds(5)) == []) }
        #expect(set.handle(.ended(LinkNumber(1)), at: .seconds(5)) == [])
        #expect(set.primary == nil)
        // Nor does it follow the peer, which promotes the other.
        #expect(set.handle(.configReceived(LinkNumber(2), isSecondary: false), at: .seconds(5)) == [])
        #expect(set.handle(.ended(LinkNumber(2)), at: .seconds(6)) == [.disconnected])
    }

    @Test func oneThatIsNotStartedYetStaysSoWhenItIsClosed() {
        var set = Self.set(of: 1)
        _ = set.handle(Self.hello(2, since: 3), at: .seconds(3))
        _ = set.handle(.closing(LinkNumber(1)), at: .seconds(3))
        _ = set.handle(.closing(LinkNumber(2)), at: .seconds(3))
        #expect(set.handle(.ended(LinkNumber(1)), at: .seconds(3)) == [])
        #expect(set.handle(.time, at: .seconds(10)) == [])
        #expect(set.nextWake == nil)
    }

    @Test func aNewLinkTakesOverFromOneThatIsClosed() {
        var set = Self.set(of: 1)
        _ = set.handle(.closing(LinkNumber(1)), at: .seconds(3))
        #expect(set.handle(Self.hello(2, since: 3), at: .seconds(3)) == [.admit(LinkNumber(2))])
        #expect(set.handle(.ended(LinkNumber(1)), at: .seconds(3)) == [.promote(LinkNumber(2))])
    }

    @Test func oneThatWaitsIsNotAdmittedAfterItWasClosed() {
        var set = Self.set(of: 1)
        // The first is probed before a worse one is taken.
        #expect(
            set.handle(Self.hello(2, .relay, isOurs: false, since: 60), at: .seconds(60)) == [.probe([LinkNumber(1)])])
        _ = set.handle(.closing(LinkNumber(2)), at: .seconds(60))
        #expect(set.handle(.ended(LinkNumber(1)), at: .seconds(61)) == [.disconnected])
        #expect(set.handle(.time, at: .seconds(100)) == [])
    }
}
