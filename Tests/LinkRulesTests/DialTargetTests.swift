import SyncTestKit
import Testing
import Transport

@testable import LinkRules

@Suite struct DialTargetTests {
    static let relayID = "LYXKCHX-VI3NYZR-ALCJBHF-WMZYSPK-QG6QJA3-MPFYMSO-U56GTUK-NA2MIAW"

    @Test(arguments: [
        ("tcp://192.0.2.7:22000", "tcp://192.0.2.7:22000"), ("tcp://Example.ORG", "tcp://example.org:22000"),
        ("tcp://[2001:DB8::0:1]:7", "tcp://[2001:db8::1]:7"), ("tcp://[::ffff:192.0.2.7]:1", "tcp://192.0.2.7:1"),
        ("tcp://[FE80::1%enP2p1s0]:22000", "tcp://[fe80::1%enP2p1s0]:22000"),
        ("relay://192.0.2.7", "relay://192.0.2.7:22067"), ("relay://[2001:db8::1]", "relay://[2001:db8::1]:22067"),
        ("relay://[2001:db8::1]:99/", "relay://[2001:db8::1]:99"),
        (
            "relay://r.example:443/?id=\(relayID)&token=secret&pingInterval=1m0s",
            "relay://r.example:443/?id=\(relayID)"
        ),
        ("relay://r.example:443/?token=x&id=nonsense", "relay://r.example:443"),
        ("ble://aa:bb:cc:dd:ee:ff", "ble://AA:BB:CC:DD:EE:FF"), ("virtual://radio-1", "virtual://radio-1"),
    ])
    func addressesAreRead(_ text: String, _ canonical: String) throws {
        let target = try DialTarget(parsing: text)
        #expect(target.text == canonical)
        #expect(try DialTarget(parsing: canonical) == target)
    }

    @Test(arguments: [
        ("dynamic", LinkRuleError.Kind.unsupportedAddress), ("quic://192.0.2.7:22000", .unsupportedAddress),
        ("relay://", .invalidAddress), ("relay://:22067", .invalidAddress), ("relay://user@host:1", .invalidAddress),
        ("relay://host:99999", .invalidAddress), ("tcp://a b:1", .invalidAddress), ("tcp://[::1:1", .invalidAddress),
        ("", .invalidAddress), ("relay://" + String(repeating: "a", count: 2000), .invalidAddress),
        ("dynamic+https://relays.example/endpoint", .unsupportedAddress),
    ])
    func othersAreNot(_ text: String, _ kind: LinkRuleError.Kind) {
        #expect { try DialTarget(parsing: text) } throws: { ($0 as? LinkRuleError)?.kind == kind }
    }

    @Test func doublesAreEqual() throws {
        let plain = Fixture.target("relay://r.example:443")
        #expect(plain == Fixture.target("relay://R.example:443/?id=\(Self.relayID)"))
        #expect(plain != Fixture.target("tcp://r.example:443"))
        #expect(Set([plain, Fixture.target("relay://r.example:443/?token=1")]).count == 1)
    }

