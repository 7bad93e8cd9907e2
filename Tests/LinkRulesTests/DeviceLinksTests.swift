import Testing
import Transport

@testable import LinkRules

/// That `DeviceLinks` joins its parts: what each decides is tested with it.
@Suite struct DeviceLinksTests {
    private static let relay = "relay://1.1.1.1:443"
    private static let radio = "ble://AA:BB:CC:DD:EE:FF"

    /// Connected by L2CAP, with a relay to be had as well; the texts that are dialled in the next two minutes.
    private static func dialled(_ costs: [LinkWay: DeviceLinks.Cost], measured rate: Double = 100_000) -> Set<String> {
        var links = DeviceLinks(local: Fixture.device(1), peer: Fixture.device(2), seed: 1)
        var policy = DialPolicy()
        policy.allowsRadio = true
        var log: [DeviceLinks.Action] = []
        func tell(_ event: DeviceLinks.Event, at seconds: Double) { log += links.handle(event, at: .seconds(seconds)) }
        let view = Fixture.link(1, .l2cap)
        tell(.policy(policy), at: 0)
        tell(.costs(costs), at: 0)
        tell(.arrived(view, LinkProbes.Path(.l2cap, localAddress: nil), attempt: nil), at: 0)
        tell(.hello(LinkNumber(1), connectionCount: 1, knowsRule: true), at: 0)
        tell(.configSent(LinkNumber(1)), at: 0)
        tell(.measured(LinkNumber(1), rate: rate), at: 1)
        tell(.addresses(.configured, [radio, relay]), at: 1)
        for second in 2..<120 { tell(.time, at: Double(second)) }
        return Set(
            log.compactMap { if case .dial(let attempt) = $0 { attempt.target.text } else { nil } })
    }

    @Test func aRelayThatIsFreeIsTakenInsteadOfTheRadio() {
        #expect(Self.dialled([:]).count == 1)
        // 1 MB/s is expected of a relay.
        #expect(Self.dialled([:], measured: 800_000).isEmpty)
    }

    @Test func aRelayOverAMeteredConnectionHasToBeMuchFaster() {
        #expect(Self.dialled([.relay: .init(isMetered: true)]).isEmpty)
        #expect(Self.dialled([.relay: .init(isMetered: true)], measured: 20_000).count == 1)
    }

    @Test func aLimitOfTheUserCounts() {
        #expect(Self.dialled([.relay: .init(limit: 50_000)]).isEmpty)
        #expect(Self.dialled([.relay: .init(limit: 500_000)]).count == 1)
    }

    /// Connected by a direct path that ends after so long, and by a relay from then on; how soon the path is dialled again.
    private static func redial(after life: Duration, hearsConfig: Bool) -> Duration? {
        let direct = "tcp://1.2.3.4:22000"
        var links = DeviceLinks(local: Fixture.device(1), peer: Fixture.device(2), seed: 1)
        var dials: [Duration] = []
        func tell(_ event: DeviceLinks.Event, at now: Duration) {
            for case .dial(let attempt) in links.handle(event, at: now) where attempt.target.text == direct {
                dials.append(now)
            }
        }
        func connect(_ number: Int, _ way: LinkWay, _ attempt: DialPlan.Attempt?, at now: Duration) {
            let path = LinkProbes.Path(way, localAddress: nil)
            tell(.arrived(Fixture.link(number, way, since: now / .seconds(1)), path, attempt: attempt), at: now)
            tell(.hello(LinkNumber(number), connectionCount: 1, knowsRule: true), at: now)
            tell(.configSent(LinkNumber(number)), at: now)
        }
        tell(.policy(DialPolicy()), at: .zero)
        tell(.addresses(.configured, [direct, relay]), at: .zero)
        connect(1, .wideTCP, links.dialsUnderWay.first { $0.target.text == direct }, at: .zero)
        if hearsConfig { tell(.configReceived(LinkNumber(1), isSecondary: false), at: .zero) }
        tell(.ended(LinkNumber(1), isLost: true), at: life)
        connect(2, .relay, nil, at: life + .milliseconds(50))
        tell(.configReceived(LinkNumber(2), isSecondary: false), at: life + .milliseconds(50))
        dials = dials.filter { $0 > life }
        for tenth in 1..<600 { tell(.time, at: life + .milliseconds(100) * tenth) }
        return dials.first.map { $0 - life }
    }

    @Test func aLinkThatThePeerRefusedSaysNothingOfItsWay() throws {
        // Two that have just paired: one dials before the other has stored it.
        #expect(try #require(Self.redial(after: .milliseconds(5), hearsConfig: false)) <= .seconds(3))
        // Lost in use, or silent for long: the way waits.
        #expect(try #require(Self.redial(after: .milliseconds(5), hearsConfig: true)) >= .seconds(29))
        #expect(try #require(Self.redial(after: .seconds(20), hearsConfig: false)) >= .seconds(29))
    }

