import BlockExchange
import ControlAPI
import Testing
import Transport

@testable import SyncAgent

/// Whom this device asks how it is reached, about which addresses, and what it concludes.
@Suite struct ReachTestPlanTests {
    typealias Candidate = ReachTestPlan.Candidate

    private static let near = Candidate(kind: .tcp, isLocal: true, takesTests: true)
    private static let far = Candidate(kind: .tcp, isLocal: false, takesTests: true)
    private static let relayed = Candidate(kind: .relay, isLocal: false, takesTests: true)
    private static let radio = Candidate(kind: .gatt, isLocal: false, takesTests: true)
    private static let syncthing = Candidate(kind: .tcp, isLocal: false, takesTests: false)

    @Test(arguments: [
        ([], []), ([syncthing], []), ([near], [0]), ([radio, near, relayed, far], [3, 2, 1]),
        ([syncthing, near, far, far, far, far], [2, 3, 4]), ([near, syncthing, relayed], [2, 0]),
    ])
    func theDevicesThatSeeMostAreAsked(_ candidates: [Candidate], _ chosen: [Int]) {
        #expect(ReachTestPlan.chosen(candidates) == chosen)
    }

    private static func addresses(for candidate: Candidate, listening: [String] = ["tcp://:22000"]) throws -> [String] {
        ReachTestPlan.addresses(
            listening: try listening.map { try LinkAddress(parsing: $0) },
            mapped: [
                try LinkAddress(parsing: "tcp://203.0.113.5:40000"), try LinkAddress(parsing: "tcp://0.0.0.0:40001"),
            ],
            announced: [
                "tcp://0.0.0.0:22000", "tcp://203.0.113.5:40000", "relay://192.0.2.9:22067", "tcp://10.0.0.9:1", "x",
            ],
            own: ["192.168.1.7", "8.8.4.4", "fe80::1", "127.0.0.1"].compactMap { IPAddress($0) }, for: candidate)
    }

