import SyncTestKit
import Testing

@testable import LinkRules

/// A plan with the dials that it has started, run by a clock of numbers.
struct PlanRun {
    var plan = DialPlan(seed: 1)
    var now: Duration = .seconds(1000)
    var log: [(moment: Duration, target: String)] = []
    var cancelled: [String] = []

    mutating func send(_ event: DialPlan.Event) {
        for action in plan.handle(event, at: now) {
            switch action {
            case .dial(let attempt): log.append((now, attempt.target.text))
            case .cancel(let attempt): cancelled.append(attempt.target.text)
            }
        }
    }

    /// Lets time pass and wakes the plan when it wants it; each dial fails after `dialTime`.
    mutating func run(for time: Duration, dialTime: Duration? = nil, _ failure: DialFailure = .unreachable) {
        let end = now + time
        var began: [Int: Duration] = [:]
        while true {
            for attempt in plan.underWay where began[attempt.number] == nil { began[attempt.number] = now }
            let failing = dialTime.flatMap { dialTime in
                plan.underWay.compactMap { began[$0.number].map { $0 + dialTime } }.min()
            }
            guard let next = [plan.nextWake, failing].compactMap({ $0 }).min(), next <= end else { break }
            #expect(next >= now)
            now = max(next, now)
            if let dialTime,
                let attempt = plan.underWay.first(where: { began[$0.number].map { $0 + dialTime <= now } ?? false })
            {
                send(.failed(attempt, failure))
            } else {
                send(.time)
            }
        }
        now = end
    }

    func attempt(_ text: String) -> DialPlan.Attempt { plan.underWay.first { $0.target.text == text }! }

    func offsets(of text: String) -> [Double] {
        log.filter { $0.target == text }.map { Double(($0.moment - .seconds(1000)) / .milliseconds(1)) / 1000 }
    }
}

extension DialPlan.Standing {
    static func connected(_ ways: Set<LinkWay> = [], further: Int = 0, isDialler: Bool = true) -> Self {
        Self(isConnected: true, wish: LinkUpgrades.Wish(ways: ways), further: further, isDialler: isDialler)
    }
}

@Suite struct DialPlanTests {
    static let local = "tcp://192.168.1.9:22000"
    static let wide = "tcp://8.8.8.8:22000"
    static let relay = "relay://1.1.1.1:443"
    static let networks = [Fixture.network("192.168.1.0/24")]

    static func run(_ global: [String], configured: [String] = []) -> PlanRun {
        var run = PlanRun()
        _ = run.plan.handle(.networks(networks), at: run.now)
        _ = run.plan.handle(.policy(DialPolicy()), at: run.now)
        run.send(.addresses(.configured, configured))
        run.send(.addresses(.global, global))
        return run
    }

    @Test func eachGroupHasAHeadStart() {
        var run = Self.run([Self.relay, Self.wide, Self.local])
        run.run(for: .seconds(9))
        #expect(run.offsets(of: Self.local) == [0])
        #expect(run.offsets(of: Self.wide) == [1])
        #expect(run.offsets(of: Self.relay) == [2.5])
    }

    @Test func aGroupThatFailedHoldsNothingUp() {
        var run = Self.run([Self.relay, Self.wide])
        run.now += .milliseconds(200)
        run.send(.failed(run.attempt(Self.wide), .unreachable))
        #expect(run.offsets(of: Self.relay) == [0.2])
    }

    @Test func startsAreStaggeredAndFamiliesAlternate() {
        let addresses = ["tcp://8.8.8.1:1", "tcp://8.8.8.2:1", "tcp://[2001:4860::1]:1", "tcp://[2001:4860::2]:1"]
        var run = Self.run(addresses)
        run.run(for: .seconds(5))
        #expect(run.log.map(\.target) == [addresses[0], addresses[2], addresses[1], addresses[3]])
        #expect(addresses.map { run.offsets(of: $0) } == [[0], [0.5], [0.25], [0.75]])
    }

