import AgentConfiguration
import LinkRules
import Testing
import Transport

@testable import AgentContext
@testable import PeerLinks

@Suite struct HeldTransfersTests {
    typealias Restraint = TransferPolicies.Restraint

    static let worst = MachineConditions(isMetered: true, isOnBattery: true, charge: 1)
    static let purposes: [SlowLinkPolicy.Purpose] = [.index, .answer, .kept(byteCount: 1), .onDemand]

    private static func held(
        onMetered: Restraint = .nothing, onBattery: Restraint = .nothing, local: Bool = false
    ) -> HeldTransfers {
        HeldTransfers(
            TransferPolicies(
                onMetered: onMetered, onBattery: onBattery, meteredRate: 5000, includesLocalNetwork: local),
            in: worst, isIgnored: false)
    }

    @Test func waysCostWhatThePoliciesSay() {
        let everywhere: Set<LinkWay> = [.localTCP, .wideTCP, .relay]
        #expect(Self.held(onMetered: .nothing).costs.isEmpty && Self.held(onBattery: .pause).costs.isEmpty)
        #expect(Set(Self.held(onMetered: .pause).costs.keys) == everywhere.subtracting([.localTCP]))
        #expect(Set(Self.held(onMetered: .pause, local: true).costs.keys) == everywhere)
        #expect(Self.held(onMetered: .onDemandOnly).costs[.relay] == .init(isMetered: true))
        #expect(Self.held(onMetered: .limit).costs[.relay] == .init(isMetered: true, limit: 5000))
        #expect(Self.held(onBattery: .limit).costs[.l2cap] == .init(limit: 5000))
    }

    /// Which of `purposes` go on.
    static let table: [(Restraint, [Bool])] = [
        (.nothing, [true, true, true, true]), (.limit, [true, true, true, true]),
        (.onDemandOnly, [true, true, false, true]), (.pause, [true, false, false, false]),
    ]

    @Test(arguments: table) func theTableDecides(_ restraint: Restraint, _ expected: [Bool]) {
        func goes(_ held: HeldTransfers, _ route: LinkRoute) -> [Bool] {
            Self.purposes.map { held.obstacle(to: $0, over: route) == nil }
        }
        let free = Self.purposes.map { _ in true }
        for route in LinkRoute.allCases {
            let metered = [Self.held(onMetered: restraint), Self.held(onMetered: restraint, local: true)]
            #expect(goes(metered[0], route) == (route == .internet ? expected : free))
            #expect(goes(metered[1], route) == (route == .radio ? free : expected))
            // A battery does not care where to.
            #expect(goes(Self.held(onBattery: restraint), route) == expected)
        }
    }

    @Test func theStricterOfTheTwoIsSaid() {
        for metered in Restraint.allCases {
            for battery in Restraint.allCases {
                let hold = Self.held(onMetered: metered, onBattery: battery)
                    .obstacle(to: .kept(byteCount: 1), over: .internet)
                let strictest = max(metered, battery)
                #expect(hold?.restraint == (strictest >= .onDemandOnly ? strictest : nil))
            }
        }
    }

    @Test func onlyWhatLimitsHasARate() {
        for restraint in Restraint.allCases {
            let held = Self.held(onMetered: restraint)
            #expect(held.rate(over: .internet) == (restraint == .limit ? 5000 : nil))
            #expect(held.rate(over: .localNetwork) == nil)
            #expect(held.rate(over: .radio) == nil)
        }
        #expect(Self.held(onMetered: .limit, local: true).rate(over: .localNetwork) == 5000)
    }

