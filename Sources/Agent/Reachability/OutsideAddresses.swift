import Transport

/// By which addresses others see this machine, as its routers tell: a home whose line was given another one, a train's router at
/// the next mast. Pure.
struct OutsideAddresses {
    /// The last that were told; routers that tell none in between may have restarted.
    private var known: Set<[UInt8]> = []

    /// Whether links to the outside may have lost their path: an address that was there is gone.
    mutating func hasMoved(to mapped: [LinkAddress]) -> Bool {
        let hosts = Set(mapped.compactMap(\.ipAddress).filter { !$0.isUnspecified }.map(\.bytes))
        guard !hosts.isEmpty else { return false }
        defer { known = hosts }
        return !known.isSubset(of: hosts)
    }
}
