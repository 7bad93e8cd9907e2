import Foundation
import SyncTestKit
import Testing
import Transport
import TransportRelay

extension RelayAddress {
    /// As a user types it, with the token.
    fileprivate var withToken: String {
        let encoded = token.flatMap { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) }
        return announcement + (encoded.map { (id == nil ? "?" : "&") + "token=" + $0 } ?? "")
    }
}

@Suite struct RelayAddressTests {
    @Test(
        arguments: [
            ("relay://relay.example.org", "relay.example.org", 22067, nil, nil),
            ("relay://11.7.0.1:443/?id=ABC-DEF", "11.7.0.1", 443, "ABC-DEF", nil),
            ("relay://[2600::1]:22067/?id=ABC&token=s3cret", "2600::1", 22067, "ABC", "s3cret"),
            ("relay://h:1?token=a%20b%26c+d", "h", 1, nil, "a b&c d"),
            (
                "relay://h/?pingInterval=1m0s&id=ABC&networkTimeout=2m0s&statusAddr=:22070&providedBy=a%zz", "h", 22067,
                "ABC", nil
            ),
            ("relay://h/?id=&token=&id=DEF&id=GHI#id=no", "h", 22067, "DEF", nil),
        ] as [(String, String, UInt16, String?, String?)])
    func parses(text: String, host: String, port: UInt16, id: String?, token: String?) throws {
        let address = try RelayAddress(parsing: text)
        #expect(address == RelayAddress(host: host, port: port, id: id, token: token))
        #expect(try RelayAddress(parsing: address.withToken) == address)
        var announced = address
        announced.token = nil
        #expect(try RelayAddress(parsing: address.announcement) == announced)
    }

    @Test func theTokenIsInNoText() throws {
        let address = try RelayAddress(parsing: "relay://11.7.0.1:22067/?id=ABC&token=s3cret")
        #expect(address.announcement == "relay://11.7.0.1:22067/?id=ABC")
        #expect("\(address)" == "relay://11.7.0.1:22067/?id=ABC")
        #expect(throws: LinkError.self) { try RelayAddress(parsing: "relay://h:0/?token=s3cret") }
        do {
            _ = try RelayAddress(parsing: "relay://h:0/?token=s3cret")
        } catch {
            #expect(!error.message.contains("s3cret"))
        }
    }

    @Test(arguments: [
        "", "relay://", "relay://:22067", "relay://h:", "relay://h:0", "relay://h:65536", "relay://h:+1",
        "relay://h:1x",
        "relay://a:b:1", "relay://[::1", "relay://[1.2.3.4]:1", "relay://[::1]x", "relay://u@h:1", "relay://h\n:1",
        "relay://h/?id=a/b", "relay://h/?token=%f", "relay://h/?token=%ff", "relay://h/?id=\u{e9}", "tcp://h:1",
        "RELAY://h",
        "relay://h/?token=" + String(repeating: "a", count: 1021),
        "relay://h/?x=" + String(repeating: "a", count: 2048),
        "relay://" + String(repeating: "a", count: 254),
    ])
    func refuses(text: String) {
        #expect(throws: LinkError.self) { try RelayAddress(parsing: text) }
    }

    @Test(arguments: 1...100) func anyTextIsReadOrRefused(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            var bytes = Array("relay://[2600::1]:22067/?id=ABC-DEF&token=a%20b".utf8)
            for _ in 0..<random.int(1...5) {
                bytes[random.int(0...bytes.count - 1)] =
                    random.isOne(in: 3) ? UInt8(random.int(0...255)) : random.pick(bytes)
            }
            let text = String(decoding: bytes, as: UTF8.self)
            guard let address = try? RelayAddress(parsing: text) else { continue }
            #expect((try? RelayAddress(parsing: address.withToken)) == address, "\(text)")
        }
    }

    @Test func sources() throws {
        #expect(try RelaySource(parsing: "dynamic+https://relays.syncthing.net/endpoint") == .publicPool)
        #expect(try RelaySource(parsing: "relay://h").description == "relay://h:22067/")
        #expect(RelaySource.publicPool.description == "dynamic+https://relays.syncthing.net/endpoint")
        for text in ["dynamic+ftp://h/", "dynamic+https://h/a b", "https://h/", "dynamic"] {
            #expect(throws: LinkError.self) { try RelaySource(parsing: text) }
        }
    }
}