    @Test func aFloodOfAddressesIsBounded() {
        let flood = (0..<10_000).map { "tcp://8.\($0 / 2500).\($0 / 250 % 10).\($0 % 250):\(1000 + $0)" }
        var run = Self.run(flood + (0..<100).map { "relay://1.2.3.\($0):443" })
        run.run(for: .seconds(600), dialTime: .seconds(10))
        #expect(Set(run.log.map(\.target)).count <= 32)
        #expect(Set(run.log.map(\.target)).count >= 16)
        // Ever new answers do not get more.
        for round in 0..<60 {
            run.send(.addresses(.global, (0..<10_000).map { "tcp://9.\(round).\($0 / 250).\($0 % 250):22000" }))
            run.run(for: .seconds(1), dialTime: .milliseconds(100))
        }
        let moments = run.log.map(\.moment)
        for start in moments {
            #expect(moments.count { $0 >= start && $0 - start < .seconds(60) } <= 64)
        }
    }

    /// A laptop leaves one network and has an address in the next a while later: what was dialled in between left by no
    /// network, and does not hold up what comes then.
    @Test func afterAHandOverTheDeviceIsDialledWithinTwoSeconds() {
        for gap in [0, 300, 1500, 8000] {
            var run = Self.run([Self.wide, Self.relay])
            run.send(.linked(run.attempt(Self.wide), .connected()))
            run.run(for: .seconds(100))
            run.send(.networks([]))
            run.send(.links(.none))
            run.run(for: .milliseconds(gap))
            let begin = run.now
            run.log = []
            run.send(.networks([Fixture.network("10.64.0.0/16")]))
            run.run(for: .seconds(4))
            let first = run.log.first { $0.moment >= begin }
            #expect(first?.target == Self.wide)
            #expect((first?.moment ?? .seconds(9999)) - begin <= .seconds(2), "gap \(gap)")
            let relay = run.log.first { $0.moment >= begin && $0.target == Self.relay }
            #expect((relay?.moment ?? .seconds(9999)) - begin <= .milliseconds(3500), "gap \(gap)")
        }
    }

    @Test func doublesAndWhatCannotBeDialledAreDropped() {
        let run = Self.run([
            Self.wide, Self.wide, "tcp://8.8.8.8", "quic://8.8.8.8:22000", "tcp://127.0.0.1:22000",
            "tcp://0.0.0.0:22000", "",
            "dynamic", "tcp://224.0.0.1:22000", "tcp://8.8.8.8:0", "ble://AA:BB:CC:DD:EE:FF",
        ])
        #expect(run.plan.targets.map(\.text) == [Self.wide])
    }

    @Test func anAddressIsLeftAloneForLongerAndLonger() {
        var direct = Self.run([Self.wide])
        direct.run(for: .seconds(600), dialTime: .seconds(1))
        let offsets = direct.offsets(of: Self.wide)
        for (index, bounds) in [2.0...3.1, 4...5.1, 8...10.1, 15...18.8, 20...25.1, 30...37.6, 45...56.3, 60...75.1]
            .enumerated()
        {
            #expect(bounds.contains(offsets[index + 1] - offsets[index]))
        }
        var relay = Self.run([Self.relay])
        relay.run(for: .seconds(3000), dialTime: .seconds(1))
        let relayOffsets = relay.offsets(of: Self.relay)
        for (index, bounds) in [
            5.0...6.3, 20...25.1, 60...75.1, 120...150.1, 240...300.1, 480...600.1, 600...750.1,
        ].enumerated() {
            #expect(bounds.contains(relayOffsets[index + 1] - relayOffsets[index]))
        }
    }

