import Synchronization
import Transport

/// A device that offers the service.
package struct NearbyDevice: Equatable, Sendable {
    /// What to dial. An address that the device changes every few minutes is not worth keeping.
    package var address: LinkAddress
    /// What the device calls itself, if it does.
    package var name: String?
    /// Strength of its signal in dBm; nil when it is not known.
    package var signal: Int?
    /// How long ago it was heard.
    package var age: Duration

    /// How long a device counts as near after it was heard.
    static let lifetime = Duration.seconds(60)

    /// Those of bluetoothd's devices that are near at `now`, the strongest first.
    static func list(_ devices: [ObjectTree.Device], now: Duration) -> [NearbyDevice] {
        devices.compactMap { device -> NearbyDevice? in
            guard device.hasSurface || device.serviceData != nil, let lastSeen = device.lastSeen,
                now - lastSeen <= lifetime
            else { return nil }
            return NearbyDevice(
                address: device.address.linkAddress, name: device.name, signal: device.signal, age: now - lastSeen)
        }.sorted { ($0.signal ?? -128, $1.address.description) > ($1.signal ?? -128, $0.address.description) }
    }
}

/// The state that was told last.
final class LastState: Sendable {
    private let state = Mutex<BluetoothState?>(nil)

    /// False if it is the same.
    func replace(with new: BluetoothState) -> Bool {
        state.withLock { state in
            defer { state = new }
            return state != new
        }
    }
}
