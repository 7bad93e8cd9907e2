import BlockExchange

/// What people ask for in folders that go one way only.
extension Reconciler {
    /// In a folder that only sends, `folder override`: what is here wins over all. Gives what to announce, nil if
    /// nothing needs to be said of the name.
    ///
    /// What is not kept is left alone; what is kept and not here is deleted everywhere.
    public static func override(
        local: LocalVersion?, global: FileInfo?, isKept: Bool, rules: FolderRules, unixSeconds: Int64
    ) -> LocalVersion? {
        guard rules.kind == .sendOnly, isKept, let global, !global.isInvalid else { return nil }
        guard let local else {
            guard !global.isDeleted else { return nil }
            let version = global.version.changed(by: rules.device, besides: [], unixSeconds: unixSeconds)
            let tombstone = global.deleted(by: rules.device, unixSeconds: unixSeconds, version: version)
            return LocalVersion(file: tombstone, isOnDisk: false)
        }
        guard local.isValid, !local.file.hasSeen(global) else { return nil }
        return LocalChanges.keeping(local, over: global, flags: [], rules: rules, unixSeconds: unixSeconds)
    }

    /// In a folder that only receives, `folder revert`: what was changed here becomes the global version again, and
    /// what is only here is deleted. Such a deletion may be of a directory, so the actions belong into a `Plan`.
    ///
    /// A change that is undone by fetching is recorded as older than everything: `decide` then replaces it, without
    /// a conflict copy.
    public static func revert(
        local: LocalVersion?, global: FileInfo?, isKept: Bool, rules: FolderRules
    ) -> Action {
        guard rules.kind == .receiveOnly, isKept, let local, local.flags.contains(.receiveOnlyChanged) else {
            return .nothing
        }
        guard local.flags == .receiveOnlyChanged else { return .blocked(.mustRescan) }
        guard let global, !global.isInvalid else {
            return local.isLive
                ? .delete(local, tombstone: nil, keepsCopy: false) : .forget(local.file.name)
        }
        guard local.isLive else {
            return global.isDeleted ? .record(.current(global)) : .forget(local.file.name)
        }
        if local.file.isEquivalent(to: global, rules: rules) { return .record(.current(global)) }
        var file = local.file
        file.version = VersionVector()
        return .record(LocalVersion(file: file, isOnDisk: true))
    }
}