    /// The lower of the two limits counts, and a link that neither concerns has none.
    @Test func aPolicyLimitsBesideTheLimits() {
        let held = Self.held(onMetered: .limit)
        let limits = TransferLimits(usual: .init(up: 2000, down: nil))
        let shared = SharedLimits(limits) { held }
        #expect(shared.rates(at: 0, utcOffset: 0) == .init(up: 2000, down: 5000))
        #expect(LinkRoute.allCases.map { shared.hold(for: $0) } == [false, false, true])
        let local = Self.held(onMetered: .limit, local: true)
        #expect(LinkRoute.allCases.map { SharedLimits(limits) { local }.hold(for: $0) } == [false, true, true])
        #expect(SharedLimits(limits) { HeldTransfers() }.rates(at: 0, utcOffset: 0) == limits.usual)
    }

    @Test func everyObstacleSaysWhatToDo() {
        for cause in TransferPolicies.Cause.allCases {
            for restraint in [Restraint.onDemandOnly, .pause] {
                let text = LinkObstacle.policy(.init(cause, restraint)).text(folder: "f").english
                #expect(text.contains("synctrain policy ignore"))
                #expect(text.contains("fetch") == (restraint == .onDemandOnly))
            }
        }
    }

    @Test func theRouteIsWhereTheLinkLeads() throws {
        let networks = MachineNetworks(prefixes: [try NetworkPrefix(parsing: "192.168.7.3/24")])
        let rows: [(LinkKind, String, LinkRoute)] = [
            (.tcp, "tcp://192.168.7.9:1", .localNetwork), (.tcp, "tcp://192.168.8.9:1", .internet),
            (.tcp, "tcp://[2001:db8::1]:1", .internet), (.l2cap, "ble://AA:BB:CC:DD:EE:FF", .radio),
            (.relay, "relay://192.168.7.9:22067", .internet), (.gatt, "192.168.7.9:1", .radio),
            (.virtual, "virtual://a", .radio),
        ]
        for (kind, address, route) in rows {
            let information = LinkInformation(kind: kind, remoteAddress: address, isInitiator: true)
            #expect(LinkRoute(information, networks: networks) == route)
        }
    }
}

@Suite struct PolicyBoardTests {
    private struct Source: MachineStateSource {
        var conditions = HeldTransfersTests.worst
        var remarks: [String] = []
        var changes: AsyncStream<Void> { AsyncStream { $0.finish() } }
        var sleep: AsyncStream<MachineSleep> { AsyncStream { $0.finish() } }
    }

    @Test func whatIsSetAsideHoldsAgainWhenItsTimeIsOver() {
        let board = PolicyBoard(TransferPolicies(onMetered: .pause), source: Source())
        #expect(board.held.holds.isEmpty)
        #expect(board.refresh(at: 100) == (true, nil))
        #expect(board.held.holds == [.init(.metered, .pause)])
        #expect(board.refresh(at: 100) == (false, nil))
        board.setIgnored(true, until: 160)
        #expect(board.refresh(at: 100) == (true, 160))
        #expect(board.held.holds.isEmpty)
        #expect(board.status.isIgnored && board.status.ignoredUntil == "1970-01-01T00:02:40Z")
        #expect(board.refresh(at: 159) == (false, 160))
        #expect(board.refresh(at: 160) == (true, nil))
        #expect(board.held.holds.count == 1 && !board.status.isIgnored)
        board.setIgnored(true, until: nil)
        #expect(board.refresh(at: .max) == (true, nil))
        #expect(board.status.isIgnored && board.status.ignoredUntil == nil)
        board.setIgnored(false, until: nil)
        #expect(board.refresh(at: 0) == (true, nil))
        board.set(TransferPolicies(onMetered: .nothing))
        #expect(board.refresh(at: 0) == (true, nil))
        #expect(board.held.holds.isEmpty)
    }

    @Test func withoutAnybodyWhoKnowsNothingHolds() {
        let board = PolicyBoard(TransferPolicies(onMetered: .pause, onBattery: .pause, batteryBelow: 100), source: nil)
        #expect(board.refresh(at: 0) == (false, nil))
        #expect(board.status.metered == .unknown && board.status.battery == .unknown && !board.status.remarks.isEmpty)
    }
}