    /// Private addresses are for devices in this network, the one that is seen for those with a direct link.
    @Test func whatIsAsked() throws {
        let outside = ["tcp://203.0.113.5:40000", "tcp://8.8.4.4:22000"]
        #expect(try Self.addresses(for: Self.far) == ["tcp://:22000", "tcp://:40001"] + outside)
        #expect(try Self.addresses(for: Self.relayed) == outside)
        #expect(try Self.addresses(for: Self.radio) == outside)
        #expect(
            try Self.addresses(for: Self.near) == [
                "tcp://:22000", "tcp://:40001", "tcp://203.0.113.5:40000", "tcp://10.0.0.9:1",
                "tcp://192.168.1.7:22000",
                "tcp://8.8.4.4:22000",
            ])
        let one = try Self.addresses(
            for: Self.near, listening: ["tcp://192.168.1.7:5000", "tcp://127.0.0.1:5001", "ble://AA:BB:CC:DD:EE:FF"])
        #expect(one == ["tcp://:40001", "tcp://203.0.113.5:40000", "tcp://10.0.0.9:1", "tcp://192.168.1.7:5000"])
    }

    @Test func thereAreNeverMoreThanFit() {
        let own = (0..<100).compactMap { IPAddress("8.8.4.\($0)") }
        let addresses = ReachTestPlan.addresses(
            listening: [.tcp(host: "", port: 22000)], mapped: [], announced: [], own: own, for: Self.far)
        #expect(addresses.count == 16 && addresses.first == "tcp://:22000")
    }

    /// An address that is known and is also the one that is seen is shown once, and what another device says is shown only if it is
    /// an address.
    @Test func resultsAreShownOnce() {
        let answer = ReachAnswer(results: [
            .init(.timedOut, address: "tcp://203.0.113.5:22000"), .init(.timedOut),
            .init(.reached, address: "rm -rf /"),
        ])
        let results = ReachTestPlan.results(
            of: answer, to: ["tcp://:22000", "tcp://203.0.113.5:22000", "tcp://203.0.113.5:22001"])
        #expect(results.map(\.address) == ["tcp://203.0.113.5:22000", "tcp://203.0.113.5:22001"])
        #expect(results.map(\.outcome) == ["timed-out", "reached"])
    }

    @Test func everyOutcomeHasItsWords() {
        for outcome in ReachAnswer.Outcome.allCases {
            #expect(ReachTest.Result.outcomes.contains(ReachTestWords.outcome(outcome)))
            #expect((ReachTestWords.outcome(outcome) != "not-tried") == (1...5).contains(outcome.rawValue))
        }
        #expect(
            Set(ReachAnswer.Outcome.allCases.map(ReachTestWords.message)).count == ReachAnswer.Outcome.allCases.count)
    }

    private static func device(isLocal: Bool, _ outcomes: String...) -> ReachTest.Device {
        ReachTest.Device(
            id: "A", name: "nas", transport: "tcp", isLocal: isLocal,
            results: outcomes.map { ReachTest.Result(address: "tcp://203.0.113.5:22000", outcome: $0, message: "") })
    }

    @Test(arguments: [
        ([device(isLocal: false, "timed-out", "reached")], true, "Devices elsewhere can connect to this one directly."),
        (
            [device(isLocal: false, "timed-out"), device(isLocal: true, "reached")], true,
            "Your router does not forward the port. Forward TCP port 22000 to this machine, or enable UPnP, NAT-PMP or PCP in the "
                + "router. Until then, devices elsewhere use the relay."
        ),
        (
            [device(isLocal: false, "refused")], false,
            "Your router or a firewall blocks the port. Forward TCP port 22000 to this machine, or enable UPnP, NAT-PMP or PCP in "
                + "the router. A relay helps, too: `synctrain network --relays on`."
        ),
        (
            [device(isLocal: false, "other-device", "timed-out")], true,
            "The router forwards the port to another device or program. Correct the forwarding in the router. Until then, devices "
                + "elsewhere use the relay."
        ),
        (
            [device(isLocal: true, "reached", "timed-out")], true,
            "Devices in this network can connect to this one. To test it from elsewhere, connect a device in another network."
        ),
        (
            [device(isLocal: true, "timed-out")], true,
            "Not even devices in this network can connect. Allow TCP port 22000 in the firewall of this machine."
        ),
        (
            [device(isLocal: false, "not-tried")], true,
            "No address was tested. Connect a synctrain device directly, best from another network. Until then, devices elsewhere "
                + "use the relay."
        ),
    ])
    func whatFollows(_ devices: [ReachTest.Device], isRelayed: Bool, _ advice: String) {
        #expect(ReachTestWords.advice(devices, isRelayed: isRelayed, port: 22000).english == advice)
    }

    @Test func whoCannotBeAsked() {
        #expect(ReachTestWords.nobody(connected: [], isListening: true).english.hasPrefix("No device is connected"))
        #expect(
            ReachTestWords.nobody(connected: ["nas"], isListening: true).english.hasPrefix(
                "nas: connected, but only synctrain")
        )
        #expect(
            ReachTestWords.nobody(connected: ["nas", "b", "c"], isListening: true).english.hasPrefix("nas and 2 more: ")
        )
        #expect(
            ReachTestWords.nobody(connected: ["nas"], isListening: false).english.hasPrefix(
                "This device does not listen"))
    }

    @Test func theRelayIsPartOfIt() {
        func relay(
            _ state: String, source: String = "relay://192.0.2.9:22067/?id=PIDZCHP", problem: Phrase? = nil
        ) -> ReachReport.Relay {
            ReachReport.Relay(
                source: source, address: "relay://192.0.2.9:22067/?id=PIDZCHP", state: state, joinedSeconds: nil,
                roundTripMilliseconds: nil, problem: problem)
        }
        #expect(ReachTestWords.relay([relay("waiting"), relay("joined")]).isReachable)
        let waiting = ReachTestWords.relay([relay("waiting", problem: "it is full")])
        #expect(!waiting.isReachable && waiting.message == "192.0.2.9:22067: it is full")
        let pooled = ReachTestWords.relay([relay("joined", source: "dynamic+https://relays.syncthing.net/endpoint")])
        #expect(
            pooled.message
                == "192.0.2.9:22067 (from relays.syncthing.net) is joined; other devices reach this one over it")
        var choosing = relay("choosing", source: "dynamic+https://relays.syncthing.net/endpoint")
        choosing.address = nil
        #expect(ReachTestWords.relay([choosing]).message == "relays.syncthing.net: choosing")
        #expect(ReachTestWords.relay([]).message.contains("synctrain network --relays on"))
    }
}