    /// Connected in the local network, and announced elsewhere in it at 10 s; what is done from then on. One that answers dials as well.
    private static func announcedElsewhere(isAnswered: Bool) -> [(Duration, DeviceLinks.Action)] {
        var links = DeviceLinks(local: Fixture.device(1), peer: Fixture.device(2), seed: 1)
        var log: [(Duration, DeviceLinks.Action)] = []
        func tell(_ event: DeviceLinks.Event, at now: Duration) {
            log += links.handle(event, at: now).map { (now, $0) }
        }
        func connect(_ number: Int, at now: Duration) {
            let path = LinkProbes.Path(
                .localTCP, localAddress: IPAddress("192.168.1.7"), remoteAddress: IPAddress("192.168.1.20"))
            let view = Fixture.link(number, .localTCP, isOurs: false, since: now / .seconds(1))
            tell(.arrived(view, path, attempt: nil), at: now)
            tell(.hello(LinkNumber(number), connectionCount: 3, knowsRule: true), at: now)
            tell(.configSent(LinkNumber(number)), at: now)
        }
        tell(.policy(DialPolicy()), at: .zero)
        tell(.networks([Fixture.network("192.168.1.0/24")], own: [IPAddress("192.168.1.7")!]), at: .zero)
        connect(1, at: .zero)
        log = []
        tell(.addresses(.local, ["tcp://192.168.1.99:22000"]), at: .seconds(10))
        if isAnswered {
            connect(2, at: .milliseconds(10_500))
            tell(.answered(LinkNumber(1)), at: .seconds(11))
        }
        for tenth in 1...20 { tell(.time, at: .seconds(11) + .milliseconds(100) * tenth) }
        return log
    }

    /// Whoever sends a datagram says where a device is.
    @Test func anAnnouncementEndsNoLinkThatAnswers() {
        let actions = Self.announcedElsewhere(isAnswered: true).map(\.1)
        #expect(actions.contains(.link(.probe([LinkNumber(1)]))))
        #expect(
            !actions.contains { action in
                switch action {
                case .giveUp, .link(.close), .link(.retire), .link(.demote), .link(.disconnected), .dial: true
                default: false
                }
            })
    }

    @Test func aDeviceThatHasMovedIsDialledOnceItsLinkDoesNotAnswer() {
        let actions = Self.announcedElsewhere(isAnswered: false)
        let isGivenUp = actions.first { $0.1 == .giveUp(LinkNumber(1), .silent) }?.0
        let isDialled = actions.first { if case .dial = $0.1 { true } else { false } }?.0
        #expect(isGivenUp == .milliseconds(12_500) && isDialled == isGivenUp)
    }

    /// Both sides dial at once, and the peer's link is admitted first; what is said of the own dial and its link by then and after its
    /// Hello.
    private static func crossing(local: UInt8, peer: UInt8, hasArrived: Bool) -> [DeviceLinks.Action] {
        var links = DeviceLinks(local: Fixture.device(local), peer: Fixture.device(peer), seed: 1)
        var log: [DeviceLinks.Action] = []
        func tell(_ event: DeviceLinks.Event) { log += links.handle(event, at: .zero) }
        let path = LinkProbes.Path(.wideTCP, localAddress: nil)
        tell(.policy(DialPolicy()))
        tell(.addresses(.configured, ["tcp://1.2.3.4:22000"]))
        let attempt = links.dialsUnderWay.first
        if hasArrived { tell(.arrived(Fixture.link(1), path, attempt: attempt)) }
        tell(.arrived(Fixture.link(2, isOurs: false), path, attempt: nil))
        tell(.hello(LinkNumber(2), connectionCount: 1, knowsRule: true))
        if hasArrived { tell(.hello(LinkNumber(1), connectionCount: 1, knowsRule: true)) }
        return log.filter { action in
            switch action {
            case .cancel(let cancelled): cancelled == attempt
            case .link(.admit), .link(.refuse): true
            default: false
            }
        }
    }

    /// The peer may have heard of the link: if this side gave it up while the peer prefers it, the peer would end its own for it.
    @Test func aDialThatHasLedToALinkIsNotGivenUpForAnother() throws {
        let (low, high) = (
            Self.crossing(local: 1, peer: 2, hasArrived: true), Self.crossing(local: 2, peer: 1, hasArrived: true)
        )
        // The same link is chosen on both sides: the first of one is the second of the other.
        #expect([low, high].allSatisfy { $0.first == .link(.admit(LinkNumber(2))) && $0.count == 2 })
        let admitted = [low, high].filter { $0.last == .link(.admit(LinkNumber(1))) }
        #expect(admitted.count == 1)
        guard case .cancel = Self.crossing(local: 1, peer: 2, hasArrived: false).last else {
            Issue.record("a dial that still waits is given up")
            return
        }
    }
}
