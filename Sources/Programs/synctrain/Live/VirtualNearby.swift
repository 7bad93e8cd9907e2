import Synchronization
import Transport
import TransportVirtual

/// The devices that advertise on a virtual radio, for pairing with one of them.
final class VirtualNearby: NearbyDevices {
    private static let pause = Duration.seconds(1)

    private let transport: VirtualTransport
    private let seen = Mutex<[Transport.NearbyDevice]>([])

    init(_ transport: VirtualTransport) { self.transport = transport }

    func lookAround() async {
        while !Task.isCancelled {
            // With no air there is nobody; it may come.
            let devices = (try? await transport.nearby()) ?? []
            seen.withLock { seen in
                seen = devices.map { device in
                    Transport.NearbyDevice(
                        name: device.name, address: .virtual(device.name),
                        kind: device.modes.contains(.l2cap) ? .l2cap : .gatt, signal: device.signal)
                }
            }
            try? await Task.sleep(for: Self.pause)
        }
    }

    var nearby: [Transport.NearbyDevice] { seen.withLock { $0 } }
}