@Suite struct PoolTests {
    @Test func readsNothingButAddresses() throws {
        let list = """
            {"relays":[
              {"url":"relay://11.7.0.1:443/?id=ABC&pingInterval=1m0s","stats":{"a":[1,{"url":"relay://11.9.9.9:1"}]}},
              {"url":"tcp://11.7.0.2:1"}, {"url":7}, null, "relay://11.7.0.3:1", {}, [],
              {"url":"relay://11.7.0.1:443/?id=DEF"},
              {"url":"relay://relay.example.org:22067","location":null},
              {"url":"relay://192.168.1.1:80"}, {"url":"relay://127.0.0.1:8384"}, {"url":"relay://[fd00::1]:80"}
            ],"relays2":1}
            """
        let addresses = try RelayPool.parse(Array(list.utf8))
        #expect(
            addresses.map(\.description) == [
                "relay://11.7.0.1:443/?id=ABC", "relay://relay.example.org:22067/",
            ])
        #expect(try RelayPool.parse(Array(list.utf8), allowsPrivate: true).count == 5)
    }

    @Test(arguments: ["", "{", "[]", "{}", "{\"relays\":null}", "{\"relays\":{}}", "404 page not found", "\u{0}"])
    func refusesWhatIsNoList(text: String) {
        #expect(throws: RelayError.self) { try RelayPool.parse(Array(text.utf8)) }
    }

    @Test func emptyListsAreLists() throws { #expect(try RelayPool.parse(Array("{\"relays\":[]}".utf8)).isEmpty) }

    @Test func longListsAreCut() throws {
        let entries = (0..<3000).map { "{\"url\":\"relay://h\($0).example.org\"}" }.joined(separator: ",")
        let addresses = try RelayPool.parse(Array("{\"relays\":[\(entries)]}".utf8))
        #expect(addresses.count == RelayPool.maximumEntryCount)
        #expect(addresses.last?.host == "h999.example.org")
        #expect(throws: RelayError.self) {
            try RelayPool.parse([UInt8](repeating: 0x20, count: RelayPool.maximumByteCount + 1))
        }
    }

    @Test func nestingIsNoTrap() {
        let deep = String(repeating: "[", count: 200_000)
        #expect(throws: RelayError.self) { try RelayPool.parse(Array("{\"relays\":\(deep)".utf8)) }
    }

    @Test(arguments: 1...100) func mutatedListsAreReadOrRefused(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = Array("{\"relays\":[{\"url\":\"relay://11.7.0.1:443/?id=ABC\"},{\"url\":\"relay://h\"}]}".utf8)
        for _ in 0..<random.int(1...6) {
            bytes[random.int(0...bytes.count - 1)] =
                random.isOne(in: 2) ? UInt8(random.int(0...255)) : random.pick(bytes)
        }
        if let addresses = try? RelayPool.parse(bytes) { #expect(addresses.count <= 2) }
    }

    @Test(arguments: [
        ("http://192.168.1.5:8080/endpoint", true), ("http://[fd00::1]/x", true), ("http://localhost/", true),
        ("https://relays.syncthing.net/endpoint", false), ("http://11.7.0.1:80", false), ("x", false),
    ]) func privatePools(url: String, isPrivate: Bool) { #expect(RelayPool.isPrivate(url: url) == isPrivate) }

    private static func measurement(_ host: String, _ milliseconds: Int?) -> RelayMeasurement {
        RelayMeasurement(address: RelayAddress(host: host), latency: milliseconds.map { .milliseconds($0) })
    }

    /// 50 ms apart is another step; within one, chance decides; those that did not answer come last.
    @Test func nearOnesFirst() {
        let measurements = [
            Self.measurement("silent", nil), Self.measurement("far", 130), Self.measurement("near1", 0),
            Self.measurement("near2", 49), Self.measurement("middle", 50), Self.measurement("near3", 20),
        ]
        var orders: Set<[String]> = []
        for seed in 1...200 {
            var random = SeededGenerator(seed: UInt64(seed))
            let order = RelayPool.order(measurements, using: &random).map(\.host)
            #expect(Set(order.prefix(3)) == ["near1", "near2", "near3"])
            #expect(Array(order.dropFirst(3)) == ["middle", "far", "silent"])
            orders.insert(order)
        }
        #expect(orders.count == 6)
    }

    @Test func aBoundedNumberIsChosen() {
        var random = SeededGenerator(seed: 1)
        let many = (0..<1000).map { RelayAddress(host: "h\($0)") }
        let first = RelayPool.chosen(of: many, using: &random)
        #expect(Set(first).count == RelayPool.measuredCount)
        #expect(first != RelayPool.chosen(of: many, using: &random))
    }
}

@Suite struct MembershipMachineTests {
    private static let relay = RelayAddress(host: "h")
    private static let closed = RelayError(.closed, "closed")

    private static func pause(_ step: MembershipMachine.Step) -> Duration? {
        if case .wait(let pause, _) = step { pause } else { nil }
    }

    @Test func aFixedRelayIsTriedAgainAndAgain() {
        var random = SeededGenerator(seed: 3)
        var machine = MembershipMachine(source: .fixed(Self.relay))
        #expect(machine.step(after: .begun, using: &random) == .join(Self.relay))
        for whole in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            let pause = Self.pause(machine.step(after: .ended(Self.closed, joinedFor: nil), using: &random))
            #expect(pause.map { $0 > .seconds(whole) / 2 && $0 <= .seconds(whole) } == true)
            #expect(machine.step(after: .waited, using: &random) == .join(Self.relay))
        }
        // A minute's stay counts as a success, less does not.
        let short = Self.pause(machine.step(after: .ended(Self.closed, joinedFor: .seconds(59)), using: &random))
        #expect(short.map { $0 >= .seconds(30) } == true)
        let long = Self.pause(machine.step(after: .ended(Self.closed, joinedFor: .seconds(60)), using: &random))
        #expect(long.map { $0 <= .seconds(1) } == true)
    }

    /// However long a relay is down, it is joined again within 90 s of its return, by tries that take 10 s each.
    @Test(arguments: 1...200) func isBackWithinNinetySeconds(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = MembershipMachine(source: .fixed(Self.relay))
        _ = machine.step(after: .begun, using: &random)
        let back = Duration.seconds(random.int(0...3600))
        var now = Duration.zero
        var step = machine.step(after: .ended(Self.closed, joinedFor: .seconds(3600)), using: &random)
        while now < back || Self.pause(step) != nil {
            if let pause = Self.pause(step) {
                now += pause
                step = machine.step(after: .waited, using: &random)
            } else {
                now += .seconds(10)
                step = machine.step(after: .ended(Self.closed, joinedFor: nil), using: &random)
            }
        }
        #expect(step == .join(Self.relay))
        #expect(now - back <= .seconds(90))
    }

    @Test func aWrongTokenIsForGood() {
        var random = SeededGenerator(seed: 3)
        var machine = MembershipMachine(source: .fixed(Self.relay))
        let error = RelayError(.wrongToken, "wrong")
        #expect(machine.step(after: .ended(error, joinedFor: nil), using: &random) == .stop(error))
    }

    @Test(arguments: [RelayError.Code.alreadyConnected, .full, .wrongRelay, .refused, .silent])
    func otherRefusalsAreNot(code: RelayError.Code) {
        var random = SeededGenerator(seed: 3)
        var machine = MembershipMachine(source: .fixed(Self.relay))
        let step = machine.step(after: .ended(RelayError(code, ""), joinedFor: nil), using: &random)
        #expect(Self.pause(step) != nil)
    }

    @Test func hurryBeginsFromTheStart() {
        var random = SeededGenerator(seed: 3)
        var machine = MembershipMachine(source: .fixed(Self.relay))
        for _ in 0..<9 { _ = machine.step(after: .ended(Self.closed, joinedFor: nil), using: &random) }
        #expect(machine.step(after: .hurried, using: &random) == .join(Self.relay))
        let pause = Self.pause(machine.step(after: .ended(Self.closed, joinedFor: nil), using: &random))
        #expect(pause.map { $0 <= .seconds(1) } == true)
    }

    @Test func aPoolIsMeasuredTriedInOrderAndFetchedAgain() {
        var random = SeededGenerator(seed: 3)
        var machine = MembershipMachine(source: .pool(url: "https://pool/"))
        let relays = ["a", "b", "c"].map { RelayAddress(host: $0) }
        #expect(machine.step(after: .begun, using: &random) == .fetchPool("https://pool/"))
        guard case .measure(let measured) = machine.step(after: .fetched(relays), using: &random) else {
            Issue.record("it does not measure")
            return
        }
        #expect(Set(measured) == Set(relays))
        let measurements = zip(relays, [300, 0, 100]).map {
            RelayMeasurement(address: $0, latency: .milliseconds($1))
        }
        #expect(machine.step(after: .measured(measurements), using: &random) == .join(relays[1]))
        // A token that one relay wants is no reason not to try the next.
        let token = machine.step(after: .ended(RelayError(.wrongToken, ""), joinedFor: nil), using: &random)
        #expect(Self.pause(token).map { $0 <= .seconds(2) } == true)
        #expect(machine.step(after: .waited, using: &random) == .join(relays[2]))
        let lost = machine.step(after: .ended(Self.closed, joinedFor: .seconds(600)), using: &random)
        #expect(Self.pause(lost).map { $0 <= .seconds(1) } == true)
        #expect(machine.step(after: .waited, using: &random) == .join(relays[0]))
        _ = machine.step(after: .ended(Self.closed, joinedFor: nil), using: &random)
        #expect(machine.step(after: .waited, using: &random) == .fetchPool("https://pool/"))
    }

    @Test func aPoolWithoutRelaysIsAskedLessAndLess() {
        var random = SeededGenerator(seed: 3)
        var machine = MembershipMachine(source: .pool(url: "https://pool/"))
        var longest = Duration.zero
        for _ in 0..<10 {
            let pause = Self.pause(machine.step(after: .fetched([]), using: &random))
            longest = max(longest, pause ?? .zero)
            #expect(machine.step(after: .waited, using: &random) == .fetchPool("https://pool/"))
        }
        #expect(longest >= .seconds(30) && longest <= .seconds(60))
    }
}
