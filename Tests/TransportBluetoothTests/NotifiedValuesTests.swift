import MessageBus
import Synchronization
import Testing

@testable import TransportBluetooth

/// Values that come by signals, where bluetoothd gives no socket for them.
struct NotifiedValuesTests {
    private let device = "/org/bluez/hci0/dev_AA_00_00_00_00_02"
    private let client: BlueZClient
    private let log = Log()

    /// Which devices have disconnected, nil for all.
    private final class Log: Sendable {
        private let devices = Mutex<[String?]>([])

        func add(_ device: String?) { devices.withLock { $0.append(device) } }

        func takeAll() -> [String?] {
            devices.withLock { devices in
                defer { devices = [] }
                return devices
            }
        }
    }

    init() throws {
        client = BlueZClient(
            bus: try SystemBus(), adapter: nil, answer: { .unknown($1) }, disconnected: { [log] in log.add($0) })
        client.update { $0.ownerChanged(to: ":1.1") }
        client.busSignalled(Objects.added(Objects.device(device, adapter: "/org/bluez/hci0")))
    }

    private func signal(_ path: String, _ bytes: [UInt8], of sender: String = ":1.1") {
        var notice = Objects.changed(path, BlueZ.characteristic, ["Value": .bytes(bytes)])
        notice.sender = sender
        client.busSignalled(notice)
    }

    @Test func comeInOrderFromTheirCharacteristicAndBluetoothdOnly() throws {
        let inbox = try client.takeValues(of: device + "/service1/char2")
        signal(device + "/service1/char2", [1])
        signal(device + "/service1/char3", [2])
        signal(device + "/service1/char2", [3], of: ":1.2")
        signal(device + "/service1/char2", [4])
        let taken = inbox.take()
        #expect(taken.packets == [[1], [4]])
        #expect(!taken.isClosed)
        client.leaveValues(of: device + "/service1/char2")
        signal(device + "/service1/char2", [5])
        #expect(inbox.take().packets.isEmpty)
    }

    @Test func endWithTheDevice() throws {
        let other = "/org/bluez/hci0/dev_AA_00_00_00_00_03/service1/char2"
        let ending = try client.takeValues(of: device + "/service1/char2")
        let lasting = try client.takeValues(of: other)
        client.busSignalled(Objects.changed(device, BlueZ.device, ["ServicesResolved": .boolean(false)]))
        #expect(ending.take().isClosed)
        #expect(!lasting.take().isClosed)
        client.busLost(SystemError("test", 5))
        #expect(lasting.take().isClosed)
    }

    /// Of an adapter that is unplugged, bluetoothd says only that it does not have the devices any more; of its own end, nothing.
    @Test func linksEndWithTheAdapterAndWithBluetoothd() throws {
        let inbox = try client.takeValues(of: device + "/service1/char2")
        client.busSignalled(Objects.removed(device, ["org.bluez.Battery1"]))
        #expect(log.takeAll().isEmpty && !inbox.take().isClosed)
        client.busSignalled(Objects.removed(device, [BlueZ.device]))
        #expect(log.takeAll() == [device] && inbox.take().isClosed)
        let last = try client.takeValues(of: device + "/service1/char2")
        var notice = Objects.notice(
            BlueZ.busPath, BlueZ.bus, "NameOwnerChanged", [.string(BlueZ.service), .string(":1.1"), .string("")])
        notice.sender = BlueZ.bus
        client.busSignalled(notice)
        #expect(log.takeAll() == [nil] && last.take().isClosed)
    }

    @Test func goToTheLatestThatAskedForThem() throws {
        let first = try client.takeValues(of: device + "/service1/char2")
        let second = try client.takeValues(of: device + "/service1/char2")
        signal(device + "/service1/char2", [7])
        let taken = first.take()
        #expect(taken.packets.isEmpty && taken.isClosed)
        #expect(second.take().packets == [[7]])
    }
}
