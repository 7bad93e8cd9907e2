import BlockExchange
import ControlAPI
import LinkSecurity
import Transport

/// Reaches devices beyond the local network: asks discovery servers, joins relays, has routers map ports.
///
/// What it finds are hints where to dial; who is there is for the link's TLS to say.
package protocol WideReach: Sendable {
    /// Runs until cancelled. One call.
    func run(_ hooks: WideReachHooks) async
    /// Where discovery servers said that a device is, as addresses of the configuration; never waits.
    ///
    /// - Parameter isSought: Has them asked again in the background, when what they said is old.
    func addresses(of device: DeviceID, isSought: Bool) -> [String]
    /// The same for somebody who waits: asks the discovery servers, and waits for what they say, about 30 s at most.
    func find(_ device: DeviceID) async -> [String]
    /// How long it is of no use to have the servers asked again about a device.
    func pause(beforeSeeking device: DeviceID) -> Duration
    /// Somebody waits for the device, or it has just become known: the servers may be asked at once.
    func expect(_ device: DeviceID)
    /// This machine's addresses or routes have changed, or the system has reported them again.
    func networkChanged() async
    /// Connects to a device through the relay that it has joined.
    ///
    /// - Throws: `LinkError`, or what `install` failed with.
    func dial(
        _ relay: RelayAddress, to device: DeviceID, timeout: Duration, install: @escaping LinkInstaller<SecureLink>
    ) async throws -> SecureLink
    /// What routers map to this device; the host may be left open.
    var mappedAddresses: [LinkAddress] { get }
    /// How it stands with each way, for people.
    var report: ReachReport { get async }
}

/// What a `WideReach` needs of the agent.
package struct WideReachHooks: Sendable {
    /// What is listened on.
    package var listening: @Sendable () -> [LinkAddress]
    /// Makes a link of what arrives over a relay.
    package var install: LinkInstaller<SecureLink>
    /// Runs such a link to its end.
    package var serve: @Sendable (SecureLink) async -> Void
    /// A device's addresses have become known, or changed.
    package var found: @Sendable (DeviceID) async -> Void
    /// Others see this machine at another address than before.
    package var outsideChanged: @Sendable () async -> Void
    package var isKnown: @Sendable (DeviceID) -> Bool
    /// Whether links from an unknown device are never served.
    package var isIgnored: @Sendable (DeviceID) -> Bool

    package init(
        listening: @escaping @Sendable () -> [LinkAddress], install: @escaping LinkInstaller<SecureLink>,
        serve: @escaping @Sendable (SecureLink) async -> Void, found: @escaping @Sendable (DeviceID) async -> Void,
        outsideChanged: @escaping @Sendable () async -> Void,
        isKnown: @escaping @Sendable (DeviceID) -> Bool, isIgnored: @escaping @Sendable (DeviceID) -> Bool
    ) {
        self.listening = listening
        self.install = install
        self.serve = serve
        self.found = found
        self.outsideChanged = outsideChanged
        self.isKnown = isKnown
        self.isIgnored = isIgnored
    }
}

/// Makes it for the device of an identity.
package typealias WideReachMaker = @Sendable (LinkIdentity) throws -> any WideReach
