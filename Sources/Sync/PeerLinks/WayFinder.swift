import AgentConfiguration
import AgentContext
import BlockExchange
import LinkRules
import LinkSecurity
import Transport

/// Knows where devices are said to be, and dials them by whatever serves the address.
package struct WayFinder: Sendable {
    private let dialer: LinkDialer
    private let discovery: (any DeviceDiscovery)?
    private let reach: (any WideReach)?
    private let proxyUse: ProxyUse
    private let configuration: RunningConfiguration
    private let held: @Sendable () -> HeldTransfers

    package init(
        dialer: LinkDialer, discovery: (any DeviceDiscovery)?, reach: (any WideReach)?, proxyUse: ProxyUse,
        configuration: RunningConfiguration, held: @escaping @Sendable () -> HeldTransfers
    ) {
        self.dialer = dialer
        self.discovery = discovery
        self.reach = reach
        self.proxyUse = proxyUse
        self.configuration = configuration
        self.held = held
    }

    /// Where others than the user say that a device is.
    ///
    /// - Parameter isSought: whether it is worth asking the discovery servers again.
    package func addresses(of device: DeviceID, isSought: Bool) -> [AddressSource: [String]] {
        [
            .local: discovery?.addresses(of: device).map(\.description) ?? [],
            .global: reach?.addresses(of: device, isSought: isSought) ?? [],
        ]
    }

    /// Where others say that a device is, direct addresses first; asks the discovery servers and waits for them, about 30 s at most.
    package func find(_ device: DeviceID) async -> [LinkAddress] {
        let servers = await reach?.find(device) ?? []
        let local = discovery?.addresses(of: device).map(\.description) ?? []
        return policy.targets([.local: local, .global: servers]).compactMap { try? LinkAddress(parsing: $0.text) }
    }

    /// Connects to a device at the first of these addresses that leads to it. Each is dialled a moment after the one before, so
    /// that one that does not answer holds up nothing.
    ///
    /// - Returns: the link, and the address that led to it.
    /// - Throws: `CancellationError`, or what the last dial failed with: `LinkError` or what `install` throws. Without an address, or
    ///   where only other devices answer, `LinkError.failed`.
    package func connect(
        to device: DeviceID, at addresses: [LinkAddress], clock: any Clock<Duration>,
        install: @escaping LinkInstaller<SecureLink>
    ) async throws -> (SecureLink, LinkAddress) {
        typealias Dial = (address: LinkAddress, result: Result<SecureLink, any Error>)
        let limit = 16
        return try await withThrowingTaskGroup(of: Dial.self) { group in
            for (number, address) in addresses.prefix(limit).enumerated() {
                group.addTask {
                    do {
                        try await clock.sleep(for: Self.stagger * number)
                        return (address, .success(try await dial(address, .searching, to: device, install: install)))
                    } catch {
                        return (address, .failure(error))
                    }
                }
            }
            var found: (SecureLink, LinkAddress)?
            var last: any Error = LinkError(.failed, "no other address is known", isTransient: true)
            while let (address, result) = await group.nextResult().flatMap({ try? $0.get() }) {
                switch result {
                case .success(let link) where found == nil && link.peer == device:
                    found = (link, address)
                    group.cancelAll()
                case .success(let link):
                    if link.peer != device {
                        last = LinkError(.failed, "another device answers at \(address)", isTransient: true)
                    }
                    await link.close()
                case .failure(let error): if !(error is CancellationError) { last = error }
                }
            }
            if let found { return found }
            try Task.checkCancellation()
            throw last
        }
    }

    /// How long after one address the next is dialled (RFC 8305 section 5).
    private static let stagger: Duration = .milliseconds(250)

    /// How long it is of no use to ask again where a device is: who hears of it meanwhile says so.
    package func pause(beforeSeeking device: DeviceID) -> Duration {
        reach?.pause(beforeSeeking: device) ?? .seconds(3600)
    }

    /// A person waits for the device: the discovery servers may be asked about it at once.
    package func expect(_ device: DeviceID) { reach?.expect(device) }

    /// What may be dialled, as far as that is the same for all devices.
    package var policy: DialPolicy {
        let current = configuration.current
        var policy = DialPolicy()
        policy.allowsRelays = current.relays.isEnabled && reach != nil
        policy.allowsDirect = proxyUse != .only
        policy.hasProxy = proxyUse != .none
        return policy
    }

    /// Connects to a device at an address.
    ///
    /// - Parameter effort: what may be done to find a device on a radio first.
    /// - Throws: `LinkError`, or what `install` failed with.
    package func dial(
        _ address: LinkAddress, _ effort: RadioEffort, to device: DeviceID, install: @escaping LinkInstaller<SecureLink>
    ) async throws -> SecureLink {
        guard case .relay(let relay) = address else { return try await dialer.dial(address, effort, install: install) }
        guard let reach else {
            throw LinkError(.unsupportedAddress, "relays are switched off", isTransient: false)
        }
        return try await reach.dial(relay, to: device, timeout: LinkDialer.relayTimeout, install: install)
    }
}
