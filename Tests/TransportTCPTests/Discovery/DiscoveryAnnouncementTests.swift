import BlockExchange
import Cryptography
import NIOCore
import SyncTestKit
import Testing
import Transport
import TransportTCP

@Suite struct DiscoveryAnnouncementTests {
    static let device = DeviceID(digest: SHA256.digest(Array("a".utf8)))

    /// The wire form, by hand: magic, 0a 20 id, 12 len address, 18 varint.
    @Test func hasTheBytesOfTheProtocol() throws {
        let announcement = DiscoveryAnnouncement(
            device: Self.device, addresses: ["tcp://0.0.0.0:22000"], instanceID: 300)
        var expected: [UInt8] = [0x2E, 0xA7, 0xD9, 0x0B, 0x0A, 0x20] + Self.device.digest.bytes
        expected += [0x12, 0x13] + Array("tcp://0.0.0.0:22000".utf8) + [0x18, 0xAC, 0x02]
        #expect(Array(announcement.encoded.readableBytesView) == expected)
        #expect(try DiscoveryAnnouncement(datagram: ByteBuffer(bytes: expected)) == announcement)
    }

    @Test(arguments: [0, 1, -1, Int64.max, Int64.min])
    func roundTrips(instanceID: Int64) throws {
        for count in [0, 1, 16] {
            let announcement = DiscoveryAnnouncement(
                device: Self.device, addresses: (0..<count).map { "tcp://192.0.2.\($0):22000" }, instanceID: instanceID)
            #expect(try DiscoveryAnnouncement(datagram: announcement.encoded) == announcement)
        }
    }

    @Test func passesOverWhatItDoesNotKnow() throws {
        var buffer = DiscoveryAnnouncement(device: Self.device, addresses: ["tcp://a:1"], instanceID: 5).encoded
        buffer.writeBytes([0x20, 0x07])  // 4: varint
        buffer.writeBytes([0x29, 1, 2, 3, 4, 5, 6, 7, 8])  // 5: 64 bits
        buffer.writeBytes([0x32, 2, 0xFF, 0xFE])  // 6: bytes
        buffer.writeBytes([0x3D, 1, 2, 3, 4])  // 7: 32 bits
        buffer.writeBytes([0x12, 2, 0xC3, 0x28])  // an address that is no UTF-8
        let read = try DiscoveryAnnouncement(datagram: buffer)
        #expect(read == DiscoveryAnnouncement(device: Self.device, addresses: ["tcp://a:1"], instanceID: 5))
    }

    @Test func keepsTheFirstSixteenAddresses() throws {
        let many = DiscoveryAnnouncement(
            device: Self.device, addresses: (0..<40).map { "tcp://192.0.2.\($0):1" }, instanceID: 1)
        let read = try DiscoveryAnnouncement(datagram: many.encoded)
        #expect(read.addresses == Array(many.addresses.prefix(16)))
        #expect(read.instanceID == 1)
    }

    @Test func refusesWhatIsNone() {
        let good = DiscoveryAnnouncement(device: Self.device, addresses: [], instanceID: 1).encoded
        func error(_ bytes: [UInt8]) -> DiscoveryError? {
            do {
                _ = try DiscoveryAnnouncement(datagram: ByteBuffer(bytes: bytes))
                return nil
            } catch { return error }
        }
        let magic: [UInt8] = [0x2E, 0xA7, 0xD9, 0x0B]
        #expect(error([]) == .foreign)
        #expect(error([0x2E, 0xA7, 0xD9]) == .foreign)
        #expect(error([0x2E, 0xA7, 0xD9, 0x0A]) == .foreign)
        #expect(error(magic) == .malformed)  // no id
        #expect(error(magic + [0x0A, 0x03, 1, 2, 3]) == .malformed)  // a short id
        #expect(error(Array(good.readableBytesView) + [0x12, 0x05, 1]) == .malformed)
        #expect(error(Array(good.readableBytesView) + [0x1B]) == .malformed)  // a group
        #expect(error(Array(good.readableBytesView) + [0x02, 0x00]) == .malformed)  // field zero
        #expect(error(Array(good.readableBytesView) + [0x18] + [UInt8](repeating: 0x80, count: 11)) == .malformed)
        #expect(
            error(Array(good.readableBytesView) + [0x32] + [UInt8](repeating: 0xFF, count: 9) + [0x01]) == .malformed)
        #expect(error(magic + [UInt8](repeating: 0, count: 9000)) == .tooLong)
    }

    @Test func mutatedBytesNeverTrap() {
        let good = Array(
            DiscoveryAnnouncement(
                device: Self.device, addresses: ["tcp://192.0.2.7:22000", "quic://0.0.0.0:22000"], instanceID: -9
            ).encoded.readableBytesView)
        var generator = SeededGenerator(seed: 3)
        var accepted = 0
        for _ in 0..<20_000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 4..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
            guard let read = try? DiscoveryAnnouncement(datagram: ByteBuffer(bytes: bytes)) else { continue }
            accepted += 1
            #expect(read.addresses.count <= 16)
        }
        #expect(accepted > 10)
    }

    @Test func announcesOnlyWhatOthersCanDial() throws {
        let listening = try [
            "tcp://:22000", "tcp://0.0.0.0:22001", "tcp://192.0.2.7:22002", "tcp://127.0.0.1:22003",
            "tcp://[::1]:22004",
            "tcp://localhost:22005", "tcp://224.0.0.1:22006", "tcp://192.0.2.7:0", "dynamic",
            "tcp://[2001:db8::1]:22007",
            "tcp://[fe80::1%eth0]:22008", "ble://C0:FF:EE:00:00:01",
        ].map { try LinkAddress(parsing: $0) }
        let announcement = DiscoveryAnnouncement(device: Self.device, listeningOn: listening, instanceID: 1)
        #expect(
            announcement.addresses == [
                "tcp://0.0.0.0:22000", "tcp://0.0.0.0:22001", "tcp://192.0.2.7:22002", "tcp://[2001:db8::1]:22007",
            ])
    }
}
