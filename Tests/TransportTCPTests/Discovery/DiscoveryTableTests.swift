import BlockExchange
import Cryptography
import NIOCore
import Testing
import Transport
import TransportTCP

@Suite struct DiscoveryTableTests {
    static func device(_ number: Int) -> DeviceID { DeviceID(digest: SHA256.digest(Array("device \(number)".utf8))) }

    static func announcement(_ number: Int, _ addresses: [String] = ["tcp://0.0.0.0:22000"], instance: Int64 = 1)
        -> DiscoveryAnnouncement
    {
        DiscoveryAnnouncement(device: device(number), addresses: addresses, instanceID: instance)
    }

    static let source = IPAddress("192.0.2.7")!

    @Test(arguments: [
        ("tcp://0.0.0.0:22000", "192.0.2.7", "tcp://192.0.2.7:22000"),
        ("tcp://:22000", "192.0.2.7", "tcp://192.0.2.7:22000"),
        ("tcp://[::]:22000", "2001:db8::7", "tcp://[2001:db8::7]:22000"),
        ("tcp://[::]:22000", "fe80::7%2", "tcp://[fe80::7%2]:22000"),
        ("tcp://[fe80::9]:22000", "fe80::7%2", "tcp://[fe80::9%2]:22000"),
        ("tcp://[fe80::9%eth7]:22000", "fe80::7%2", "tcp://[fe80::9%2]:22000"),
        ("tcp://[fe80::9]:22000", "192.0.2.7", nil),
        ("tcp://198.51.100.1:80", "192.0.2.7", "tcp://198.51.100.1:80"),
        ("tcp://nas.example:22000", "192.0.2.7", "tcp://nas.example:22000"),
        ("tcp://127.0.0.1:22000", "192.0.2.7", nil), ("tcp://[::1]:22000", "192.0.2.7", nil),
        ("tcp://localhost:22000", "192.0.2.7", nil), ("tcp://224.0.0.1:22000", "192.0.2.7", nil),
        ("tcp://255.255.255.255:22000", "192.0.2.7", nil), ("tcp://0.0.0.0:0", "192.0.2.7", nil),
        ("quic://0.0.0.0:22000", "192.0.2.7", nil), ("relay://192.0.2.9:443", "192.0.2.7", nil),
        ("dynamic", "192.0.2.7", nil), ("", "192.0.2.7", nil), ("ble://C0:FF:EE:00:00:01", "192.0.2.7", nil),
    ])
    func readsAddresses(text: String, source: String, expected: String?) throws {
        var table = DiscoveryTable()
        let change = table.receive(
            Self.announcement(1, [text]), from: try #require(IPAddress(source)), isKnown: false, at: .zero)
        #expect(change == .appeared)
        #expect(table.addresses(of: Self.device(1), at: .zero).map(\.description) == (expected.map { [$0] } ?? []))
    }

    @Test func tellsWhatChanged() {
        var table = DiscoveryTable()
        func receive(_ addresses: [String], instance: Int64, at seconds: Int) -> DiscoveryTable.Change {
            table.receive(
                Self.announcement(1, addresses, instance: instance), from: Self.source, isKnown: true,
                at: .seconds(seconds))
        }
        #expect(receive(["tcp://192.0.2.7:1"], instance: 1, at: 0) == .appeared)
        #expect(receive(["tcp://192.0.2.7:1"], instance: 1, at: 30) == .refreshed)
        #expect(receive(["tcp://192.0.2.7:2", "tcp://192.0.2.7:2"], instance: 1, at: 60) == .moved)
        #expect(table.addresses(of: Self.device(1), at: .seconds(60)) == [.tcp(host: "192.0.2.7", port: 2)])
        #expect(receive(["tcp://192.0.2.7:2"], instance: 2, at: 90) == .appeared)
        #expect(receive(["tcp://192.0.2.7:2"], instance: 2, at: 179) == .refreshed)
        #expect(receive(["tcp://192.0.2.7:2"], instance: 2, at: 269) == .appeared)
    }

    /// A Syncthing announces itself from each of its addresses, with another number for each family.
    @Test func keepsWhatADeviceAnnouncesFromEachOfItsAddresses() throws {
        var table = DiscoveryTable()
        let other = try #require(IPAddress("fe80::7%2"))
        let (one, two) = (
            LinkAddress.tcp(host: "192.0.2.7", port: 22000), LinkAddress.tcp(host: "fe80::7%2", port: 22000)
        )
        func receive(from source: IPAddress, instance: Int64, at seconds: Int) -> DiscoveryTable.Change {
            table.receive(
                Self.announcement(1, instance: instance), from: source, isKnown: true, at: .seconds(seconds))
        }
        func addresses(at seconds: Int) -> [LinkAddress] { table.addresses(of: Self.device(1), at: .seconds(seconds)) }

        #expect(receive(from: Self.source, instance: 1, at: 0) == .appeared)
        #expect(receive(from: other, instance: 1, at: 1) == .moved)
        #expect(addresses(at: 1) == [one, two])
        #expect(receive(from: other, instance: 1, at: 31) == .refreshed)
        #expect(receive(from: Self.source, instance: 1, at: 32) == .refreshed)
        #expect(addresses(at: 32) == [one, two])
        // It restarts.
        #expect(receive(from: Self.source, instance: 2, at: 60) == .appeared)
        #expect(receive(from: other, instance: 3, at: 60) == .appeared)
        #expect(receive(from: Self.source, instance: 2, at: 90) == .refreshed)
        #expect(receive(from: other, instance: 3, at: 90) == .refreshed)
        // An address that it has no longer goes by itself.
        #expect(receive(from: Self.source, instance: 2, at: 150) == .refreshed)
        #expect(addresses(at: 180) == [one])
        #expect(table.entries(at: .seconds(180)).map(\.addresses) == [[one]])
    }

    @Test func keepsTheNewestOfTooManySources() {
        var table = DiscoveryTable()
        for number in 1...20 {
            let source = IPAddress("192.0.2.\(number)")!
            _ = table.receive(Self.announcement(1), from: source, isKnown: true, at: .seconds(number))
        }
        #expect(
            table.addresses(of: Self.device(1), at: .seconds(20))
                == (17...20).map { .tcp(host: "192.0.2.\($0)", port: 22000) })
    }

