import MessageBus
import Testing

@testable import TransportBluetooth

@Suite struct NearbyDeviceTests {
    private let adapter = "/org/bluez/hci0"

    @Test func listsThoseHeardLatelyTheStrongestFirst() {
        var tree = ObjectTree()
        func hear(_ last: String, _ signal: Int16, at time: Int, uuid: String = SurfaceUUID.service) {
            let path = adapter + "/dev_C0_FF_EE_00_00_" + last
            tree.apply(Objects.added(Objects.device(path, adapter: adapter)), at: .zero)
            let properties: [String: BusValue] = ["RSSI": .int16(signal), "UUIDs": .strings([uuid])]
            tree.apply(Objects.changed(path, BlueZ.device, properties), at: .seconds(time))
        }
        hear("01", -80, at: 100)
        hear("02", -40, at: 90)
        hear("03", -30, at: 20)
        hear("04", -20, at: 100, uuid: "0000180a-0000-1000-8000-00805f9b34fb")
        hear("05", 127, at: 100)
        // Known of old, and not heard now.
        tree.apply(Objects.added(Objects.device(adapter + "/dev_C0_FF_EE_00_00_06", adapter: adapter)), at: .zero)
        let list = NearbyDevice.list(tree.devices(of: adapter), now: .seconds(101))
        #expect(
            list.map(\.address.description) == [
                "ble://C0:FF:EE:00:00:02", "ble://C0:FF:EE:00:00:01", "ble://C0:FF:EE:00:00:05",
            ])
        #expect(list.map(\.signal) == [-40, -80, nil])
        #expect(list.map(\.age) == [.seconds(11), .seconds(1), .seconds(1)])
    }
}
