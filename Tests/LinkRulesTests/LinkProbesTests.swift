import SyncTestKit
import Testing
import Transport

@testable import LinkRules

@Suite struct LinkProbesTests {
    static let wifi = IPAddress("192.168.1.7")!
    static let mobile = IPAddress("10.64.0.9")!
    static let one = LinkNumber(1)
    static let two = LinkNumber(2)

    static func probes(_ paths: [(LinkNumber, LinkProbes.Path)]) -> LinkProbes {
        var probes = LinkProbes()
        for (number, path) in paths { _ = probes.handle(.began(number, path), at: .zero) }
        return probes
    }

    /// From one network into another: dialled at once, and the old link is gone after a second.
    @Test func aLinkWhoseAddressIsGoneIsGivenUp() {
        var probes = Self.probes([(Self.one, LinkProbes.Path(.wideTCP, localAddress: Self.wifi))])
        #expect(probes.handle(.networks([Self.mobile]), at: .seconds(10)) == [.redial])
        #expect(probes.doubtful == [Self.one])
        #expect(probes.handle(.answered(Self.one), at: .seconds(10)) == [])
        #expect(probes.nextWake == .seconds(11))
        #expect(probes.handle(.time, at: .seconds(11)) == [.giveUp(Self.one, .addressGone)])
        #expect(probes.nextWake == nil)
    }

    @Test func anAddressThatComesBackIsProbed() {
        var probes = Self.probes([(Self.one, LinkProbes.Path(.wideTCP, localAddress: Self.wifi))])
        _ = probes.handle(.networks([]), at: .seconds(10))
        #expect(probes.handle(.networks([Self.wifi]), at: .milliseconds(10_500)) == [.probe(Self.one), .redial])
        #expect(probes.handle(.answered(Self.one), at: .milliseconds(10_600)) == [])
        #expect(probes.doubtful.isEmpty)
        #expect(probes.nextWake == nil)
    }

    @Test(arguments: [(nil, 2500), (1, 1000), (400, 1600), (30_000, 2500)] as [(Int?, Int)])
    func aProbeHasAShortTime(_ roundTrip: Int?, _ limit: Int) {
        let path = LinkProbes.Path(.relay, localAddress: Self.wifi, roundTrip: roundTrip.map { .milliseconds($0) })
        var probes = Self.probes([(Self.one, path)])
        #expect(probes.handle(.networks([Self.wifi, Self.mobile]), at: .zero) == [.probe(Self.one), .redial])
        #expect(probes.nextWake == .milliseconds(limit))
        #expect(probes.handle(.time, at: .milliseconds(limit)) == [.giveUp(Self.one, .silent)])
    }

    @Test func aRadioAndThisMachineAreNotConcerned() {
        var probes = Self.probes([
            (Self.one, LinkProbes.Path(.l2cap, localAddress: nil)),
            (Self.two, LinkProbes.Path(.localTCP, localAddress: IPAddress("127.0.0.1"))),
        ])
        #expect(probes.handle(.networks([]), at: .zero) == [])
    }

    @Test func aNewAddressOutsideConcernsWhatGoesThere() {
        var probes = Self.probes([
            (Self.one, LinkProbes.Path(.localTCP, localAddress: Self.wifi)),
            (Self.two, LinkProbes.Path(.wideTCP, localAddress: Self.wifi)),
        ])
        #expect(probes.handle(.outsideChanged, at: .zero) == [.probe(Self.two), .redial])
        #expect(probes.doubtful == [Self.two])
        var local = Self.probes([(Self.one, LinkProbes.Path(.localTCP, localAddress: Self.wifi))])
        #expect(local.handle(.outsideChanged, at: .zero) == [])
    }

