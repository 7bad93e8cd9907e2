import BlockExchange
import IndexStore
import Phrases

/// What devices announced of a folder that could not be stored, for as long as it is missing. Pure.
struct IndexGaps: Sendable {
    /// The last sequence that each device has said it has.
    private var ends: [DeviceID: Int64] = [:]
    private var reasons: [DeviceID: Phrase] = [:]

    /// The links' talk of indexes says what is known of the device's, and how far it goes.
    mutating func exchange(with device: DeviceID, known: Int64, announced: Int64) {
        ends[device] = announced
        if known >= announced { reasons[device] = nil }
    }

    mutating func failed(from device: DeviceID, reason: Phrase) { reasons[device] = reason }

    /// All that the device announced up to `sequence` is stored.
    mutating func stored(from device: DeviceID, through sequence: Int64) {
        if sequence >= ends[device] ?? 0 { reasons[device] = nil }
    }

    /// Why something of these devices is missing; nil if nothing is.
    func reason(among devices: [DeviceID]) -> Phrase? { devices.lazy.compactMap { reasons[$0] }.first }
}

extension IndexStoreError {
    /// Whether the index could not be used, and not only what was asked of it.
    package var isAboutStoring: Bool { code != .noSuchFolder }

    /// Whether the device announces more than it may, and nothing is the matter with the index.
    package var isOverQuota: Bool { code == .tooManyEntries || code == .tooManyEntryBytes }
}
