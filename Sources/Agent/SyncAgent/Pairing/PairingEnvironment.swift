import AgentContext
import BlockExchange
import ControlAPI
import LinkSecurity
import Logging
import Pairing
import Transport

/// A device that both users have confirmed.
struct PairedDevice: Sendable, Equatable {
    var id: DeviceID
    var name: String
    /// As the configuration has them.
    var addresses: [String]
    /// To be shared with it.
    var folders: [FolderID]
}

/// What is dialled to pair.
enum PairingTarget: Sendable, Equatable {
    case address(LinkAddress)
    /// Wherever discovery finds it.
    case device(DeviceID)
}

/// Where devices are searched for, as the agent was started.
struct SearchScope: Sendable, Equatable {
    /// By local discovery.
    var network = true
    /// By discovery servers.
    var servers = true

    var isEmpty: Bool { !network && !servers }
}

/// What a pairing needs of the agent around it.
struct PairingEnvironment: Sendable {
    var localDevice: DeviceID
    /// What the other device is told once both users have confirmed.
    var introduction: @Sendable () -> PairingIntroduction
    /// What a device in the configuration is called; nil if it is not in it.
    var knownName: @Sendable (DeviceID) -> String?
    /// Connects for pairing. Throws `LinkError`, `LinkSecurityError` or `CancellationError`.
    var dial: @Sendable (LinkAddress) async throws -> SecureLink
    /// Where `find` searches.
    var scope: SearchScope
    /// Where others say that a device is.
    var find: @Sendable (DeviceID) async -> [LinkAddress]
    /// Connects for pairing to a device at one of these addresses. Throws as `dial`.
    var connect: @Sendable (DeviceID, [LinkAddress]) async throws -> SecureLink
    /// Writes the device, and the folders shared with it, to the configuration.
    var store: @Sendable (PairedDevice) async throws -> Void
    /// Both have stored each other: they may speak BEP at once.
    var paired: @Sendable (DeviceID) async -> Void
    var nearby: [any NearbyDevices]
    var nonce: @Sendable () -> PairingNonce
    var events: EventHub
    var time: AgentTime
    var logger: Logger

    /// Anybody may announce anything: what is shown to a person has an end.
    private static let nearbyLimit = 50

    /// What a device is called in the configuration, or calls itself nearby; nil if neither is known.
    func name(_ device: DeviceID) -> String? {
        let names = [knownName(device), nearbyEntries().first { $0.device == device.description }?.name]
        return names.lazy.compactMap { $0 }.first { !$0.isEmpty }
    }

    func nearbyEntries() -> [NearbyEntry] {
        nearby.flatMap(\.nearby).prefix(Self.nearbyLimit).map { device in
            let id = device.id.flatMap { try? DeviceID(parsing: $0) }
            return NearbyEntry(
                device: device.id, name: device.name.map { String($0.prefix(64)) }, address: device.address.description,
                transport: device.kind.rawValue, signal: device.signal, isKnown: id.flatMap(knownName) != nil)
        }
    }
}
