import BlockExchange
import Transport

/// Finds nearby devices: says that this device is here, and knows where others were heard.
package protocol DeviceDiscovery: NearbyDevices {
    /// Announces and listens until cancelled. `heard` is called when a device appears or changes its addresses.
    func run(heard: @escaping @Sendable (DeviceID) async -> Void) async
    /// Where a device was heard lately, best first; never waits.
    func addresses(of device: DeviceID) -> [LinkAddress]
    /// What keeps it from working, with the remedy; nil if nothing does.
    var problem: String? { get }
}

/// Makes a discovery for a device, from what it listens on at any moment and whether a device is known to it.
package typealias DeviceDiscoveryMaker =
    @Sendable (
        _ device: DeviceID, _ listening: @escaping @Sendable () -> [LinkAddress],
        _ isKnown: @escaping @Sendable (DeviceID) -> Bool
    ) -> any DeviceDiscovery
