import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import FileAccess
import GhostDrop
import Logging
import PeerLinks
import Transport

/// What transfers need of the agent around them.
package struct DropEnvironment: Sendable {
    package var registry: DropRegistry
    package var devices: DeviceRegistry
    /// The paired devices.
    package var known: @Sendable () -> [DeviceConfiguration]
    /// The file that `FOLDER:path` names. Throws `ControlError`.
    package var folderFile: @Sendable (String) async throws -> FolderFile
    package var transports: [any LegacyTransport]
    package var nearby: [any NearbyDevices]
    /// Runs something to its end though the request that began it is over.
    package var start: @Sendable (@escaping @Sendable () async -> Void) -> Void
    package var threads: any DiskThreads
    package var space: SpaceReservations
    package var time: AgentTime
    package var logger: Logger

    package init(
        registry: DropRegistry, devices: DeviceRegistry, known: @escaping @Sendable () -> [DeviceConfiguration],
        folderFile: @escaping @Sendable (String) async throws -> FolderFile,
        transports: [any LegacyTransport], nearby: [any NearbyDevices],
        start: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void, threads: any DiskThreads,
        space: SpaceReservations, time: AgentTime, logger: Logger
    ) {
        self.registry = registry
        self.devices = devices
        self.known = known
        self.folderFile = folderFile
        self.transports = transports
        self.nearby = nearby
        self.start = start
        self.threads = threads
        self.space = space
        self.time = time
        self.logger = logger
    }

    package func now() -> Duration { time.monotonic() }

    package func name(of device: DeviceID) -> String? {
        known().first { $0.id == device }.flatMap { $0.name.isEmpty ? nil : $0.name }
    }

    /// Why no link to a paired device comes, however long it is waited for; nil if one may.
    func obstacle(to device: DeviceID) -> ControlError? {
        guard let known = known().first(where: { $0.id == device }), known.isPaused else { return nil }
        let reference = known.name.isEmpty ? device.description : known.name
        return ControlError(
            .linkLost,
            "\(name(of: device) ?? "\(device.shortID)") is paused here; `synctrain resume --device \(ShellWord.quoted(reference))` "
                + "resumes it.")
    }

    /// What is known nearby of the device at an address.
    func nearbyName(at address: String) -> String? {
        nearby.lazy.flatMap(\.nearby).first { $0.address.description == address }?.name.map { String($0.prefix(64)) }
    }

    package func peer(of session: PeerSession) -> DropPeer {
        DropPeer(
            device: session.device.description, name: name(of: session.device),
            address: session.information.remoteAddress, transport: session.information.kind.rawValue)
    }

    package func peer(of link: LegacyLink) -> DropPeer {
        DropPeer(
            name: nearbyName(at: link.information.remoteAddress), address: link.information.remoteAddress,
            transport: link.information.kind.rawValue)
    }

    /// Runs what waits for the disk.
    func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await threads.runIfActive(body)
    }

    /// Keeps what has come of a file, for another attempt.
    func suspend(_ file: IncomingFile) async {
        // The pool lives as long as the program. It does nothing for a task that is cancelled.
        let keep: @Sendable () async -> Void = { [threads] in try? await threads.runIfActive { file.suspend() } }
        if Task.isCancelled { start(keep) } else { await keep() }
    }

    /// What this device says of itself in v1.
    package static let capabilities = Capabilities(supportsL2CAP: true)
}

/// How long something takes, for people.
extension Duration {
    var inSeconds: Double { self / .seconds(1) }
}
