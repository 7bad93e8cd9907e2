import SyncTestKit
import Testing
import Transport

@testable import LinkRules

@Suite struct NetworkTests {
    @Test(arguments: [
        ("192.168.0.0/16", "192.168.255.1", true), ("192.168.0.0/16", "192.169.0.1", false),
        ("10.1.2.3/8", "10.200.0.1", true), ("10.0.0.128/25", "10.0.0.127", false),
        ("10.0.0.128/25", "10.0.0.200", true), ("0.0.0.0/0", "1.2.3.4", true), ("0.0.0.0/0", "2001:db8::1", false),
        ("::/0", "2001:db8::1", true), ("::/0", "1.2.3.4", false), ("2001:db8::/33", "2001:db8:7fff::1", true),
        ("2001:db8::/33", "2001:db8:8000::1", false), ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.8", false), ("192.0.2.0/24", "::ffff:192.0.2.9", true),
        ("fe80::/10", "fe80::1%eth0", true),
    ])
    func networksContainAddresses(_ network: String, _ address: String, _ isInside: Bool) throws {
        #expect(try NetworkPrefix(parsing: network).contains(#require(IPAddress(address))) == isInside)
    }

    @Test(arguments: [
        "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "2001:db8::/129", "name/8",
        "10.0.0/8", "fe80::1%eth0/64", "::ffff:10.0.0.0/104", "10.0.0.0/99999999999999999999", "!!10.0.0.0/8",
        " 10.0.0.0/8",
    ])
    func otherTextsAreNone(_ text: String) {
        #expect { try NetworkPrefix(parsing: text) } throws: { ($0 as? LinkRuleError)?.kind == .invalidNetwork }
    }

    @Test func masksArePrefixes() throws {
        let address = try #require(IPAddress("192.168.1.7"))
        #expect(NetworkPrefix(address, mask: [255, 255, 255, 0])?.length == 24)
        #expect(NetworkPrefix(address, mask: [255, 255, 254, 0])?.length == 23)
        #expect(NetworkPrefix(address, mask: [255, 0, 255, 0]) == nil)
        #expect(NetworkPrefix(address, mask: [255, 255]) == nil)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("::1", true), ("169.254.3.4", true), ("fe80::1", true), ("192.168.1.9", true),
        ("192.168.2.9", false), ("8.8.8.8", false), ("fd00::5", true), ("fd01::5", false),
    ])
    func localIsWhatIsInAnOwnNetwork(_ address: String, _ isLocal: Bool) throws {
        let networks = ["192.168.1.0/24", "fd00::/64"].map(Fixture.network)
        #expect(NetworkPrefix.isLocal(try #require(IPAddress(address)), networks: networks) == isLocal)
    }

    @Test(
        arguments: [
            ([], "1.2.3.4", true),
            (["192.168.0.0/16"], "192.168.7.7", true), (["192.168.0.0/16"], "10.0.0.1", false),
            (["!192.168.7.0/24", "192.168.0.0/16"], "192.168.7.7", false),
            (["!192.168.7.0/24", "192.168.0.0/16"], "192.168.8.7", true),
            (["192.168.0.0/16", "!192.168.7.0/24"], "192.168.7.7", true),
            (["!10.0.0.0/8", "11.0.0.0/8"], "192.168.7.7", false), (["!10.0.0.0/8", "0.0.0.0/0"], "192.168.7.7", true),
            (["!10.0.0.0/8", "0.0.0.0/0"], "2001:db8::1", false), (["::/0"], "2001:db8::1", true),
        ] as [([String], String, Bool)])
    func theFirstNetworkDecides(_ entries: [String], _ address: String, _ isAllowed: Bool) throws {
        #expect(try AllowedNetworks(parsing: entries).allow(#require(IPAddress(address))) == isAllowed)
    }

    @Test(arguments: ["1.2.3.4", "127.0.0.1", "2001:db8::1", "::1"])
    func nothingIsNothing(_ address: String) throws {
        #expect(try !AllowedNetworks.nothing.allow(#require(IPAddress(address))))
    }

    /// A link is where its other end is; by a relay, where the relay is. A radio is in no network.
    @Test(arguments: [
        (LinkKind.tcp, "tcp://10.1.2.3:22000", true), (.tcp, "tcp://192.168.1.1:22000", false),
        (.tcp, "tcp://[2001:db8::1]:22000", false), (.tcp, "tcp://nas:22000", false), (.tcp, "nonsense", false),
        (.relay, "relay://10.0.0.1:22067", true), (.relay, "relay://192.0.2.1:22067", false),
        (.l2cap, "ble://AA:BB:CC:DD:EE:FF", true), (.gatt, "nonsense", true),
    ])
    func linksAreWhereTheyLead(_ kind: LinkKind, _ address: String, _ isAllowed: Bool) throws {
        let link = LinkInformation(kind: kind, remoteAddress: address, isInitiator: true)
        #expect(try AllowedNetworks(parsing: ["10.0.0.0/8"]).allow(link) == isAllowed)
        #expect(AllowedNetworks().allow(link))
        #expect(AllowedNetworks.nothing.allow(link) == kind.isSlow)
    }

    @Test func listsThatCannotBeMeantAreRefused() throws {
        #expect { try AllowedNetworks(parsing: ["!10.0.0.0/8", "!::/0"]) } throws: {
            ($0 as? LinkRuleError)?.kind == .onlyExclusions
        }
        #expect { try AllowedNetworks(parsing: ["10.0.0.0/8", "here"]) } throws: {
            ($0 as? LinkRuleError)?.kind == .invalidNetwork
        }
        #expect { try AllowedNetworks(parsing: [String](repeating: "::/0", count: 257)) } throws: {
            ($0 as? LinkRuleError)?.kind == .tooManyNetworks
        }
    }
}
