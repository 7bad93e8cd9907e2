import MessageBus
import SyncTestKit

@testable import TransportBluetooth

/// bluetoothd's objects and signals, as tests need them.
enum Objects {
    typealias Object = (path: String, interfaces: [String: [String: BusValue]])

    static func adapter(_ path: String, address: String = "AA:00:00:00:00:01", isPowered: Bool = true) -> Object {
        (
            path,
            [
                BlueZ.adapter: [
                    "Address": .string(address), "AddressType": .string("public"), "Powered": .boolean(isPowered),
                    "Name": .string("not kept"),
                ],
                BlueZ.advertising: ["SupportedCapabilities": .properties(["MaxAdvLen": .byte(251)])],
                BlueZ.applications: [:],
            ]
        )
    }

    static func device(_ path: String, adapter: String) -> Object {
        let address = path.split(separator: "_").suffix(6).joined(separator: ":")
        return (
            path,
            [
                BlueZ.device: [
                    "Address": .string(address), "AddressType": .string("random"), "Adapter": .objectPath(adapter),
                    "UUIDs": .strings([]), "Connected": .boolean(false),
                ]
            ]
        )
    }

    static func interfaces(_ object: Object) -> BusValue {
        .dictionary(
            key: "s", value: "a{sv}",
            object.interfaces.sorted { $0.key < $1.key }.map {
                BusValue.Entry(key: .string($0.key), value: .properties($0.value))
            })
    }

    static func answer(_ objects: [Object]) -> [BusValue] {
        [
            .dictionary(
                key: "o", value: "a{sa{sv}}",
                objects.map { BusValue.Entry(key: .objectPath($0.path), value: interfaces($0)) })
        ]
    }

    static func added(_ object: Object) -> BusNotice {
        notice("/", BlueZ.objects, "InterfacesAdded", [.objectPath(object.path), interfaces(object)])
    }

    static func removed(_ path: String, _ interfaces: [String]) -> BusNotice {
        notice("/", BlueZ.objects, "InterfacesRemoved", [.objectPath(path), .strings(interfaces)])
    }

    static func changed(
        _ path: String, _ interface: String, _ properties: [String: BusValue], gone: [String] = []
    ) -> BusNotice {
        notice(
            path, BlueZ.properties, "PropertiesChanged", [.string(interface), .properties(properties), .strings(gone)])
    }

    static func notice(
        _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []
    ) -> BusNotice {
        BusNotice(sender: ":1.1", path: path, interface: interface, member: member, arguments: arguments)
    }

    /// Some value, often of the right shape and with odd contents.
    static func anything(_ random: inout SeededGenerator, _ path: String) -> BusValue {
        switch random.int(0...8) {
        case 0: .string(random.pick([BlueZ.device, BlueZ.adapter, "", "x", BlueZ.characteristic]))
        case 1: .objectPath(path)
        case 2: .strings([BlueZ.device, BlueZ.adapter])
        case 3: .array(element: "u", [.uint32(1)])
        case 4: .dictionary(key: "q", value: "v", [BusValue.Entry(key: .uint16(1), value: .boolean(true))])
        case 5:
            .properties(["Address": .int32(-1), "RSSI": .string("x"), "UUIDs": .boolean(true), "Connected": .bytes([])])
        case 6:
            interfaces((path, [BlueZ.device: ["Address": .string("C0:FF:EE:00:00:01"), "RSSI": .uint64(.max)]]))
        case 7: interfaces((path, [BlueZ.adapter: ["Address": .string("AA"), "Powered": .string("yes")]]))
        default: .variant(.variant(.structure([])))
        }
    }
}
