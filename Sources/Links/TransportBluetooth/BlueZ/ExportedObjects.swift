import MessageBus

/// What this program shows to bluetoothd on the bus: the GATT service and the advertisement, and how calls to them are
/// answered.
struct ExportedObjects: Equatable, Sendable {
    /// What a call asks for beyond its answer.
    enum Effect: Equatable, Sendable {
        case answer(BusAnswer)
        /// A device has written to a characteristic.
        case written(device: String, Characteristic, [UInt8])
        /// bluetoothd wants a socket for the notifications of a characteristic.
        case notificationSocket(Characteristic, mtu: Int)
        /// Notifications that have no socket are wanted, or not any more.
        case notifying(Characteristic, Bool)
        /// bluetoothd has dropped the advertisement.
        case advertisementReleased
    }

    enum Characteristic: String, CaseIterable, Sendable {
        case data, control, capabilities

        var uuid: String {
            switch self {
            case .data: SurfaceUUID.data
            case .control: SurfaceUUID.control
            case .capabilities: SurfaceUUID.capabilities
            }
        }

        var flags: [String] {
            switch self {
            case .data: ["write-without-response", "notify"]
            case .control: ["write", "notify"]
            case .capabilities: ["read"]
            }
        }

        var path: String { ExportedObjects.servicePath + "/" + rawValue }
    }

    static let applicationPath = "/org/synctrain/gatt"
    static let servicePath = applicationPath + "/service"
    static let advertisementPath = "/org/synctrain/advertisement"

    /// What the characteristic of capabilities is read as.
    var capabilities: [UInt8] = []
    /// Bytes that an advertisement may have.
    var advertisementLimit = 31

    /// Reacts to a call, whose sender has been found to be bluetoothd.
    func effect(of call: BusNotice) -> Effect {
        switch (call.interface, call.member) {
        case (BlueZ.objects, "GetManagedObjects") where call.path == Self.applicationPath:
            return .answer(.values([managedObjects]))
        case (BlueZ.properties, "GetAll"):
            guard let interface = call.arguments.first?.text,
                let properties = properties(at: call.path, interface: interface)
            else { return .answer(.unknown(call)) }
            return .answer(.values([.properties(properties)]))
        case (BlueZ.properties, "Get"):
            guard call.arguments.count == 2, let interface = call.arguments[0].text,
                let name = call.arguments[1].text,
                let value = properties(at: call.path, interface: interface)?[name]
            else { return .answer(.unknown(call)) }
            return .answer(.values([.variant(value)]))
        case (BlueZ.advertisement, "Release") where call.path == Self.advertisementPath:
            return .advertisementReleased
        case (BlueZ.characteristic, let member):
            guard let characteristic = Characteristic.allCases.first(where: { $0.path == call.path }) else {
                return .answer(.unknown(call))
            }
            return effect(of: member, on: characteristic, call)
        default:
            return .answer(.unknown(call))
        }
    }

    private func effect(of member: String, on characteristic: Characteristic, _ call: BusNotice) -> Effect {
        switch (member, characteristic) {
        case ("ReadValue", .capabilities):
            let offset = call.arguments.first?.members?["offset"]?.number ?? 0
            guard capabilities.indices.contains(offset) || offset == capabilities.count else {
                return .answer(.error(name: "org.bluez.Error.InvalidOffset", message: "beyond the value's end"))
            }
            return .answer(.values([.bytes([UInt8](capabilities[offset...]))]))
        case ("WriteValue", .data), ("WriteValue", .control):
            guard call.arguments.count == 2, let bytes = call.arguments[0].data,
                let device = call.arguments[1].members?["device"]?.text
            else { return .answer(.error(name: "org.bluez.Error.Failed", message: "no bytes, or no device")) }
            return .written(device: device, characteristic, bytes)
        case ("AcquireNotify", .data):
            guard let mtu = call.arguments.first?.members?["mtu"]?.number else {
                return .answer(.error(name: "org.bluez.Error.Failed", message: "no MTU"))
            }
            return .notificationSocket(characteristic, mtu: mtu)
        case ("StartNotify", .data), ("StartNotify", .control): return .notifying(characteristic, true)
        case ("StopNotify", .data), ("StopNotify", .control): return .notifying(characteristic, false)
        case ("Confirm", _): return .answer(.nothing)
        default: return .answer(.unknown(call))
        }
    }

    private var managedObjects: BusValue {
        let objects: [(path: String, interface: String)] =
            [(Self.servicePath, BlueZ.remoteService)]
            + Characteristic.allCases.map { ($0.path, BlueZ.characteristic) }
        return .dictionary(
            key: "o", value: "a{sa{sv}}",
            objects.map { path, interface in
                BusValue.Entry(
                    key: .objectPath(path),
                    value: .dictionary(
                        key: "s", value: "a{sv}",
                        [
                            BusValue.Entry(
                                key: .string(interface),
                                value: .properties(properties(at: path, interface: interface) ?? [:]))
                        ]))
            })
    }

    private func properties(at path: String, interface: String) -> [String: BusValue]? {
        switch (path, interface) {
        case (Self.servicePath, BlueZ.remoteService):
            return ["UUID": .string(SurfaceUUID.service), "Primary": .boolean(true)]
        case (Self.advertisementPath, BlueZ.advertisement):
            var properties: [String: BusValue] = [
                "Type": .string("peripheral"), "ServiceUUIDs": .strings([SurfaceUUID.service]),
            ]
            if Advertisement.fits(serviceData: capabilities.count, limit: advertisementLimit) {
                properties["ServiceData"] = .properties([SurfaceUUID.service: .bytes(capabilities)])
            }
            return properties
        case (_, BlueZ.characteristic):
            guard let characteristic = Characteristic.allCases.first(where: { $0.path == path }) else { return nil }
            var properties: [String: BusValue] = [
                "UUID": .string(characteristic.uuid), "Service": .objectPath(Self.servicePath),
                "Flags": .strings(characteristic.flags),
            ]
            // A socket for notifications; writes come by WriteValue, which says of whom: one socket for the writes of
            // all devices would mix them.
            if characteristic == .data { properties["NotifyAcquired"] = .boolean(false) }
            return properties
        default:
            return nil
        }
    }
}

/// The bytes of an advertisement (Core Specification Supplement, Part A).
enum Advertisement {
    /// Whether the service's UUID and `serviceData` bytes of data for it fit, beside the flags.
    static func fits(serviceData: Int, limit: Int) -> Bool {
        // Each part has a byte of length and one of type; a UUID has 16 bytes.
        let flags = 3
        let serviceUUID = 2 + 16
        return flags + serviceUUID + 2 + 16 + serviceData <= limit && 1 + 16 + serviceData <= 255
    }
}
