/// What a device may cost this one, by its word in `config.toml`. The agent pauses a device that goes over one of them;
/// docs/decisions/quotas.md has the bounds.
package enum DeviceQuota: String, Sendable, CaseIterable {
    /// Names that it announces in one folder.
    case names
    /// Bytes of names, versions and carried fields that it announces in one folder.
    case nameBytes = "name-bytes"
    /// How often it changes what it shares.
    case sharing
    /// Folders that it offers at once.
    case offers
    /// Bytes of its indexes while the disk of the index is low.
    case indexSpace = "index-space"
}
