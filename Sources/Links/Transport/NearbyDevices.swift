/// A device that can be reached without being configured, as whoever found it knows it.
package struct NearbyDevice: Sendable, Hashable {
    /// The device's id, if what it sends has it.
    package var id: String?
    /// What it calls itself, if it says so to strangers. Text of somebody else: to be escaped before it is shown.
    package var name: String?
    package var address: LinkAddress
    package var kind: LinkKind
    /// Signal strength in dBm; nil where there is none.
    package var signal: Int?

    package init(id: String? = nil, name: String? = nil, address: LinkAddress, kind: LinkKind, signal: Int? = nil) {
        self.id = id
        self.name = name
        self.address = address
        self.kind = kind
        self.signal = signal
    }
}

/// Finds nearby devices to pair with.
package protocol NearbyDevices: Sendable {
    /// Runs while the user pairs, until cancelled: looks for devices, and lets this one be found by others that do, where
    /// either takes more than is always done. May return early if there is nothing to do. One call at a time.
    func lookAround() async
    /// Those seen of late; never waits.
    var nearby: [NearbyDevice] { get }
}