    @Test func forgetsAfterTheLifetime() {
        var table = DiscoveryTable()
        _ = table.receive(Self.announcement(1), from: Self.source, isKnown: true, at: .seconds(10))
        _ = table.receive(Self.announcement(2), from: Self.source, isKnown: true, at: .seconds(50))
        #expect(table.addresses(of: Self.device(1), at: .milliseconds(99_999)).count == 1)
        #expect(table.addresses(of: Self.device(1), at: .seconds(100)).isEmpty)
        #expect(table.entries(at: .seconds(100)).map(\.device) == [Self.device(2)])
        table.removeExpired(at: .seconds(100))
        #expect(table.entries(at: .zero).map(\.device) == [Self.device(2)])
    }

    @Test func staysBelowItsLimitAndKeepsWhatIsKnown() {
        var table = DiscoveryTable(entryLimit: 10)
        for number in 0..<10 {
            #expect(
                table.receive(Self.announcement(number), from: Self.source, isKnown: number < 2, at: .zero) == .appeared
            )
        }
        #expect(table.receive(Self.announcement(10), from: Self.source, isKnown: false, at: .zero) == .refused)
        #expect(table.receive(Self.announcement(3), from: Self.source, isKnown: false, at: .zero) == .refreshed)
        for number in 20..<28 {
            #expect(table.receive(Self.announcement(number), from: Self.source, isKnown: true, at: .zero) == .appeared)
        }
        #expect(table.receive(Self.announcement(28), from: Self.source, isKnown: true, at: .zero) == .refused)
        #expect(
            Set(table.entries(at: .zero).map(\.device)) == Set(([0, 1] + Array(20..<28)).map { Self.device($0) }))
        // Room comes with time.
        #expect(table.receive(Self.announcement(10), from: Self.source, isKnown: false, at: .seconds(90)) == .appeared)
        #expect(table.entries(at: .seconds(90)).count == 1)
    }
}
