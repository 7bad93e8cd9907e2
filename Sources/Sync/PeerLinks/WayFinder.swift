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

    /// How long it is of no use to ask again where a device is: who hears of it meanwhile says so.
    package func pause(beforeSeeking device: DeviceID) -> Duration {
        reach?.pause(beforeSeeking: device) ?? .seconds(3600)
    }

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