    /// However often the network changes: a link that never answers is given up within 2.5 s of the first change.
    @Test func changesThatFollowEachOtherKeepNoDeadLink() {
        for seed in 0..<500 {
            var random = SeededGenerator(seed: UInt64(seed))
            var probes = Self.probes([
                (Self.one, LinkProbes.Path(.wideTCP, localAddress: random.isOne(in: 2) ? Self.wifi : nil))
            ])
            var now = Duration.seconds(100)
            var first: Duration?
            var end: Duration?
            for _ in 0..<60 where end == nil {
                now += .milliseconds(random.int(0...300))
                let event: LinkProbes.Event
                switch random.int(0...3) {
                case 0: event = .networks([Self.mobile])
                case 1: event = .networks([Self.wifi])
                case 2: event = .unacknowledged(Self.one)
                default: event = .outsideChanged
                }
                if let wake = probes.nextWake, wake <= now {
                    if probes.handle(.time, at: wake).contains(where: { if case .giveUp = $0 { true } else { false } })
                    {
                        end = wake
                    }
                } else {
                    if first == nil, case .unacknowledged = event {} else if first == nil { first = now }
                    _ = probes.handle(event, at: now)
                }
            }
            if let first, let end { #expect(end - first <= .milliseconds(2500), "seed \(seed)") }
            #expect(end != nil, "seed \(seed)")
        }
    }

    /// Where a device says that it is in this network, a link to another address of it is asked for a sign of life.
    @Test func aDeviceThatIsHeardElsewhereIsProbed() {
        let (there, other) = (IPAddress("192.168.1.20")!, IPAddress("192.168.1.70")!)
        var probes = Self.probes([
            (Self.one, LinkProbes.Path(.localTCP, localAddress: Self.wifi, remoteAddress: there)),
            (Self.two, LinkProbes.Path(.wideTCP, localAddress: Self.wifi, remoteAddress: Self.mobile)),
        ])
        #expect(probes.handle(.heardAt([]), at: .zero) == [])
        #expect(probes.handle(.heardAt([there]), at: .zero) == [])
        #expect(probes.handle(.heardAt([there]), at: .seconds(1)) == [])
        // The old one as well: it may be named for a while.
        #expect(probes.handle(.heardAt([there, other]), at: .seconds(5)) == [.probe(Self.one)])
        #expect(probes.handle(.answered(Self.one), at: .seconds(6)) == [])
        #expect(probes.handle(.heardAt([other]), at: .seconds(9)) == [.probe(Self.one)])
        #expect(probes.handle(.heardAt([other]), at: .seconds(10)) == [])
        #expect(probes.handle(.time, at: .milliseconds(11_500)) == [.giveUp(Self.one, .silent)])
    }

    /// Anybody can announce a device: until the probe has failed its link counts, and it is not probed again and again.
    @Test func anAnnouncementIsHearsay() {
        let hosts = (20...90).map { IPAddress("192.168.1.\($0)")! }
        var probes = Self.probes([
            (Self.one, LinkProbes.Path(.localTCP, localAddress: Self.wifi, remoteAddress: hosts[0]))
        ])
        var actions: [LinkProbes.Action] = []
        for (second, host) in hosts.dropFirst().prefix(59).enumerated() {
            actions += probes.handle(.heardAt([host]), at: .seconds(second))
            #expect(probes.doubtful.isEmpty)
            _ = probes.handle(.answered(Self.one), at: .seconds(second))
        }
        #expect(actions == [LinkProbes.Action](repeating: .probe(Self.one), count: 3))
        #expect(probes.handle(.heardAt([hosts[69]]), at: .seconds(60)) == [.probe(Self.one)])
        // What this machine knows itself counts at once, and the link gets no more time for it.
        #expect(probes.handle(.networks([Self.wifi, Self.mobile]), at: .seconds(61)) == [.probe(Self.one), .redial])
        #expect(probes.doubtful == [Self.one])
        #expect(probes.handle(.time, at: .milliseconds(62_500)) == [.giveUp(Self.one, .silent)])
    }

    /// Nothing is acknowledged: others are dialled at once, and the link has a while to recover.
    @Test func aStallIsBorneForLonger() {
        let path = LinkProbes.Path(.wideTCP, localAddress: Self.wifi)
        let three = LinkNumber(3)
        var probes = Self.probes([
            (Self.one, path), (Self.two, path), (three, LinkProbes.Path(.relay, localAddress: Self.wifi)),
        ])
        // Those that go the same way are asked as well.
        #expect(probes.handle(.unacknowledged(Self.one), at: .zero) == [.probe(Self.one), .probe(Self.two)])
        for number in [Self.one, Self.two] {
            #expect(probes.handle(.unacknowledged(number), at: .seconds(2)) == [])
        }
        #expect(probes.doubtful == [Self.one, Self.two])
        _ = probes.handle(.answered(Self.one), at: .seconds(14))
        #expect(probes.handle(.time, at: .seconds(15)) == [.giveUp(Self.two, .stalled)])
        // Until it has ended.
        #expect(probes.doubtful == [Self.two])
        _ = probes.handle(.ended(Self.two), at: .seconds(16))
        #expect(probes.doubtful.isEmpty)
    }

    @Test func aStallIsShortOnceTheNetworkChanges() {
        var probes = Self.probes([(Self.one, LinkProbes.Path(.wideTCP, localAddress: Self.wifi))])
        _ = probes.handle(.unacknowledged(Self.one), at: .zero)
        _ = probes.handle(.networks([Self.wifi, Self.mobile]), at: .seconds(10))
        #expect(probes.nextWake == .milliseconds(12_500))
    }

    @Test func linksThatEndedAreForgotten() {
        var probes = Self.probes([(Self.one, LinkProbes.Path(.wideTCP, localAddress: Self.wifi))])
        _ = probes.handle(.unacknowledged(Self.one), at: .zero)
        _ = probes.handle(.ended(Self.one), at: .zero)
        #expect(probes.nextWake == nil)
        #expect(probes.handle(.unacknowledged(Self.one), at: .zero) == [])
        #expect(probes.handle(.networks([]), at: .zero) == [])
    }
}
