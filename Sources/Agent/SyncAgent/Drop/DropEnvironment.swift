import AgentConfiguration
import BlockExchange
import ControlAPI
import GhostDrop
import Logging
import Transport

/// What transfers need of the agent around them.
struct DropEnvironment: Sendable {
    var registry: DropRegistry
    var devices: DeviceRegistry
    /// The paired devices.
    var known: @Sendable () -> [DeviceConfiguration]
    var transports: [any LegacyTransport]
    var nearby: [any NearbyDevices]
    /// Runs something to its end though the request that began it is over.
    var start: @Sendable (@escaping @Sendable () async -> Void) -> Void
    var threads: any DiskThreads
    var time: AgentTime
    var logger: Logger

    func now() -> Duration { time.monotonic() }

    func name(of device: DeviceID) -> String? {
        known().first { $0.id == device }.flatMap { $0.name.isEmpty ? nil : $0.name }
    }

    /// What is known near-by of the device at an address.
    func nearbyName(at address: String) -> String? {
        nearby.lazy.flatMap(\.nearby).first { $0.address.description == address }?.name.map { String($0.prefix(64)) }
    }

    func peer(of session: PeerSession) -> DropPeer {
        DropPeer(
            device: session.device.description, name: name(of: session.device),
            address: session.information.remoteAddress, transport: session.information.kind.rawValue)
    }

    func peer(of link: LegacyLink) -> DropPeer {
        DropPeer(
            name: nearbyName(at: link.information.remoteAddress), address: link.information.remoteAddress,
            transport: link.information.kind.rawValue)
    }

    /// What this device says of itself in v1.
    static let capabilities = Capabilities(supportsL2CAP: true)
}

/// How long something takes, for people.
extension Duration {
    var inSeconds: Double { self / .seconds(1) }
}
