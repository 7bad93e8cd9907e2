import MessageBus

/// What bluetoothd has told about adapters, devices and their characteristics.
///
/// Only what is used is kept, so that a crowd of devices costs little.
package struct ObjectTree: Equatable, Sendable {
    package struct Adapter: Equatable, Sendable {
        package var path: String
        package var address: BluetoothAddress
        package var addressKind: BluetoothAddressKind
        package var isPowered: Bool
        /// `off-blocked` and others; nil before BlueZ 5.67.
        package var powerState: String?
        package var canAdvertise: Bool
        package var canServe: Bool
        /// Bytes of an advertisement; 31 unless the adapter has extended advertising.
        package var advertisementLimit: Int

        /// `hci0`.
        package var name: String { path.split(separator: "/").last.map(String.init) ?? path }
    }

    package struct Device: Equatable, Sendable {
        package var path: String
        package var address: BluetoothAddress
        package var addressKind: BluetoothAddressKind
        package var adapter: String
        package var name: String?
        package var isConnected: Bool
        package var isResolved: Bool
        package var hasSurface: Bool
        /// In dBm; nil when it is not in sight at the moment.
        package var signal: Int?
        /// Service data of the surface's UUID.
        package var serviceData: [UInt8]?
        /// When an advertisement of it was heard last, on the clock of `apply`.
        package var lastSeen: Duration?
    }

    private typealias Properties = [String: BusValue]

    /// Path, then interface, then property.
    private var objects: [String: [String: Properties]] = [:]
    private var lastSeen: [String: Duration] = [:]

    private static let kept: [String: Set<String>] = [
        BlueZ.adapter: ["Address", "AddressType", "Powered", "PowerState"],
        BlueZ.device: [
            "Address", "AddressType", "Adapter", "Name", "Connected", "ServicesResolved", "UUIDs", "RSSI",
            "ServiceData",
        ],
        BlueZ.remoteService: ["UUID"],
        BlueZ.characteristic: ["UUID", "Flags", "MTU"],
        BlueZ.applications: [],
        BlueZ.advertising: ["SupportedCapabilities"],
    ]

    package init() {}

    /// Takes the answer of `GetManagedObjects` for all there is.
    package mutating func replace(with answer: [BusValue], at now: Duration) {
        self = ObjectTree()
        guard let objects = answer.first?.members else { return }
        for (path, interfaces) in objects { add(interfaces, at: path, now: now) }
    }

    /// Follows a signal of bluetoothd. Gives whether it was about something that is kept.
    @discardableResult
    package mutating func apply(_ signal: BusNotice, at now: Duration) -> Bool {
        let arguments = signal.arguments
        switch (signal.interface, signal.member) {
        case (BlueZ.objects, "InterfacesAdded"):
            guard arguments.count == 2, let path = arguments[0].text else { return false }
            return add(arguments[1], at: path, now: now)
        case (BlueZ.objects, "InterfacesRemoved"):
            guard arguments.count == 2, let path = arguments[0].text, let interfaces = arguments[1].texts else {
                return false
            }
            for interface in interfaces { objects[path]?[interface] = nil }
            if objects[path]?.isEmpty == true {
                objects[path] = nil
                lastSeen[path] = nil
            }
            return true
        case (BlueZ.properties, "PropertiesChanged"):
            guard arguments.count == 3, let interface = arguments[0].text, let changed = arguments[1].members,
                let names = Self.kept[interface], objects[signal.path]?[interface] != nil
            else { return false }
            for (name, value) in changed where names.contains(name) {
                objects[signal.path]?[interface]?[name] = value
            }
            for name in arguments[2].texts ?? [] { objects[signal.path]?[interface]?[name] = nil }
            if changed["RSSI"] != nil { lastSeen[signal.path] = now }
            return true
        default:
            return false
        }
    }

    @discardableResult
    private mutating func add(_ interfaces: BusValue, at path: String, now: Duration) -> Bool {
        var isKept = false
        for (interface, properties) in interfaces.members ?? [:] {
            guard let names = Self.kept[interface], let properties = properties.members else { continue }
            objects[path, default: [:]][interface] = properties.filter { names.contains($0.key) }
            if interface == BlueZ.device, properties["RSSI"] != nil { lastSeen[path] = now }
            isKept = true
        }
        return isKept
    }

    // MARK: reading

    /// All adapters, in the order of their paths.
    package var adapters: [Adapter] {
        objects.compactMap { path, interfaces in
            guard let properties = interfaces[BlueZ.adapter],
                let address = properties["Address"]?.text.flatMap({ BluetoothAddress($0) })
            else { return nil }
            let limits = interfaces[BlueZ.advertising]?["SupportedCapabilities"]?.members
            return Adapter(
                path: path, address: address, addressKind: Self.kind(properties),
                isPowered: properties["Powered"]?.flag == true, powerState: properties["PowerState"]?.text,
                canAdvertise: interfaces[BlueZ.advertising] != nil, canServe: interfaces[BlueZ.applications] != nil,
                advertisementLimit: limits?["MaxAdvLen"]?.number ?? 31)
        }.sorted { $0.path < $1.path }
    }

    /// The devices that an adapter knows, in the order of their paths.
    package func devices(of adapter: String) -> [Device] {
        objects.keys.filter { $0.hasPrefix(adapter + "/") }.sorted().compactMap { device(at: $0) }
    }

    package func device(_ address: BluetoothAddress, of adapter: String) -> Device? {
        device(at: Self.devicePath(address, of: adapter))
    }

    /// Where bluetoothd has a device, if it knows it.
    package static func devicePath(_ address: BluetoothAddress, of adapter: String) -> String {
        adapter + "/dev_" + address.description.replacing(":", with: "_")
    }

    package func device(at path: String) -> Device? {
        guard let properties = objects[path]?[BlueZ.device],
            let address = properties["Address"]?.text.flatMap({ BluetoothAddress($0) })
        else { return nil }
        return Device(
            path: path, address: address, addressKind: Self.kind(properties),
            adapter: properties["Adapter"]?.text ?? "",
            name: properties["Name"]?.text, isConnected: properties["Connected"]?.flag == true,
            isResolved: properties["ServicesResolved"]?.flag == true,
            hasSurface: properties["UUIDs"]?.texts?.contains { $0.lowercased() == SurfaceUUID.service } == true,
            // 127 stands for unknown (Core Specification Vol 4, Part E, 7.7.65.2).
            signal: properties["RSSI"]?.number.flatMap { $0 == 127 ? nil : $0 },
            serviceData: properties["ServiceData"]?.members?.first { $0.key.lowercased() == SurfaceUUID.service }?
                .value.data,
            lastSeen: lastSeen[path])
    }

    /// The path of a device's characteristic, below the surface's service.
    package func characteristic(_ uuid: String, of device: String) -> String? {
        objects.keys.filter { path in
            guard path.hasPrefix(device + "/"),
                objects[path]?[BlueZ.characteristic]?["UUID"]?.text?.lowercased() == uuid
            else { return false }
            let service = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
            return objects[service]?[BlueZ.remoteService]?["UUID"]?.text?.lowercased() == SurfaceUUID.service
        }.min()
    }

    /// Of the link that a characteristic is reached by; nil before BlueZ 5.62.
    package func mtu(ofCharacteristic path: String) -> Int? { objects[path]?[BlueZ.characteristic]?["MTU"]?.number }

    private static func kind(_ properties: Properties) -> BluetoothAddressKind {
        properties["AddressType"]?.text.flatMap { BluetoothAddressKind(rawValue: $0) } ?? .public
    }
}
