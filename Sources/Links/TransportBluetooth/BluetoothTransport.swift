import Logging
import MessageBus
import NIOCore
import NIOPosix
import Transport

/// Links over Bluetooth LE, through the kernel's L2CAP sockets and bluetoothd's GATT.
///
/// The adapter stays bluetoothd's: nothing here speaks HCI. `run` is to be running while anything else is used. A link
/// has no half-closed state: the end of either side's stream ends both, after what it had written was sent.
package final class BluetoothTransport: LegacyTransport, RadioTransport {
    /// Most links that are set up or wait to be taken at the same time.
    private static let setUpLimit = 8

    private let core: BluetoothCore
    private let discovery: Discovery
    private let acceptor: Acceptor
    private let stateContinuation: AsyncStream<BluetoothState>.Continuation
    /// Each new state; when several came at once, the latest only. For one task.
    package let states: AsyncStream<BluetoothState>

    /// - Parameters:
    ///   - group: the event loops that carry the links; the caller shuts them down.
    /// - Throws: `LinkError` when the system gives no descriptors.
    package init(
        configuration: BluetoothConfiguration = BluetoothConfiguration(),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, logger: Logger
    ) throws(LinkError) {
        do throws(SystemError) {
            core = try BluetoothCore(configuration: configuration, group: group, logger: logger)
        } catch {
            throw LinkError(.failed, "Bluetooth cannot be used: \(error)", isTransient: true, cause: error.description)
        }
        discovery = Discovery(client: core.client)
        acceptor = Acceptor(core: core)
        (states, stateContinuation) = AsyncStream.makeStream(
            of: BluetoothState.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Connects to bluetoothd, keeps this device reachable while somebody listens, and recovers from whatever goes away,
    /// until the task is cancelled; `states` says what is wrong. To be called once.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            let (core, acceptor, states) = (core, acceptor, stateContinuation)
            group.addTask { await core.client.bus.run(core.client) }
            group.addTask {
                let published = LastState()
                await ServiceLoop(core: core) { state in
                    guard published.replace(with: state) else { return }
                    core.logger.info("Bluetooth: \(state)", metadata: ["state": "\(state.code.rawValue)"])
                    states.yield(state)
                }.run { acceptor.accept($0, $1) }
            }
            await group.next()
            group.cancelAll()
        }
        stateContinuation.finish()
    }

    /// Whether Bluetooth can be used at this moment, and what to do if not.
    package var state: BluetoothState { core.client.facts.state }

    package func serves(_ address: LinkAddress) -> Bool {
        if case .bluetooth = address { true } else { false }
    }

    /// Connects by an L2CAP channel, or by GATT when there is none or it fails; the link's information says which.
    ///
    /// - Throws: `LinkError`, or what `install` failed with; nothing is left open then. `CancellationError`.
    package func dial<Output: Sendable>(
        _ address: LinkAddress, timeout: Duration, install: @escaping LinkInstaller<Output>
    ) async throws -> Output {
        try await dial(address, .searching, timeout: timeout, install: install)
    }

    /// Connects as `dial` does, with as much of a search as `effort` allows.
    ///
    /// - Throws: `LinkError` (`unreachable` at once if `effort` does not allow the search that it takes), or what
    ///   `install` failed with; nothing is left open then. `CancellationError`.
    package func dial<Output: Sendable>(
        _ address: LinkAddress, _ effort: RadioEffort, timeout: Duration, install: @escaping LinkInstaller<Output>
    ) async throws -> Output {
        try await dial(address, effort, timeout: timeout, isLegacy: false) { channel, information, _ in
            install(channel, information)
        }
    }

    package var legacyDoor: LegacyDoor { core.legacyDoor }

    /// Connects by an L2CAP channel or by GATT, as `dial` does, for GhostDrop's first version.
    ///
    /// - Throws: as `dial`.
    package func dialLegacy<Output: Sendable>(
        _ address: LinkAddress, timeout: Duration, install: @escaping LegacyInstaller<Output>
    ) async throws -> Output {
        try await dial(address, .searching, timeout: timeout, isLegacy: true, install: install)
    }

    private func dial<Output: Sendable>(
        _ address: LinkAddress, _ effort: RadioEffort, timeout: Duration, isLegacy: Bool,
        install: @escaping LegacyInstaller<Output>
    ) async throws -> Output {
        guard case .bluetooth(let text) = address else { throw Self.unsupported(address) }
        guard let peer = BluetoothAddress(text), peer != .any else {
            throw LinkError(.invalidAddress, "\(address) names no device", isTransient: false)
        }
        try Task.checkCancellation()
        return try await Dialler(
            core: core, discovery: discovery, peer: peer, effort: effort, deadline: ContinuousClock.now + timeout,
            isLegacy: isLegacy, install: install
        ).dial()
    }

    /// Accepts links by L2CAP and GATT, and has the device found by others, whenever Bluetooth can be used; `state` says
    /// whether it can. One listener at a time.
    ///
    /// - Parameter address: `ble://00:00:00:00:00:00`, as the adapter is chosen by the configuration.
    /// - Throws: `LinkError` (`unsupportedAddress`; `addressInUse` with another listener).
    package func listen<Output: Sendable>(
        on address: LinkAddress, install: @escaping LinkInstaller<Output>
    ) async throws -> LinkListener<Output> {
        guard case .bluetooth = address else { throw Self.unsupported(address) }
        let accepted = AcceptedLinks<Output>(limit: Self.setUpLimit)
        guard core.sink.fill(LinkSink(accepted, install: install)) else {
            throw LinkError(.addressInUse, "already listening on Bluetooth", isTransient: false)
        }
        core.client.update { $0.isListening = true }
        return LinkListener(address: address, accepted: accepted) { [core] in
            core.sink.empty()
            core.client.update { $0.isListening = false }
            // Advertising ends soon after; nothing more is accepted from here on.
            _ = try? await core.client.value(within: .seconds(6)) { facts in
                facts.socketAdapter == nil && facts.advertisementAdapter == nil ? true : nil
            }
        }
    }

    /// The devices that offer the service and were heard lately.
    package func nearby() -> [NearbyDevice] {
        let facts = core.client.facts
        guard let adapter = facts.adapter else { return [] }
        return NearbyDevice.list(facts.tree.devices(of: adapter.path), now: core.client.now)
    }

    /// Looks for devices for `duration`, and gives those that were heard; on cancellation it throws.
    ///
    /// - Throws: `LinkError` when Bluetooth cannot be used.
    package func scan(for duration: Duration, cycle: DutyCycle = .pairing) async throws -> [NearbyDevice] {
        guard state.isUsable, let adapter = core.client.facts.adapter else { throw LinkError(unusable: state) }
        do {
            let nothing: Bool? = try await discovery.scan(adapter.path, cycle: cycle, limit: duration) { _ in nil }
            assert(nothing == nil)
        } catch let error as BusError {
            throw Self.cannotScan(error)
        }
        return nearby()
    }

    /// Scans until one of the devices is heard; see `RadioTransport`.
    ///
    /// - Throws: `LinkError` if Bluetooth cannot be used; `CancellationError`.
    package func search(for addresses: Set<LinkAddress>, within limit: Duration) async throws -> Set<LinkAddress> {
        let peers = addresses.compactMap { address -> BluetoothAddress? in
            guard case .bluetooth(let text) = address else { return nil }
            return BluetoothAddress(text)
        }
        let (client, start) = (core.client, core.client.now)
        // Right after the agent has started, Bluetooth may take a moment to be ready.
        let adapter = try await client.value(within: limit) { $0.state.isUsable ? $0.adapter : nil }
        guard let adapter else { throw LinkError(unusable: state) }
        do {
            let cycle = DutyCycle(window: limit, interval: limit)
            let heard = try await discovery.scan(adapter.path, cycle: cycle, limit: limit) { facts in
                let heard = facts.heard(peers, by: adapter.path, since: start)
                return heard.isEmpty ? nil : heard
            }
            return Set((heard ?? []).map(\.linkAddress))
        } catch let error as BusError {
            throw Self.cannotScan(error)
        }
    }

    private static func cannotScan(_ error: BusError) -> LinkError {
        LinkError(.failed, "bluetoothd does not scan: \(error)", isTransient: true, cause: error.description)
    }

    private static func unsupported(_ address: LinkAddress) -> LinkError {
        LinkError(
            .unsupportedAddress, "\(address) is not a Bluetooth address; use ble://AA:BB:CC:DD:EE:FF",
            isTransient: false
        )
    }
}
