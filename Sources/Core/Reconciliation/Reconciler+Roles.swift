import BlockExchange

/// What people ask for in folders that go one way only.
extension Reconciler {
    /// In a folder that only sends, `folder override`: what is here wins over all. Gives what to announce, nil if
    /// nothing needs to be said of the name.
    ///
    /// What is not kept is left alone; what is kept and not here is deleted everywhere.
    package static func override(
        local: LocalVersion?, global: FileInfo?, isKept: Bool, rules: FolderRules, unixSeconds: Int64
    ) -> LocalVersion? {
        guard rules.kind == .sendOnly, isKept, let global, !global.isInvalid else { return nil }
        guard let local else {
            guard !global.isDeleted else { return nil }
            let version = global.version.changed(by: rules.author, besides: [], unixSeconds: unixSeconds)
            let tombstone = global.deleted(by: rules.device, unixSeconds: unixSeconds, version: version)
            return LocalVersion(file: tombstone, isOnDisk: false)
        }
        guard local.isValid, !local.file.hasSeen(global) else { return nil }
        return LocalChanges.keeping(local, over: global, flags: [], rules: rules, unixSeconds: unixSeconds)
    }

    /// In a folder that only receives, `folder revert`: what was changed here becomes the global version again, and
    /// what is only here is deleted. Nothing is kept as a conflict copy. The actions belong into a `Plan`; what could
    /// not be carried out, because nobody could be asked for the content, stays as it is and can be reverted again.
    package static func revert(
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
        return become(global, local: local, keepsCopy: false, rules: rules)
    }
}
