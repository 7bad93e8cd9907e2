import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import LinkRules
import Testing
import Transport

@testable import PeerLinks

/// What `status` says of the addresses of a device.
@Suite struct DeviceWaysTests {
    @Test func allThatIsKnownIsTold() {
        var state = DeviceSession.Snapshot(DeviceConfiguration(id: DeviceID(certificateDER: [2]), name: "nas"))
        let time = WallTime(seconds: 0)
        state.ways = [
            "tcp://b:1": DialReport(message: "timed out", time: time, source: .global),
            "tcp://a:1": DialReport(message: "refused", time: time, source: .configured),
        ]
        state.obstacles = ["relay://r:1": .relaysOff]
        let ways = state.ways(
            [
                .init(kind: .tcp, way: .wideTCP, address: "tcp://c:1", rate: 1000.4),
                .init(kind: .tcp, way: .wideTCP, address: "tcp://c:1", rate: 2000),
                .init(kind: .tcp, way: .localTCP, address: "tcp://d:1", rate: nil),
            ])
        #expect(
            ways == [
                DeviceWay(
                    address: "tcp://c:1", outcome: "connected", transport: "tcp-wan", links: 2, bytesPerSecond: 3000),
                DeviceWay(address: "tcp://d:1", outcome: "connected", transport: "tcp-lan", links: 1),
                DeviceWay(
                    address: "tcp://a:1", outcome: "failed", source: "configured", message: "refused",
                    time: "1970-01-01T00:00:00Z"),
                DeviceWay(
                    address: "tcp://b:1", outcome: "failed", source: "global", message: "timed out",
                    time: "1970-01-01T00:00:00Z"),
                DeviceWay(
                    address: "relay://r:1", outcome: "not-tried",
                    message: "relays are switched off; set enabled = true under [relays]"),
            ])
        #expect(ways.allSatisfy { DeviceWay.outcomes.contains($0.outcome) })
    }

    /// An address that was corrected, that discovery names no longer, or that is not dialled now.
    @Test func whatCameOfDialsIsToldOfTheAddressesThatThereAre() throws {
        var state = DeviceSession.Snapshot(DeviceConfiguration(id: DeviceID(certificateDER: [2]), name: "nas"))
        let targets = try ["tcp://a:1", "tcp://b:1", "relay://r:1"].map { try DialTarget(parsing: $0) }
        for address in ["tcp://a:1", "tcp://b:1", "relay://r:1", "tcp://old:1"] {
            state.note(DialReport(message: "refused", time: WallTime(seconds: 0), source: .configured), of: address)
        }
        state.note(targets: targets, obstacles: [targets[2]: .relaysOff])
        #expect(state.ways([]).map(\.address) == ["tcp://a:1", "tcp://b:1", "relay://r:1"])
        #expect(state.ways([]).map(\.outcome) == ["failed", "failed", "not-tried"])
        state.note(targets: Array(targets[1...]), obstacles: [:])
        #expect(state.ways([]).map(\.address) == ["tcp://b:1"])
    }

    @Test func anyRateIsTold() {
        let state = DeviceSession.Snapshot(
            DeviceConfiguration(id: DeviceID(certificateDER: [2]), name: "nas", addresses: []))
        for (rate, told) in [(.nan, 0), (-.infinity, 0), (.infinity, 1_000_000_000_000_000)]
            as [(Double, Int64?)]
        {
            let link = DeviceSession.LinkInUse(kind: .relay, way: .relay, address: "relay://r:1", rate: rate)
            #expect(state.ways([link]).map(\.bytesPerSecond) == [told])
        }
    }

    @Test func everyWayHasAWord() {
        #expect(LinkWay.allCases.map(\.word) == ["tcp-lan", "tcp-wan", "relay", "l2cap", "gatt", "virtual"])
    }

    @Test func aGaugeRemembersTheLastRate() {
        let gauge = LinkGauge()
        #expect(gauge.lastRate == nil)
        gauge.asked(BusyRate.enough, received: 0, at: .zero)
        gauge.ended(BusyRate.enough, received: 4_000_000, at: .seconds(2))
        #expect(gauge.lastRate == 2_000_000)
    }

    @Test(arguments: [
        ("nothing listens at tcp://h:22000; check the port", "nothing listens there; check the port"),
        ("tcp://h:22000 cannot be reached from here", "cannot be reached from here"),
        ("no answer from tcp://h:22000; check the device", "no answer; check the device"),
        ("the name in tcp://h:22000 cannot be resolved", "the name cannot be resolved"),
        ("the firewall blocks connections to tcp://h:22000", "the firewall blocks connections"),
        ("the dial of tcp://h:22000 was cancelled", "the dial was cancelled"),
        ("nothing listens at h:22000; check it", "nothing listens there; check it"),
        ("nothing listens at tcp://h:220001; that is another", "nothing listens at tcp://h:220001; that is another"),
        ("nothing listens at tcp://oh:22000", "nothing listens at tcp://oh:22000"),
        ("unsupported (tcp://h:22000)", "unsupported ()"), ("", ""), ("refused", "refused"),
    ])
    func theAddressIsNamedOnce(message: String, shown: String) {
        #expect(LinkError.message(message, withoutAddress: "tcp://h:22000") == shown)
    }
}
