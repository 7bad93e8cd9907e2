import GlobalDiscovery
import NIOCore
import SyncTestKit
import Testing

@Suite struct DiscoveryMessagesTests {
    @Test(
        arguments: [
            ("tcp://:22000", "tcp://0.0.0.0:22000"), ("tcp://0.0.0.0:22000", "tcp://0.0.0.0:22000"),
            ("tcp6://:22000", "tcp6://[::]:22000"), ("tcp4://0.0.0.0:1", "tcp4://0.0.0.0:1"),
            ("tcp://[2001:db8::1]:22000", "tcp://[2001:db8::1]:22000"),
            ("tcp://198.51.100.7:1", "tcp://198.51.100.7:1"),
            ("tcp://example.org:22000/x?y", "tcp://example.org:22000"),
            ("relay://198.51.100.7:22067/?id=AAA&token=secret&pingInterval=1m", "relay://198.51.100.7:22067/?id=AAA"),
            ("relay://198.51.100.7:22067/?token=secret&id=AAA", "relay://198.51.100.7:22067/?id=AAA"),
            ("relay://198.51.100.7:22067?token=secret#token=secret", "relay://198.51.100.7:22067/"),
            ("relay://198.51.100.7:22067/token=secret?id=A", "relay://198.51.100.7:22067/?id=A"),
            ("tcp://192.168.1.2:22000", nil), ("tcp://10.0.0.1:1", nil), ("tcp://172.31.0.1:1", nil),
            ("tcp://100.64.0.1:1", nil), ("tcp://169.254.1.1:1", nil), ("tcp://[fd00::1]:1", nil),
            ("tcp://[fe80::1]:1", nil),
            ("tcp://127.0.0.1:22000", nil), ("tcp://[::1]:22000", nil), ("tcp://localhost:22000", nil),
            ("tcp://224.0.0.1:1", nil), ("tcp://0.0.0.0:0", nil), ("tcp://198.51.100.7", nil),
            ("relay://:22067/?id=A", nil),
            ("quic://0.0.0.0:22000", nil), ("ble://C0:FF:EE:00:00:01", nil), ("virtual://a", nil), ("dynamic", nil),
            ("", nil),
        ] as [(String, String?)])
    func announcesWhatOthersCanDial(address: String, announced: String?) {
        #expect(AnnouncedAddresses.announced([address], includesLocal: false) == (announced.map { [$0] } ?? []))
    }

    @Test func announcesLocalAddressesWhenAsked() {
        let addresses = ["tcp://:22000", "tcp://192.168.1.2:22000", "tcp://[fe80::1%eth0]:1", "tcp://0.0.0.0:22000"]
        #expect(
            AnnouncedAddresses.announced(addresses, includesLocal: true) == [
                "tcp://0.0.0.0:22000", "tcp://192.168.1.2:22000",
            ])
        let many = (1...100).map { "tcp://198.51.100.7:\($0)" }
        #expect(AnnouncedAddresses.announced(many, includesLocal: false) == Array(many.prefix(32)))
    }

    @Test(arguments: [
        "2026-11-22T15:15:00Z", "2026-11-22T15:15:00.2Z", "2026-11-22T15:15:00.24159737Z",
        "2026-11-22T15:15:00.241597371Z",
    ])
    func readsLookups(seen: String) throws {
        // As stdiscosrv 1.19 writes it, the ampersand included.
        let body = """
            {"seen":"\(seen)","addresses":["quic://11.7.0.10:22000","relay://11.7.0.1:22067/?id=AAA\\u0026x=y",\
            "tcp://11.7.0.10:22000","tcp://11.7.0.10:22000","tcp4://11.7.0.10:22001","tcp://192.168.1.2:22000"]}
            """
        let answer = try LookupAnswer(body: ByteBuffer(string: body))
        #expect(answer.seen == 1_795_360_500)
        #expect(
            answer.addresses == [
                "relay://11.7.0.1:22067/?id=AAA&x=y", "tcp://11.7.0.10:22000", "tcp4://11.7.0.10:22001",
                "tcp://192.168.1.2:22000",
            ])
    }

    @Test(arguments: [
        #"{}"#, #"{"addresses":null}"#, #"{"addresses":[]}"#, #"{"seen":"yesterday","addresses":[]}"#,
        // What would make this machine dial itself, a group, or nothing.
        #"{"addresses":["tcp://127.0.0.1:22","tcp://localhost:22","tcp://0.0.0.0:22","tcp://[::ffff:127.0.0.1]:22"]}"#,
        #"{"addresses":["tcp://:22","tcp://224.0.0.1:22","tcp://198.51.100.7:0","tcp://a b:22","tcp://x:99999"]}"#,
        #"{"addresses":["http://198.51.100.7:80","file:///etc/passwd","","tcp://","relay://0.0.0.0:1/?id=A"]}"#,
    ])
    func dropsWhatIsOfNoUse(body: String) throws {
        let answer = try LookupAnswer(body: ByteBuffer(string: body))
        #expect(answer.addresses.isEmpty)
        #expect(answer.seen == nil)
    }

    @Test(arguments: [
        "", "Not Found\n", "[]", "<html></html>", #"{"addresses":[1]}"#, #"{"addresses":"tcp://a:1"}"#,
        #"{"addresses":["#, String(repeating: #"{"addresses":["#, count: 10_000),
        #"{"addresses":[]"# + String(repeating: " ", count: 1 << 20) + "}",
    ])
    func refusesOtherBodies(body: String) {
        let error = #expect(throws: GlobalDiscoveryError.self) { _ = try LookupAnswer(body: ByteBuffer(string: body)) }
        #expect(error?.code == .invalidAnswer)
    }

    @Test func usesAFewAddressesOfThousands() throws {
        let relays = (1...5000).map { #""relay://198.51.100.7:\#($0)/?id=A""# }
        let others = (1...5000).map { #""tcp://198.51.100.7:\#($0)""# }
        let body = #"{"addresses":[\#((relays + others).joined(separator: ","))]}"#
        let answer = try LookupAnswer(body: ByteBuffer(string: body))
        #expect(answer.addresses.count == LookupAnswer.addressLimit)
        #expect(answer.addresses.filter { $0.hasPrefix("tcp://") }.count == 24)
        let long = "relay://198.51.100.7:1/?id=" + String(repeating: "A", count: 2048)
        #expect(try LookupAnswer(body: ByteBuffer(string: #"{"addresses":["\#(long)"]}"#)).addresses.isEmpty)
    }

    @Test func neverTrapsOnMutations() {
        var random = SeededGenerator(seed: 5)
        let whole = Array(
            #"{"seen":"2026-11-22T15:15:00.24159737Z","addresses":["relay://11.7.0.1:22067/?id=A","tcp://[::2]:1"]}"#
                .utf8)
        for _ in 0..<5000 {
            var bytes = whole
            for _ in 0..<random.int(1...4) {
                bytes[random.int(0...bytes.count - 1)] = UInt8(truncatingIfNeeded: random.next())
            }
            guard let answer = try? LookupAnswer(body: ByteBuffer(bytes: bytes.prefix(random.int(60...bytes.count))))
            else { continue }
            for address in answer.addresses {
                #expect(address.hasPrefix("tcp") || address.hasPrefix("relay://"))
                #expect(address.utf8.allSatisfy { (0x21...0x7E).contains($0) })
            }
        }
    }
}