    /// A direct path is dialled each 20 s at the least, so that it is found within 30 s however long it was closed.
    @Test func whileARelayIsUsedADirectPathIsTriedSteadily() {
        var run = Self.run([Self.relay, Self.wide])
        run.run(for: .seconds(2))
        run.send(.linked(run.attempt(Self.relay), .connected([.wideTCP, .localTCP])))
        #expect(run.cancelled.isEmpty)
        run.run(for: .seconds(1800), dialTime: .seconds(9))
        let offsets = run.offsets(of: Self.wide)
        for (earlier, later) in zip(offsets, offsets.dropFirst()) { #expect(later - earlier <= 25.1) }
        #expect(offsets.count > 60)
        #expect(run.offsets(of: Self.relay).count == 1)
    }

    @Test func aLinkCancelsItsOwnGroupAndWorseOnes() {
        var run = Self.run(["tcp://8.8.8.1:1", Self.wide, Self.relay, Self.local])
        run.run(for: .seconds(3))
        #expect(run.plan.underWay.count == 4)
        run.send(.linked(run.attempt(Self.wide), .connected([.localTCP])))
        #expect(Set(run.cancelled) == ["tcp://8.8.8.1:1", Self.relay])
        #expect(run.plan.underWay.map(\.target.text) == [Self.local])
        // The peer has dialled the local way meanwhile.
        run.send(.links(.connected()))
        #expect(run.plan.underWay.isEmpty)
        run.run(for: .seconds(3600))
        #expect(run.log.count == 4)
        #expect(run.plan.nextWake == nil)
    }

    @Test func aLostLinkIsRedialledAtOnceButNotForEver() {
        var run = Self.run([Self.wide])
        for _ in 0..<8 {
            run.run(for: .seconds(3))
            guard let attempt = run.plan.underWay.first else { continue }
            run.send(.linked(attempt, .connected()))
            run.run(for: .seconds(3))
            run.send(.links(.none))
        }
        // The first, three that were forced, and those that were due anyway.
        #expect(run.log.count <= 6)
        #expect(run.log.count >= 4)
        #expect(run.offsets(of: Self.wide)[1] == 6)
    }

    @Test func whereSomebodyElseAnswersNobodyIsDialled() {
        for failure in [DialFailure.ourself, .otherDevice] {
            var run = Self.run([Self.local], configured: [Self.wide])
            run.run(for: .seconds(1))
            run.send(.failed(run.attempt(Self.local), failure))
            run.send(.failed(run.attempt(Self.wide), failure))
            run.run(for: .seconds(3500), dialTime: .seconds(1), failure)
            #expect(run.offsets(of: Self.local).count == 1)
            // The user's own: perhaps it is corrected there.
            #expect((4...7).contains(run.offsets(of: Self.wide).count))
            // Neither a new answer nor a question changes that, another network does.
            let count = run.log.count { $0.target == Self.local }
            run.send(.addresses(.global, []))
            run.send(.addresses(.global, [Self.local]))
            run.send(.asked)
            #expect(run.log.count { $0.target == Self.local } == count)
            run.send(.networks(Self.networks))
            #expect(run.log.count { $0.target == Self.local } == count + 1)
        }
    }

    @Test func anotherNetworkStartsAfresh() {
        var run = Self.run([Self.wide, Self.relay])
        run.run(for: .seconds(5))
        run.send(.networks([]))
        #expect(Set(run.cancelled) == [Self.wide, Self.relay])
        run.run(for: .seconds(4))
        #expect(run.offsets(of: Self.wide) == [0, 5])
        #expect(run.offsets(of: Self.relay).count == 2)
        // A network that comes and goes is no reason to flood an address.
        let before = run.log.count
        for _ in 0..<100 {
            run.now += .milliseconds(100)
            run.send(.networks([]))
            run.send(.asked)
        }
        #expect(run.log.count - before <= 2 * 6)
    }

    @Test func policiesHold() {
        func dialled(_ change: (inout DialPolicy) -> Void) -> Set<String> {
            var policy = DialPolicy()
            change(&policy)
            var run = PlanRun()
            run.send(.networks(Self.networks))
            run.send(.policy(policy))
            run.send(.addresses(.configured, ["ble://AA:BB:CC:DD:EE:FF", "tcp://abc.onion:1"]))
            run.send(.addresses(.global, [Self.wide, Self.relay, Self.local]))
            run.run(for: .seconds(30))
            return Set(run.log.map(\.target))
        }
        #expect(dialled { _ in } == [Self.wide, Self.relay, Self.local])
        #expect(dialled { $0.isPaused = true }.isEmpty)
        #expect(dialled { $0.allowsRelays = false } == [Self.wide, Self.local])
        #expect(dialled { $0.allowsDirect = false } == [Self.relay])
        // Through the proxy, but for what others say is in this network.
        #expect(
            dialled { ($0.allowsDirect, $0.hasProxy) = (false, true) } == [Self.relay, Self.wide, "tcp://abc.onion:1"])
        #expect(
            dialled { ($0.allowsDirect, $0.hasProxy) = (true, true) } == [
                Self.relay, Self.wide, Self.local, "tcp://abc.onion:1",
            ])
        #expect(
            dialled { $0.allowsRadio = true } == [Self.relay, Self.wide, Self.local, "ble://AA:BB:CC:DD:EE:FF"])
        #expect(
            dialled { $0.allowed = try! AllowedNetworks(parsing: ["!192.168.0.0/16", "1.0.0.0/8"]) } == [Self.relay])
    }

    @Test func whatForbidsAnAddressIsNamed() throws {
        var policy = DialPolicy()
        policy.allowsRelays = false
        policy.allowed = try AllowedNetworks(parsing: ["192.168.0.0/16"])
        var run = PlanRun()
        run.send(.networks(Self.networks))
        run.send(.policy(policy))
        run.send(.addresses(.configured, ["ble://AA:BB:CC:DD:EE:FF", Self.wide, Self.relay, Self.local]))
        func texts() -> [String: DialObstacle] {
            Dictionary(uniqueKeysWithValues: run.plan.obstacles.map { ($0.key.text, $0.value) })
        }
        #expect(
            texts() == ["ble://AA:BB:CC:DD:EE:FF": .idleRadio, Self.wide: .network, Self.relay: .relaysOff])
        // Of a relay's name nobody knows where it leads.
        policy.allowsRelays = true
        run.send(.policy(policy))
        run.send(.addresses(.global, ["relay://relay.example:443"]))
        #expect(
            texts() == [
                "ble://AA:BB:CC:DD:EE:FF": .idleRadio, Self.wide: .network, Self.relay: .network,
                "relay://relay.example:443": .relayName,
            ])
        run.send(.policy(DialPolicy()))
        #expect(texts() == ["ble://AA:BB:CC:DD:EE:FF": .idleRadio])
    }

    /// Where the user has done what the message advises.
    @Test func aNameThatLedOutOfTheAllowedNetworksIsDialledWhenOthersAreAllowed() throws {
        let name = "tcp://nas.example:22000"
        var policy = DialPolicy()
        policy.allowed = try AllowedNetworks(parsing: ["192.168.0.0/16"])
        var run = PlanRun()
        run.send(.policy(policy))
        run.send(.addresses(.configured, [name]))
        run.run(for: .seconds(1))
        run.send(.failed(run.attempt(name), .notAllowed))
        run.run(for: .seconds(60))
        #expect(run.offsets(of: name) == [0])
        policy.allowed = try AllowedNetworks(parsing: ["192.168.0.0/16", "198.51.100.0/24"])
        run.send(.policy(policy))
        #expect(run.offsets(of: name) == [0, 61])
    }

    @Test func aPolicyCancelsWhatItForbids() {
        var run = Self.run([Self.wide])
        var policy = DialPolicy()
        policy.isPaused = true
        run.send(.policy(policy))
        #expect(run.cancelled == [Self.wide])
        #expect(run.plan.nextWake == nil)
        run.now += .seconds(30)
        run.send(.policy(DialPolicy()))
        #expect(run.offsets(of: Self.wide) == [0, 30])
    }

    @Test func unsteadyWaysAreDialledLast() {
        var run = Self.run([])
        let wish = LinkUpgrades.Wish(ways: [.relay], later: [.wideTCP])
        run.send(.links(DialPlan.Standing(isConnected: false, wish: wish)))
        run.send(.addresses(.global, [Self.wide, Self.relay]))
        run.run(for: .seconds(10))
        #expect(run.offsets(of: Self.relay) == [0])
        #expect(run.offsets(of: Self.wide) == [5])
    }

    @Test func furtherConnectionsAreDialledOneByOne() {
        var run = Self.run([Self.wide, "tcp://8.8.8.1:1"])
        run.send(.linked(run.attempt(Self.wide), .connected(further: 2)))
        run.run(for: .seconds(2))
        #expect(run.offsets(of: Self.wide) == [0, 1])
        run.send(.linked(run.attempt(Self.wide), .connected(further: 1)))
        run.run(for: .seconds(2))
        #expect(run.offsets(of: Self.wide) == [0, 1, 3])
        // The peer has enough.
        run.send(.failed(run.attempt(Self.wide), .refusedByPeer))
        run.run(for: .seconds(59))
        #expect(run.offsets(of: Self.wide).count == 3)
        run.run(for: .seconds(20))
        #expect(run.offsets(of: Self.wide).count == 4)
        run.send(.links(.connected(further: 0)))
        #expect(run.cancelled.last == Self.wide)
        #expect(run.offsets(of: "tcp://8.8.8.1:1").isEmpty)
    }

    @Test func theOtherSideLetsTheDiallerGoFirst() {
        var run = Self.run([Self.wide])
        run.send(.links(.connected(further: 2, isDialler: false)))
        run.run(for: .seconds(14))
        #expect(run.log.count == 1)
        run.run(for: .seconds(2))
        #expect(run.log.count == 2)
    }

    @Test func withoutRoomADialComesAgainSoon() {
        var run = Self.run([Self.wide])
        run.send(.failed(run.attempt(Self.wide), .noRoom))
        run.run(for: .seconds(2))
        #expect(run.log.count == 2)
        var budget = DialBudget()
        let taken = (0..<70).map { _ in budget.take() }
        #expect(taken.count { $0 } == 64)
        budget.give()
        let isTaken = budget.take()
        #expect(isTaken)
    }

    /// Random events: never more dials at once than allowed, none twice at once, none of what may not be dialled, a wake-up
    /// that lies ahead, and what it dials it accounts for.
    @Test func boundsHoldWhateverHappens() {
        for seed in 0..<80 {
            var random = SeededGenerator(seed: UInt64(seed))
            var plan = DialPlan(seed: UInt64(seed))
            var now = Duration.seconds(50)
            var underWay: [DialPlan.Attempt] = []
            var starts: [Duration] = []
            let pool =
                (0..<20).map { "tcp://8.8.8.\($0):22000" } + (0..<6).map { "relay://1.1.1.\($0):443" }
                + (0..<6).map { "tcp://192.168.1.\($0):22000" } + [
                    "tcp://127.0.0.1:1", "tcp://x.example:5", "ble://AA:BB:CC:DD:EE:FF",
                ]
            for _ in 0..<300 {
                now += .milliseconds(random.int(0...4000))
                let event: DialPlan.Event
                switch random.int(0...9) {
                case 0:
                    event = .addresses(
                        random.pick(AddressSource.allCases), (0..<random.int(0...40)).map { _ in random.pick(pool) })
                case 1:
                    var policy = DialPolicy()
                    policy.allowsRelays = random.isOne(in: 2)
                    policy.allowsDirect = !random.isOne(in: 4)
                    policy.allowsRadio = random.isOne(in: 2)
                    policy.isPaused = random.isOne(in: 6)
                    event = .policy(policy)
                case 2: event = .networks(random.isOne(in: 2) ? Self.networks : [])
                case 3:
                    let ways = Set(LinkWay.allCases.filter { _ in random.isOne(in: 2) })
                    event = .links(
                        DialPlan.Standing(
                            isConnected: random.isOne(in: 2), wish: LinkUpgrades.Wish(ways: ways),
                            further: random.int(0...2)))
                case 4: event = .asked
                case 5 where !underWay.isEmpty:
                    event = .linked(random.pick(underWay), .connected([.localTCP], further: 1))
                case 5, 6, 7:
                    guard !underWay.isEmpty else { continue }
                    event = .failed(
                        random.pick(underWay),
                        random.pick([.unreachable, .otherDevice, .refusedByPeer, .noRoom, .notAllowed]))
                default:
                    now = max(now, plan.nextWake ?? now)
                    event = .time
                }
                if case .failed(let attempt, _) = event { underWay.removeAll { $0 == attempt } }
                if case .linked(let attempt, _) = event { underWay.removeAll { $0 == attempt } }
                for action in plan.handle(event, at: now) {
                    switch action {
                    case .dial(let attempt):
                        #expect(!underWay.contains { $0.target == attempt.target }, "seed \(seed)")
                        #expect(plan.policy.allow(attempt.target), "seed \(seed)")
                        #expect(
                            AddressSanity.problem(attempt.target, from: attempt.source, hasProxy: false) == nil,
                            "seed \(seed)")
                        underWay.append(attempt)
                        starts.append(now)
                    case .cancel(let attempt):
                        #expect(underWay.contains(attempt), "seed \(seed)")
                        underWay.removeAll { $0 == attempt }
                    }
                }
                #expect(underWay.count <= 8, "seed \(seed)")
                #expect(underWay.count { $0.group < .relay } <= 6, "seed \(seed)")
                #expect(underWay == plan.underWay, "seed \(seed)")
                #expect(plan.nextWake.map { $0 > now } ?? true, "seed \(seed)")
                #expect(plan.targets.count <= 32, "seed \(seed)")
            }
            for start in starts {
                #expect(starts.count { $0 >= start && $0 - start < .seconds(60) } <= 64, "seed \(seed)")
            }
        }
    }
}
