import MessageBus
import SyncTestKit
import Testing

@testable import TransportBluetooth

@Suite struct ObjectTreeTests {
    private let hci0 = "/org/bluez/hci0"
    private var device: String { hci0 + "/dev_C0_FF_EE_00_00_01" }

    @Test func readsAdaptersAndDevices() throws {
        var tree = ObjectTree()
        tree.replace(with: Objects.answer([Objects.adapter(hci0), Objects.device(device, adapter: hci0)]), at: .zero)
        let adapter = try #require(tree.adapters.first)
        #expect(adapter.name == "hci0")
        #expect(adapter.isPowered)
        #expect(adapter.canAdvertise && adapter.canServe)
        #expect(adapter.advertisementLimit == 251)
        let address = try #require(BluetoothAddress("C0:FF:EE:00:00:01"))
        let found = try #require(tree.device(address, of: hci0))
        #expect(found.path == device)
        #expect(found.addressKind == .random)
        #expect(!found.hasSurface)
        #expect(tree.devices(of: hci0) == [found])
        #expect(tree.devices(of: "/org/bluez/hci").isEmpty)
    }

    @Test func followsSignals() throws {
        var tree = ObjectTree()
        tree.replace(with: Objects.answer([Objects.adapter(hci0)]), at: .zero)
        tree.apply(Objects.added(Objects.device(device, adapter: hci0)), at: .seconds(1))
        #expect(tree.device(at: device)?.lastSeen == nil)

        let strong: [String: BusValue] = [
            "RSSI": .int16(-40), "UUIDs": .strings([SurfaceUUID.service.uppercased()]), "Connected": .boolean(true),
        ]
        tree.apply(Objects.changed(device, BlueZ.device, strong), at: .seconds(2))
        let found = try #require(tree.device(at: device))
        #expect(found.signal == -40)
        #expect(found.hasSurface && found.isConnected && !found.isResolved)
        #expect(found.lastSeen == .seconds(2))

        tree.apply(Objects.changed(device, BlueZ.device, [:], gone: ["RSSI"]), at: .seconds(3))
        #expect(tree.device(at: device)?.signal == nil)
        #expect(tree.device(at: device)?.lastSeen == .seconds(2))

        tree.apply(Objects.changed(hci0, BlueZ.adapter, ["Powered": .boolean(false)]), at: .seconds(4))
        #expect(tree.adapters.map(\.isPowered) == [false])

        tree.apply(Objects.removed(device, [BlueZ.device, BlueZ.properties]), at: .seconds(5))
        #expect(tree.device(at: device) == nil)
        tree.apply(Objects.removed(hci0, [BlueZ.adapter, BlueZ.advertising, BlueZ.applications]), at: .zero)
        #expect(tree == ObjectTree())
    }

    @Test func unknownStrengthIsNoStrength() {
        var tree = ObjectTree()
        tree.replace(with: Objects.answer([Objects.device(device, adapter: hci0)]), at: .zero)
        tree.apply(Objects.changed(device, BlueZ.device, ["RSSI": .int16(127)]), at: .seconds(1))
        #expect(tree.device(at: device)?.signal == nil)
        #expect(tree.device(at: device)?.lastSeen == .seconds(1))
    }

    @Test func characteristicsOfOtherServicesDoNotCount() {
        var tree = ObjectTree()
        let right = device + "/service0010"
        let wrong = device + "/service0020"
        tree.replace(
            with: Objects.answer([
                Objects.device(device, adapter: hci0),
                (right, [BlueZ.remoteService: ["UUID": .string(SurfaceUUID.service)]]),
                (wrong, [BlueZ.remoteService: ["UUID": .string("0000180a-0000-1000-8000-00805f9b34fb")]]),
                (wrong + "/char0021", [BlueZ.characteristic: ["UUID": .string(SurfaceUUID.data)]]),
            ]), at: .zero)
        #expect(tree.characteristic(SurfaceUUID.data, of: device) == nil)
        let data: [String: BusValue] = ["UUID": .string(SurfaceUUID.data.uppercased())]
        tree.apply(Objects.added((right + "/char0011", [BlueZ.characteristic: data])), at: .zero)
        #expect(tree.characteristic(SurfaceUUID.data, of: device) == right + "/char0011")
        #expect(tree.characteristic(SurfaceUUID.control, of: device) == nil)
        #expect(tree.characteristic(SurfaceUUID.data, of: hci0 + "/dev_C0_FF_EE_00_00_0") == nil)
    }

    /// What bluetoothd never sends must not do harm either.
    @Test(arguments: 1...200)
    func bearsAnything(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var tree = ObjectTree()
        for _ in 0..<50 {
            let path = random.pick([hci0, device, device + "/service0001", device + "/service0001/char0002", "", "/"])
            let signal = BusNotice(
                sender: ":1.1", path: path, interface: random.pick([BlueZ.objects, BlueZ.properties]),
                member: random.pick(["InterfacesAdded", "InterfacesRemoved", "PropertiesChanged"]),
                arguments: (0..<random.int(0...4)).map { _ in Objects.anything(&random, path) })
            tree.apply(signal, at: .zero)
            _ = tree.adapters.map(\.name)
            _ = tree.devices(of: hci0)
            _ = tree.characteristic(SurfaceUUID.data, of: device)
        }
    }
}
