import BlockExchange

/// Decides what to do so that this device has the global version of what it keeps.
package enum Reconciler {
    /// What to do about one name.
    ///
    /// Nothing here compares file content but by `blocksHash`: `local` and `global` must come with it.
    ///
    /// - parameters:
    ///   - local: what this device has.
    ///   - global: the winner of all announcements, `local` included; the decision does not question it.
    ///   - isKept: whether the name is selected, or a directory above something selected.
    ///   - unixSeconds: now, for what is announced because of a policy.
    package static func decide(
        local: LocalVersion?, global: FileInfo?, isKept: Bool, rules: FolderRules, unixSeconds: Int64
    ) -> Action {
        guard let global, !global.isInvalid else { return .nothing }
        guard isKept else { return leaveOut(local: local, global: global) }
        guard let local else { return decideWithoutLocal(global, rules: rules) }
        if let versioned = LocalChanges.givingVersion(to: local, global: global, rules: rules, unixSeconds: unixSeconds)
        {
            return .record(versioned)
        }
        if rules.kind == .sendOnly { return decideSendOnly(local: local, global: global, rules: rules) }

        if local.flags.isEmpty || local.flags == .receiveOnlyChanged {
            // A local change of a folder that only receives stays until it is reverted or the global version changes.
            if local.file.hasSeen(global) { return .nothing }
        } else if local.isOnDisk {
            return .blocked(local.flags.contains(.unsupported) ? .unsupported : .mustRescan)
        }
        if let insisted = LocalChanges.insisting(local, on: global, rules: rules, unixSeconds: unixSeconds) {
            return .record(insisted)
        }
        let keepsCopy =
            isConflict(local: local, global: global) && rules.conflictLimit != 0
            && !(rules.conflictPolicy == .theirs && rules.kind == .sendReceive && !global.isDeleted)
        return become(global, local: local, keepsCopy: keepsCopy, rules: rules)
    }

    /// What makes the global version of what is here.
    static func become(_ announced: FileInfo, local: LocalVersion, keepsCopy: Bool, rules: FolderRules) -> Action {
        let global = announced.takenOver(by: rules.device)
        guard local.isLive else {
            return global.isDeleted ? .record(.current(global)) : place(global, replacing: .nothing)
        }
        if local.file.hasSameContent(as: global) {
            var change = local.file.metadataChange(to: global, rules: rules)
            if local.file.hasUnknownAttributes(wantedBy: global, rules: rules.attributes) { change.insert(.attributes) }
            // Times that are close may be shown as two: a disk is told the one that the index will have.
            if global.kind == .file, !local.file.isModified(atTimeOf: global) { change.insert(.modificationTime) }
            return change.isEmpty ? .record(.current(global)) : .adopt(global, over: local, changing: change)
        }
        if global.isDeleted { return .delete(local, tombstone: global, keepsCopy: keepsCopy) }
        return place(global, replacing: keepsCopy ? .conflicting(local) : .replaced(local))
    }

    /// Whether the global version would replace a file that its author has not seen. An empty version says that of a
    /// file that never was part of the cluster; every vector is later than that.
    static func isConflict(local: LocalVersion, global: FileInfo) -> Bool {
        guard local.file.kind == .file, local.file.version.isEmpty || !global.hasSeen(local.file) else { return false }
        guard global.kind == .file, !global.isDeleted, let started = global.previousBlocksHash else { return true }
        // Versions are concurrent, but the change was made to the very content that is here.
        return started != local.file.blocksHash
    }

    /// What is not selected is neither fetched nor deleted. What of it is on this disk is announced as every other
    /// name that is not selected: with the global version, and not vouched for.
    private static func leaveOut(local: LocalVersion?, global: FileInfo) -> Action {
        guard let local else { return .nothing }
        guard local.isLive else { return .forget(global.name) }
        let hasVersion = local.file.version == global.version
        if hasVersion, local.flags == .ignored { return .nothing }
        // Where the file on disk may not be what the version stands for, its content must not be taken for it.
        let isKnown = hasVersion && local.flags.isDisjoint(with: [.mustRescan, .unsupported])
        var file = isKnown ? local.file : local.file.withoutContent
        file.version = global.version
        return .record(LocalVersion(file: file, flags: .ignored, isOnDisk: true))
    }

    private static func decideWithoutLocal(_ global: FileInfo, rules: FolderRules) -> Action {
        // A deletion of what was never here is nothing to this device.
        if global.isDeleted || rules.kind == .sendOnly { return .nothing }
        return place(global, replacing: .nothing)
    }

    /// A folder that only sends takes over the version of what is the same anyway.
    private static func decideSendOnly(local: LocalVersion, global: FileInfo, rules: FolderRules) -> Action {
        guard local.isValid, !local.file.hasSeen(global) else { return .nothing }
        let isSame =
            local.isLive
            ? local.file.isEquivalent(to: global, rules: rules) : local.file.isDeleted && global.isDeleted
        return isSame ? .record(.current(global)) : .nothing
    }

    private static func place(_ global: FileInfo, replacing occupant: Occupant) -> Action {
        switch global.kind {
        case .file: .fetch(global, replacing: occupant)
        case .directory: .makeDirectory(global, replacing: occupant)
        case .symlink, .symlinkToFile, .symlinkToDirectory: .makeSymlink(global, replacing: occupant)
        }
    }
}

extension FileInfo {
    /// What another device announced, as `device` takes it over. A deletion of which that one says that `device` made it was not made
    /// here, as far as is known here: so `device` did not want it, and insists on it towards nobody.
    func takenOver(by device: ShortID) -> FileInfo {
        guard isDeleted, modifiedBy == device else { return self }
        var file = self
        file.noteRenamedAway()
        return file
    }
}
