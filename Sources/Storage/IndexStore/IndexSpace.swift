/// How much of the index's disk is free, in bytes.
package struct IndexSpace: Equatable, Sendable {
    package var free: UInt64
    /// Of that, for this device's own changes: with less, nothing of other devices is stored.
    package var kept: UInt64

    package init(free: UInt64, kept: UInt64) {
        self.free = free
        self.kept = kept
    }

    /// Whether what one device announces may soon take what all need.
    package var isLow: Bool { free / 4 < kept }
}
