import BlockExchange
import Phrases
import Testing

@testable import AgentConfiguration

@Suite struct ByteCountTextTests {
    @Test(
        arguments: [
            ("0", 0), ("4096", 4096), ("1 GiB", 1 << 30), ("1GiB", 1 << 30), ("2 kib", 2048), ("3 MiB", 3 << 20),
            ("1 TiB", 1 << 40), ("5 KB", 5000), ("5 MB", 5_000_000), ("5 GB", 5_000_000_000),
            ("1 TB", 1_000_000_000_000),
            ("7 B", 7),
        ] as [(String, Int64)])
    func reads(_ text: String, _ byteCount: Int64) { #expect(ByteCountText.parse(text) == byteCount) }

    @Test(arguments: [
        "", " ", "GiB", "1.5 GiB", "-1", "1 GiB ", " 1", "1 ", "1 PB", "1 GiBs", "9223372036854775808",
        "9000000000 TiB",
        "１ GiB", "1 G",
    ])
    func refuses(_ text: String) { #expect(ByteCountText.parse(text) == nil) }

    @Test(
        arguments: [(0, "0 B"), (1000, "1 KB"), (1 << 30, "1 GiB"), (10_000_000, "10 MB"), (3 << 19, "1536 KiB")]
            as [(Int64, String)])
    func formats(_ byteCount: Int64, _ text: String) {
        #expect(ByteCountText.format(byteCount) == text)
        #expect(ByteCountText.parse(text) == byteCount)
    }
}

@Suite struct MinimumFreeTests {
    @Test(
        arguments: [
            ("1 %", .basisPoints(100)), ("1%", .basisPoints(100)), ("0.5 %", .basisPoints(50)),
            ("2.05 %", .basisPoints(205)), ("100 %", .basisPoints(10_000)), ("0 %", .basisPoints(0)),
            ("5 GiB", .byteCount(5 << 30)), ("0", .byteCount(0)),
        ] as [(String, MinimumFree)])
    func reads(_ text: String, _ expected: MinimumFree) {
        #expect(MinimumFree(text: text) == expected)
        #expect(MinimumFree(text: expected.text) == expected)
    }

    @Test(arguments: [
        "", "%", " %", "-1 %", "100.01 %", "101 %", "1.234 %", "1. %", ".5 %", "1,5 %", "1  %", "+1 %", "1.2.3 %",
        "9999 %", "1 % ", "x",
    ])
    func refuses(_ text: String) { #expect(MinimumFree(text: text) == nil) }

    @Test(
        arguments: [
            (.byteCount(7), 100, 7), (.basisPoints(100), 1_000_000, 10_000), (.basisPoints(1), 9_999, 0),
            (.basisPoints(10_000), .max, .max), (.basisPoints(9_999), .max, 9_222_449_699_651_090_329),
            (.basisPoints(100), -5, 0),
        ] as [(MinimumFree, Int64, Int64)])
    func isAPartOfTheDisk(_ free: MinimumFree, _ size: Int64, _ expected: Int64) {
        #expect(free.byteCount(ofDisk: size) == expected)
    }
}

@Suite struct AddressSyntaxTests {
    @Test(arguments: [
        "dynamic", "tcp://192.0.2.7:22000", "tcp://nas.local:1", "tcp://[fe80::1]:22000", "tcp://[fe80::1%eth0]:65535",
        "tcp://[::ffff:192.0.2.1]:5", "tcp://xn--bcher-kva.example:22000", "tcp://my_host:22000",
        "virtual://my-host_2.x",
    ])
    func takesDevices(_ text: String) { #expect(AddressSyntax.problem(deviceAddress: text) == nil) }

    @Test(arguments: [
        "", "Dynamic", "tcp://", "tcp://host", "tcp://host:", "tcp://:22000", "tcp://host:65536", "tcp://host:123456",
        "tcp://host:0", "quic://host:22000", "tcp://fe80::1:22000", "tcp://[fe80::1]", "tcp://[host]:1", "tcp://[]:1",
        "tcp://[fe80::1%]:1", "tcp://ho st:1", "tcp://host:1/x", "tcp://u@host:1", "tcp://host:+1",
        "tcp://0.0.0.0:22000", "virtual://", "virtual://a b", "virtual://ü", "virtual://a/b",
        "tcp://[192.168.1.10:22000:]:22000", "tcp://[1:2]:1", "tcp://[fe80::1::2]:1", "tcp://[ff02::1%eth0]:1",
        "tcp://192.168.1.300:22000", "tcp://192.168.1:22000", "tcp://1234:22000", "tcp://224.0.0.1:22000",
        "tcp://bücher.example:22000",
        "tcp://[::]:22000", "tcp://host:１", "tcp://ho\nst:1", "tcp://\(String(repeating: "a", count: 300)):1",
    ])
    func refusesDevices(_ text: String) { #expect(AddressSyntax.problem(deviceAddress: text) != nil) }

    @Test(arguments: [
        "tcp://:22000", "tcp://:0", "tcp://0.0.0.0:22000", "tcp://[::]:22000", "tcp://127.0.0.1:0", "tcp://localhost:1",
        "tcp://[fe80::1%eth0]:22000", "virtual://laptop",
    ])
    func takesListeners(_ text: String) { #expect(AddressSyntax.problem(listenAddress: text) == nil) }

    @Test(arguments: [
        "", "dynamic", "tcp://:", "tcp://:65536", "tcp://:x", "tcp://:1/x", "0.0.0.0:22000", "tcp://nas.local:22000",
        "tcp://1.2.3:22000", "tcp://1.2.3.256:22000", "tcp://1.2.3.4.5:22000", "tcp://1..2.3:22000", "quic://:22000",
    ])
    func refusesListeners(_ text: String) { #expect(AddressSyntax.problem(listenAddress: text) != nil) }

    /// Where the port alone is wrong, that is said.
    @Test(arguments: [
        ("tcp://127.0.0.1:99999", true), ("tcp://:65536", true), ("tcp://[::1]:100000", true),
        ("tcp://127.0.0.1:x", false),
        ("tcp://127.0.0.1:", false), ("quic://127.0.0.1:99999", false),
    ])
    func namesAPortThatIsTooLarge(_ text: String, _ isTooLarge: Bool) {
        let words = "the port of the address `\(text)` is too large; ports are numbers up to 65535"
        #expect((AddressSyntax.problem(listenAddress: text)?.english == words) == isTooLarge)
        #expect((AddressSyntax.problem(deviceAddress: text)?.english == words) == isTooLarge)
    }

    @Test(arguments: [
        ("192.168.1.5", "tcp://192.168.1.5:22000"), ("nas.local:22001", "tcp://nas.local:22001"),
        ("[fe80::1%eth0]", "tcp://[fe80::1%eth0]:22000"), ("[fe80::1]:5", "tcp://[fe80::1]:5"),
        ("fe80::1%eth0", "tcp://[fe80::1%eth0]:22000"), ("2001:db8::1", "tcp://[2001:db8::1]:22000"),
        ("nas", "tcp://nas:22000"), (" nas \n", "tcp://nas:22000"), ("tcp://nas", "tcp://nas:22000"),
        ("tcp://[::1]", "tcp://[::1]:22000"), ("tcp4://192.0.2.7", "tcp4://192.0.2.7:22000"),
        (":22000", "tcp://:22000"),
        ("C0:FF:EE:00:00:01", "ble://C0:FF:EE:00:00:01"),
    ])
    func completesWhatIsTyped(_ text: String, _ address: String) {
        #expect(AddressSyntax.completed(text) == address)
        #expect(AddressSyntax.completed(address) == address)
    }

    @Test(arguments: [
        "", "dynamic", "default", "tcp://nas:1", "relay://h:1/?id=A", "quic://h", "virtual://a", "a b", "nas:",
        "nas:99999",
        "nas:22000/x", "fe80::zz", "192.168.1.10:22000:", "nas.local:22000:1", "fe80::1::2", "[fe80", ":", "tcp://",
        "tcp://h:x", String(repeating: "a", count: 301),
    ])
    func leavesTheRestAsItIs(_ text: String) { #expect(AddressSyntax.completed(text) == text) }

    @Test func defaultsAreValid() {
        #expect(Configuration.defaultListen.allSatisfy { AddressSyntax.problem(listenAddress: $0) == nil })
    }
}

@Suite struct FolderPathTests {
    @Test(arguments: [
        ("/a/b", "/a/b"), ("//a///b/", "/a/b"), ("~", "/home/anna"), ("~/x y", "/home/anna/x y"), ("/a/~", "/a/~"),
        ("/a/..b/.c", "/a/..b/.c"),
    ])
    func cleans(_ text: String, _ path: String) throws {
        #expect(try FolderPath.clean(text, userHome: "/home/anna") == path)
    }

    @Test(arguments: [
        "", "a", "./a", "~anna/x", "/", "//", "/a/../b", "/a/.", "/a\nb", "/\u{7F}",
        "/" + String(repeating: "x", count: 256), String(repeating: "/abc", count: 1024),
    ])
    func refuses(_ text: String) {
        #expect(throws: SettingProblem.self) { try FolderPath.clean(text, userHome: "/home/anna") }
    }

    /// What is no full path is told so, and nothing of HOME.
    @Test(arguments: ["~/Library", "Library", "~anna/x"]) func whatIsNotAFullPathIsNamed(_ text: String) {
        let folder = FolderConfiguration(id: FolderID("f"), path: text)
        let problem = folder.problem()
        #expect(problem?.key == "path")
        #expect(
            problem?.problem.message == "`\(text)` is not absolute; enter a full path, for example /home/me/Library")
    }

    @Test(arguments: [
        ("/a", "/a", true), ("/a/b", "/a", true), ("/ab", "/a", false), ("/a", "/a/b", false), ("/a", "/", true),
        // The same letter composed and decomposed: two names on Linux.
        ("/\u{E9}/b", "/e\u{301}", false),
    ])
    func contains(_ path: String, _ directory: String, _ isInside: Bool) {
        #expect(FolderPath.isSameOrInside(path, directory) == isInside)
    }
}

@Suite struct ConfigurationLookupTests {
    let configuration = Configuration(
        name: "x",
        devices: [
            DeviceConfiguration(id: testDevice(1), name: "nas"), DeviceConfiguration(id: testDevice(2), name: "phone"),
            DeviceConfiguration(id: testDevice(3), name: "phone"), DeviceConfiguration(id: testDevice(4)),
        ])

    @Test func findsByIDAndName() throws {
        #expect(try configuration.device("nas").id == testDevice(1))
        #expect(try configuration.device(testDevice(4).description.lowercased()).id == testDevice(4))
    }

    @Test func refusesUnknownAndAmbiguous() {
        #expect(failure { _ = try configuration.device("") }?.code == .noSuchDevice)
        #expect(failure { _ = try configuration.device("nothing") }?.code == .noSuchDevice)
        #expect(failure { _ = try configuration.device(testDevice(9).description) }?.code == .noSuchDevice)
        #expect(failure { _ = try configuration.device("phone") }?.code == .duplicate)
        #expect(failure { _ = try configuration.folder(FolderID("f")) }?.code == .noSuchFolder)
    }
}

@Suite struct DeviceIDErrorTextTests {
    /// What is wrong with an id can be translated, and says in English what BlockExchange says.
    @Test(arguments: [DeviceIDError.wrongLength, .wrongCharacter, .wrongCheckCharacter(group: 3)])
    func isAPhrase(_ error: DeviceIDError) {
        #expect(error.text.english == error.description)
        #expect(!Phrase(of: error).isVerbatim)
    }

    @Test func isPartOfWhatASettingSays() {
        let problem = ServerSyntax.problem(discoveryServer: "https://192.0.2.1/?id=AAAA")
        #expect(problem?.arguments.last == .phrase(DeviceIDError.wrongLength.text))
    }
}