    /// Any bytes, and bytes that nearly are an address: an error or a target, and what is a target reads back as itself.
    @Test func mutatedAddressesNeverTrap() {
        let seeds = [
            "tcp://192.0.2.7:22000", "tcp://[2001:db8::1%eth0]:22000",
            "relay://r.example:443/?id=\(Self.relayID)&token=x",
            "ble://AA:BB:CC:DD:EE:FF", "tcp://name.example",
        ].map { Array($0.utf8) }
        var random = SeededGenerator(seed: 16)
        var readCount = 0
        for round in 0..<20_000 {
            var bytes = random.isOne(in: 10) ? random.bytes(random.int(0...60)) : random.pick(seeds)
            for _ in 0..<random.int(0...3) where !bytes.isEmpty {
                let index = random.int(0...bytes.count - 1)
                switch random.int(0...2) {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.remove(at: index)
                default: bytes.insert(random.pick(Array(":/[]?&=.%0x@#".utf8)), at: index)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            guard let target = try? DialTarget(parsing: text) else { continue }
            readCount += 1
            #expect((try? DialTarget(parsing: target.text)) == target, "round \(round): \(text)")
            for source in AddressSource.allCases { _ = AddressSanity.problem(target, from: source) }
        }
        #expect(readCount > 1000)
    }
}

@Suite struct AddressSanityTests {
    typealias Row = (
        address: String, configured: AddressSanity.Problem?, local: AddressSanity.Problem?,
        global: AddressSanity.Problem?
    )

    static let rows: [Row] = [
        ("tcp://8.8.8.8:22000", nil, nil, nil),
        ("tcp://8.8.8.8:443", nil, nil, nil),
        ("tcp://[2001:4860::1]:22000", nil, nil, nil),
        ("tcp://nas.example:22000", nil, nil, nil),
        ("tcp://8.8.8.8:0", .noPort, .noPort, .noPort),
        ("tcp://:22000", .unspecified, .unspecified, .unspecified),
        ("tcp://0.0.0.0:22000", .unspecified, .unspecified, .unspecified),
        ("tcp://[::]:22000", .unspecified, .unspecified, .unspecified),
        ("tcp://224.0.0.1:22000", .multicast, .multicast, .multicast),
        ("tcp://255.255.255.255:22000", .multicast, .multicast, .multicast),
        ("tcp://[ff02::1]:22000", .multicast, .multicast, .multicast),
        ("tcp://127.0.0.1:22000", nil, .loopback, .loopback),
        ("tcp://127.8.8.8:22000", nil, .loopback, .loopback),
        ("tcp://[::1]:22000", nil, .loopback, .loopback),
        ("tcp://[::ffff:127.0.0.1]:22000", nil, .loopback, .loopback),
        ("tcp://0.1.2.3:22000", nil, .unusable, .unusable),
        ("tcp://240.0.0.1:22000", nil, .unusable, .unusable),
        ("tcp://[::127.0.0.1]:22000", nil, .unusable, .unusable),
        ("tcp://[64:ff9b::7f00:1]:22000", nil, .unusable, .unusable),
        ("tcp://[2002:7f00:1::]:22000", nil, .unusable, .unusable),
        ("tcp://169.254.169.254:80", nil, .privateService, .linkLocal),
        ("tcp://169.254.7.7:22000", nil, nil, .linkLocal),
        ("tcp://[fe80::1]:22000", nil, .linkLocal, .linkLocal),
        ("tcp://[fe80::1%eth0]:22000", nil, nil, .linkLocal),
        // Private addresses that a discovery server names are dialled, but no services below port 1024.
        ("tcp://192.168.1.1:22000", nil, nil, nil),
        ("tcp://10.0.0.1:22000", nil, nil, nil),
        ("tcp://100.64.0.1:22000", nil, nil, nil),
        ("tcp://[fd00::1]:22000", nil, nil, nil),
        ("tcp://192.168.1.1:80", nil, .privateService, .privateService),
        ("tcp://10.0.0.1:22", nil, .privateService, .privateService),
        ("tcp://[fd00::1]:443", nil, .privateService, .privateService),
        ("tcp://2130706433:22000", .numericName, .numericName, .numericName),
        ("tcp://127.1:22000", .numericName, .numericName, .numericName),
        ("tcp://0x7f.0.0.0x1:22000", .numericName, .numericName, .numericName),
        ("tcp://evil.0177:22000", .numericName, .numericName, .numericName),
        ("tcp://...:22000", .unspecified, .unspecified, .unspecified),
        ("tcp://localhost:22000", nil, .localName, .localName),
        ("tcp://a.LOCALHOST:22000", nil, .localName, .localName),
        ("tcp://localhost.:22000", nil, .localName, .localName),
        ("tcp://abc.onion:22000", .onion, .onion, .onion),
        ("relay://192.0.2.7:443", nil, nil, nil),
        ("relay://127.0.0.1:22067", nil, .loopback, .loopback),
        ("relay://192.168.1.1:443", nil, .privateService, .privateService),
        ("relay://0.0.0.0:22067", .unspecified, .unspecified, .unspecified),
    ]

    @Test func whatIsDialledOfWhom() {
        for row in Self.rows {
            let target = Fixture.target(row.address)
            #expect(AddressSanity.problem(target, from: .configured) == row.configured, "\(row.address)")
            #expect(AddressSanity.problem(target, from: .local) == row.local, "\(row.address)")
            #expect(AddressSanity.problem(target, from: .global) == row.global, "\(row.address)")
            #expect(AddressSanity.problem(target, from: .introduced) == row.global, "\(row.address)")
        }
    }

    @Test func onionsGoThroughAProxy() {
        let target = Fixture.target("tcp://abc.onion:22000")
        #expect(AddressSanity.problem(target, from: .global, hasProxy: true) == nil)
    }

    @Test func aProxyIsToldOfNoPrivateAddressButTheUsers() {
        for text in ["tcp://192.168.1.1:22000", "tcp://[fd00::1]:22000", "relay://10.0.0.1:22067"] {
            let target = Fixture.target(text)
            for source in AddressSource.allCases {
                let problem = AddressSanity.problem(target, from: source, hasProxy: true, isProxyOnly: true)
                #expect(problem == (source == .configured ? nil : .behindProxy), "\(text) from \(source)")
            }
        }
    }

    @Test func aNameThatLedToThisMachineIsNotUsed() throws {
        let loopback = try #require(IPAddress("127.0.0.1"))
        #expect(AddressSanity.problem(connectedTo: loopback, port: 22000, from: .global) == .loopback)
        #expect(AddressSanity.problem(connectedTo: loopback, port: 22000, from: .introduced) == .loopback)
        #expect(AddressSanity.problem(connectedTo: loopback, port: 22000, from: .configured) == nil)
        let router = try #require(IPAddress("192.168.1.1"))
        #expect(AddressSanity.problem(connectedTo: router, port: 80, from: .global) == .privateService)
        #expect(AddressSanity.problem(connectedTo: router, port: 22000, from: .global) == nil)
    }
}
