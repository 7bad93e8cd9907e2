import BlockExchange
import SyncTestKit
import Testing
import Transport

@testable import LinkRules

/// Which addresses are dialled for a device that asks to be tested.
@Suite struct ReachTestRuleTests {
    /// The machine that is asked is in 192.168.5.0/24 and 2001:db8:5::/64.
    static let networks = ["192.168.5.7/24", "2001:db8:5::7/64"].compactMap { try? NetworkPrefix(parsing: $0) }

    static func rule(
        from remote: String, kind: LinkKind = .tcp, allowed: [String] = [], hasProxy: Bool = false
    ) throws -> ReachTestRule {
        ReachTestRule(
            link: LinkInformation(kind: kind, remoteAddress: remote, isInitiator: false), networks: networks,
            allowed: try AllowedNetworks(parsing: allowed), hasProxy: hasProxy)
    }

    static let elsewhere = "tcp://8.8.4.4:51000"
    static let neighbour = "tcp://192.168.5.20:51000"

    @Test(arguments: [
        ("tcp://203.0.113.5:22000", "tcp://203.0.113.5:22000"), ("tcp://203.0.113.5:443", "tcp://203.0.113.5:443"),
        ("tcp://[2001:db8:9::1]:22000", "tcp://[2001:db8:9::1]:22000"),
        ("tcp://[::ffff:203.0.113.5]:1", "tcp://203.0.113.5:1"),
    ])
    func publicAddressesAreDialled(_ text: String, _ dialled: String) throws {
        let address = try LinkAddress(parsing: dialled)
        #expect(try Self.rule(from: Self.elsewhere).decision(on: text) == .dial(address, isSeen: false))
        let relayed = try Self.rule(from: "relay://192.0.2.1:22067", kind: .relay)
        #expect(relayed.decision(on: text) == .dial(address, isSeen: false))
    }

    @Test(arguments: [
        "", "x", "dynamic", "tcp://h:22000", "tcp://localhost:22000", "tcp://127.0.0.1:22000",
        "tcp://[::1]:22000",
        "tcp://203.0.113.5:0", "tcp://224.0.0.1:22000", "tcp://169.254.1.1:22000", "tcp://[fe80::1]:22000",
        "tcp://[fe80::1%eth0]:22000", "tcp://240.0.0.1:22000", "tcp://[2002:7f00:1::]:22000", "tcp://[::7f00:1]:22000",
        "relay://203.0.113.5:22067", "quic://203.0.113.5:22000", "ble://AA:BB:CC:DD:EE:FF", "virtual://x",
        // Ports of other services, in the network that the link comes from as well.
        "tcp://192.168.5.20:80", "tcp://10.0.0.1:22", "tcp://[2001:db8:5::1]:22", "tcp://127.1:22000",
        "tcp://" + String(repeating: "1", count: 2000),
    ])
    func whatIsNoAddressOfADeviceIsNot(_ text: String) throws {
        #expect(try Self.rule(from: Self.neighbour).decision(on: text) == .leave(.unusable))
        #expect(try Self.rule(from: Self.elsewhere).decision(on: text) == .leave(.unusable))
    }

