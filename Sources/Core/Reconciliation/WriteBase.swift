import BlockExchange

/// What a program's write starts from: the version that what it writes succeeds, so that its edit is no conflict. Pure.
package enum WriteBase: Equatable, Sendable {
    /// What this device has of the name: the next scan compares with it.
    case local
    /// The version that others have and this disk has not. It is noted in the index before anything has the name on this disk, as
    /// what was here (`LocalChanges.succeeding`): a scan may come at any moment, and would take what it finds for something new.
    case announced(FileInfo)
    /// Nothing: what is written is new, and conflicts with what others make of the name meanwhile.
    case nothing

    /// - Parameters:
    ///   - isOnDisk: whether something has the name on this disk.
    ///   - local: what the index has of it.
    ///   - global: the winning announcement.
    ///   - isMeant: whether the program knew of `global` when it began to write.
    package init(isOnDisk: Bool, local: LocalVersion?, global: FileInfo?, isMeant: Bool) {
        if isOnDisk {
            self = .local
        } else if let global, !global.isDeleted, !global.isInvalid, isMeant {
            // A live entry of the same version is noted again: what it says of the disk is not so.
            self = .announced(global)
        } else if let local, local.isValid, local.file.isDeleted {
            // Its own deletion is what a new file of that name succeeds.
            self = .local
        } else {
            self = .nothing
        }
    }
}
