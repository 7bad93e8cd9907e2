/// What a dial may do to find the device first.
package enum RadioEffort: Sendable, Equatable {
    /// Nothing: the device was heard a moment ago, or had a link until then.
    case connecting
    /// It scans nearly all of the time until it finds the device, since somebody waits.
    case searching
}

/// A transport over a radio, where finding a device costs airtime and battery.
package protocol RadioTransport: LinkTransport {
    /// Connects as `dial` does, which searches.
    ///
    /// - Throws: `LinkError` with the code `unreachable` at once if the device would have to be searched for and `effort`
    ///   does not allow it; otherwise as `dial`.
    func dial<Output: Sendable>(
        _ address: LinkAddress, _ effort: RadioEffort, timeout: Duration, install: @escaping LinkInstaller<Output>
    ) async throws -> Output

    /// Scans without a pause until it hears one of the devices.
    ///
    /// - Returns: those that it heard; none when `limit` is over.
    /// - Throws: `LinkError` if the radio cannot be used, `CancellationError`.
    func search(for addresses: Set<LinkAddress>, within limit: Duration) async throws -> Set<LinkAddress>
}
