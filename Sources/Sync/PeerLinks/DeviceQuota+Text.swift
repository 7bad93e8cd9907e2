import AgentConfiguration
import IndexStore
import Phrases

extension DeviceQuota {
    /// What the device does that is over it.
    package var text: Phrase {
        switch self {
        case .names:
            Phrase("it announces more than \(IndexStore.Quota().entries / 1_000_000) million names in one folder")
        case .nameBytes:
            Phrase("it announces more than \(IndexStore.Quota().bytes >> 30) GiB of names and attributes in one folder")
        case .sharing:
            Phrase("it changes what it shares more than \(Int(ConfigurationQuota.perMinute)) times a minute")
        case .offers: Phrase("it offers more than \(DeviceAllowance.offers) folders at once")
        case .indexSpace: Phrase("it announces very many files while the disk of this device's index is nearly full")
        }
    }

    /// What the device is told.
    var closeReason: Phrase { Phrase("\(text); the device is paused") }

    /// The quota that a device went over, if that is why its index is not stored.
    init?(_ error: IndexStoreError) {
        switch error.code {
        case .tooManyEntries: self = .names
        case .tooManyEntryBytes: self = .nameBytes
        default: return nil
        }
    }
}
