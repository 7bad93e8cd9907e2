import NIOCore
import SyncTestKit
import Testing
import Transport

@Suite struct LinkAddressTests {
    @Test(arguments: [
        ("dynamic", LinkAddress.dynamic, "dynamic"),
        ("tcp://192.0.2.7:22001", .tcp(host: "192.0.2.7", port: 22001), "tcp://192.0.2.7:22001"),
        ("tcp://nas.example", .tcp(host: "nas.example", port: 22000), "tcp://nas.example:22000"),
        ("tcp://[2001:db8::1]:1", .tcp(host: "2001:db8::1", port: 1), "tcp://[2001:db8::1]:1"),
        ("tcp://[fe80::1%eth0]", .tcp(host: "fe80::1%eth0", port: 22000), "tcp://[fe80::1%eth0]:22000"),
        ("tcp://:0", .tcp(host: "", port: 0), "tcp://:0"),
        ("tcp://0.0.0.0:22000/?q=1", .tcp(host: "0.0.0.0", port: 22000), "tcp://0.0.0.0:22000"),
        ("ble://c0:ff:ee:00:00:01", .bluetooth("C0:FF:EE:00:00:01"), "ble://C0:FF:EE:00:00:01"),
        ("virtual://alice", .virtual("alice"), "virtual://alice"),
    ])
    func readsAndPrints(text: String, address: LinkAddress, printed: String) throws {
        #expect(try LinkAddress(parsing: text) == address)
        #expect(address.description == printed)
        #expect(try LinkAddress(parsing: printed) == address)
    }

    @Test(arguments: [
        "", "tcp", "tcp:/host", "nas.example:22000", "tcp://[::1", "tcp://[::1]x:2", "tcp://[nas]:1", "tcp://::1:22000",
        "tcp://a:b", "tcp://a:", "tcp://a:65536", "tcp://a:-1", "tcp://a:+1", "tcp://a:1:2", "tcp://a b:1",
        "tcp://a\u{1B}[2J",
        "tcp://[fe80::1%]:1", "tcp://[fe80::1%a/b]:1", "tcp://[1.2.3.4]:1", "tcp://ünder:1", "ble://c0:ff:ee",
        "virtual://",
        "ble://c0:ff:ee:00:00:0g", "ble://c0:ff:ee:00:00:01:02", "virtual://a b",
        "tcp://" + String(repeating: "a", count: 254),
        String(repeating: "tcp://", count: 4000),
    ])
    func refusesWithoutTrapping(text: String) {
        let error = #expect(throws: LinkError.self) { try LinkAddress(parsing: text) }
        #expect(error?.code == .invalidAddress)
        #expect(error?.message.unicodeScalars.contains { $0.value < 0x20 } == false)
    }

    @Test(arguments: ["quic://192.0.2.7:22000", "relay://r.example:443/?id=x", "tcp4://1.2.3.4:5", "http://x"])
    func namesForeignKinds(text: String) {
        #expect(throws: LinkError.self) { try LinkAddress(parsing: text) }
        #expect((try? LinkAddress(parsing: text)) == nil)
        do { _ = try LinkAddress(parsing: text) } catch { #expect(error.code == .unsupportedAddress) }
    }

    @Test func mutatedTextNeverTraps() {
        let seeds = ["tcp://[fe80::1%eth0]:22000", "tcp://nas.example:22000/?a=b", "ble://c0:ff:ee:00:00:01"]
        var generator = SeededGenerator(seed: 7)
        var accepted = 0
        for round in 0..<20_000 {
            var scalars = Array(seeds[round % seeds.count].unicodeScalars)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<scalars.count, using: &generator)
                scalars[place] = ["[", "]", ":", "/", "%", "é", "\0", "0", "f"].randomElement(using: &generator) ?? "x"
            }
            let text = String(String.UnicodeScalarView(scalars))
            guard let address = try? LinkAddress(parsing: text) else { continue }
            accepted += 1
            #expect(try! LinkAddress(parsing: address.description) == address, "\(text)")
        }
        #expect(accepted > 100)
    }

    @Test(arguments: [
        ("tcp://192.0.2.7:1", true), ("tcp://nas:22000", true), ("tcp://nas:0", false), ("tcp://:1", false),
        ("tcp://0.0.0.0:1", false), ("tcp://[::]:1", false), ("tcp://224.0.0.1:1", false),
        ("tcp://[ff12::8384]:1", false),
        ("dynamic", false), ("ble://C0:FF:EE:00:00:01", true),
    ])
    func knowsWhatCanBeDialled(text: String, isDialable: Bool) throws {
        #expect(try LinkAddress(parsing: text).isDialable == isDialable)
    }

    @Test(arguments: [
        ("127.9.9.9", "loopback"), ("::1", "loopback"), ("::ffff:127.0.0.1", "loopback"), ("224.0.0.5", "multicast"),
        ("255.255.255.255", "multicast"), ("ff02::1", "multicast"), ("0.0.0.0", "unspecified"), ("::", "unspecified"),
        ("169.254.1.1", "link-local"), ("fe80::1%2", "link-local"), ("192.0.2.1", ""), ("2001:db8::1", ""),
        ("::2", ""), ("fec0::1", ""),
    ])
    func classifiesNumbers(text: String, kind: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.isLoopback == (kind == "loopback"))
        #expect(address.isMulticast == (kind == "multicast"))
        #expect(address.isUnspecified == (kind == "unspecified"))
        #expect(address.isLinkLocal == (kind == "link-local"))
    }

    @Test func printsMappedAddressesAsIPv4() throws {
        let mapped = try SocketAddress(ipAddress: "::ffff:192.0.2.7", port: 4)
        #expect(LinkAddress(mapped)?.description == "tcp://192.0.2.7:4")
    }
}