    /// Otherwise the test would show a device what answers in another's network.
    @Test(arguments: [
        "tcp://192.168.5.1:8080", "tcp://10.0.0.1:22000", "tcp://100.64.0.1:22000", "tcp://[fd00::1]:22000",
        // Valid everywhere, but in the network of the machine that is asked.
        "tcp://[2001:db8:5::1]:22000",
    ])
    func privateAddressesAreForNeighbours(_ text: String) throws {
        #expect(try Self.rule(from: Self.elsewhere).decision(on: text) == .leave(.privateAddress))
        #expect(
            try Self.rule(from: "relay://192.168.5.9:22067", kind: .relay).decision(on: text) == .leave(.privateAddress)
        )
        #expect(try Self.rule(from: "C0:FF:EE:00:00:01", kind: .l2cap).decision(on: text) == .leave(.privateAddress))
        let isInside = text.contains("192.168.5")
        let address = try LinkAddress(parsing: text)
        #expect(
            try Self.rule(from: Self.neighbour).decision(on: text)
                == (isInside ? .dial(address, isSeen: false) : .leave(.privateAddress)))
    }

    /// Over a VPN, say: where the link comes from, the device is.
    @Test func theLinksOwnAddressIsDialled() throws {
        let rule = try Self.rule(from: "tcp://10.8.0.5:51000")
        let address = try LinkAddress(parsing: "tcp://10.8.0.5:22000")
        #expect(rule.decision(on: "tcp://10.8.0.5:22000") == .dial(address, isSeen: false))
        #expect(rule.decision(on: "tcp://10.8.0.6:22000") == .leave(.privateAddress))
        #expect(rule.decision(on: "tcp://:22000") == .dial(address, isSeen: true))
        #expect(rule.decision(on: "tcp://:22") == .leave(.unusable))
    }

    @Test func withoutAHostTheOneThatIsSeen() throws {
        let seen = try LinkAddress(parsing: "tcp://8.8.4.4:22000")
        let rule = try Self.rule(from: Self.elsewhere)
        for text in ["tcp://:22000", "tcp://0.0.0.0:22000"] {
            #expect(rule.decision(on: text) == .dial(seen, isSeen: true))
        }
        #expect(rule.decision(on: "tcp://[::]:22000") == .leave(.unknownHost), "another family")
        for (remote, kind) in [("relay://8.8.4.4:22067", LinkKind.relay), ("C0:FF:EE:00:00:01", .l2cap)] {
            #expect(try Self.rule(from: remote, kind: kind).decision(on: "tcp://:22000") == .leave(.unknownHost))
        }
        #expect(try Self.rule(from: "tcp://127.0.0.1:51000").decision(on: "tcp://:22000") == .leave(.unusable))
    }

    @Test func settingsAreKept() throws {
        let text = "tcp://203.0.113.5:22000"
        #expect(try Self.rule(from: Self.elsewhere, hasProxy: true).decision(on: text) == .leave(.proxy))
        #expect(try Self.rule(from: Self.elsewhere, allowed: ["10.0.0.0/8"]).decision(on: text) == .leave(.notAllowed))
        let address = try LinkAddress(parsing: text)
        #expect(
            try Self.rule(from: Self.elsewhere, allowed: ["203.0.113.0/24"]).decision(on: text)
                == .dial(address, isSeen: false))
    }

    /// Whatever is asked, what is dialled is a number, no loopback, and outside every private network that the link is not from.
    @Test func mutatedAddressesLeadNowhereElse() throws {
        let rules = [try Self.rule(from: Self.elsewhere), try Self.rule(from: "relay://8.8.4.4:1", kind: .relay)]
        var dialled = 0
        for seed in ["tcp://192.168.5.1:22000", "tcp://[2001:db8:9::1]:22000", "tcp://127.0.0.1:22000", "tcp://:22000"]
        {
            var random = SeededGenerator(seed: 7)
            for _ in 0..<2000 {
                var bytes = Array(seed.utf8)
                for _ in 0..<random.int(1...3) {
                    bytes[random.int(0...(bytes.count - 1))] = random.pick(Array("0123456789abcdef.:[]/%tp".utf8))
                }
                for rule in rules {
                    guard case .dial(let address, _) = rule.decision(on: String(decoding: bytes, as: UTF8.self)) else {
                        continue
                    }
                    dialled += 1
                    let ip = try #require(address.ipAddress)
                    #expect(
                        !ip.isLoopback && !ip.isPrivate && !Self.networks.contains { $0.contains(ip) }, "\(address)")
                }
            }
        }
        #expect(dialled > 100)
    }

    @Test func oneTestAtATimeAndOneEachTenSeconds() {
        var quota = ReachTestQuota()
        #expect(quota.begin(at: .seconds(100)) == nil)
        #expect(quota.begin(at: .seconds(120)) == .busy)
        quota.end()
        #expect(quota.begin(at: .seconds(109)) == .tooSoon)
        #expect(quota.begin(at: .seconds(110)) == nil)
        quota.end()
        // What was refused does not count.
        #expect(quota.begin(at: .seconds(119)) == .tooSoon)
        #expect(quota.begin(at: .seconds(120)) == nil)
    }
}
