import BlockExchange
import Cryptography

/// What this device announces although nothing has changed on its disk.
extension LocalChanges {
    /// What to announce when another device announces a deletion that a concurrent change here wins over: the file as it
    /// is, in a version that has seen the deletion too. Nil if nothing needs to be said.
    ///
    /// Devices do not agree on who wins: by the rule followed here (and by Syncthing 1.x) what is not deleted does, by
    /// Syncthing 2's whatever is later. Without this a device of the other rule would stay with the deletion for ever.
    ///
    /// - parameter deletion: what one other device announces, winning or not.
    package static func outliving(
        _ deletion: FileInfo, local: LocalVersion?, rules: FolderRules, unixSeconds: Int64
    ) -> LocalVersion? {
        guard rules.kind == .sendReceive, let local, local.isValid, local.isLive, deletion.isDeleted,
            !deletion.isInvalid, local.file.version.compare(deletion.version).isConcurrent,
            (deletion.modifiedSeconds, deletion.modifiedNanoseconds)
                >= (local.file.modifiedSeconds, local.file.modifiedNanoseconds)
        else { return nil }
        return keeping(local, over: deletion, flags: [], rules: rules, unixSeconds: unixSeconds)
    }

    /// What to announce of something here that has an empty version, to yield to what others have, where nobody announces anything of
    /// the name but with an empty version too: a version, without which no other device would ask for it. Nil where that is not so.
    ///
    /// Its counter is nobody's: what a device still has, and announces again later, it has not seen.
    static func givingVersion(
        to local: LocalVersion, global: FileInfo, rules: FolderRules, unixSeconds: Int64
    ) -> LocalVersion? {
        guard local.isLive, local.flags.isEmpty, local.file.version.isEmpty, global.version.isEmpty else { return nil }
        var file = local.file
        let facts = """
            \(rules.device.rawValue) \(unixSeconds) \(file.modifiedSeconds) \(file.modifiedNanoseconds) \(file.size) \(file.name)
            """
        let digest = SHA256.digest(Array(facts.utf8))
        let counter = ShortID(rawValue: max(1, digest.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }))
        file.version = VersionVector().changed(by: counter, besides: [], unixSeconds: unixSeconds)
        file.modifiedBy = rules.device
        return LocalVersion(file: file, flags: rules.kind == .receiveOnly ? .receiveOnlyChanged : [], isOnDisk: true)
    }

    /// What to announce of a directory that the global version deletes or makes something else of, and that has to stay
    /// because something is needed in it. Nil if it is not such a directory.
    package static func retaining(
        _ local: LocalVersion?, over global: FileInfo, rules: FolderRules, unixSeconds: Int64
    ) -> LocalVersion? {
        guard rules.kind != .sendOnly, let local, local.isLive, local.file.kind == .directory, global.isDeleted,
            local.flags.isDisjoint(with: [.ignored, .unsupported]), !local.file.hasSeen(global)
        else { return nil }
        let flags: LocalVersion.Flags = rules.kind == .receiveOnly ? .receiveOnlyChanged : []
        return keeping(local, over: global, flags: flags, rules: rules, unixSeconds: unixSeconds)
    }

    /// What to announce of a name that is deleted on purpose on all devices, kept here or not.
    package static func deletingEverywhere(
        _ global: FileInfo, local: LocalVersion?, rules: FolderRules, unixSeconds: Int64
    ) -> LocalVersion {
        let seen = local.map { global.version.merged(with: $0.file.version) } ?? global.version
        let version = seen.changed(by: rules.author, besides: [], unixSeconds: unixSeconds)
        return LocalVersion(
            file: global.deleted(by: rules.device, unixSeconds: unixSeconds, version: version), isOnDisk: false)
    }

    /// What to remember of a file here that is to become the successor of the global version, whatever is in it: that the
    /// global version was here, until the next look finds out what is.
    package static func succeeding(_ global: FileInfo) -> LocalVersion {
        var file = global.withoutContent
        file.isDeleted = false
        return LocalVersion(file: file, flags: .mustRescan, isOnDisk: true)
    }

    /// What to announce where the policy is `mine` and what this device has loses to `global`, which it has not seen; nil
    /// where that is not so.
    ///
    /// Insisting on a deletion is for the device that deleted, else all who heard of it would. The deletion is announced as
    /// older than the file: so no device takes it for a later one and announces the file again (`outliving`), for ever.
    static func insisting(
        _ local: LocalVersion, on global: FileInfo, rules: FolderRules, unixSeconds: Int64
    ) -> LocalVersion? {
        guard rules.kind == .sendReceive, local.isValid, global.kind == .file, local.file.kind == .file,
            local.file.version.compare(global.version).isConcurrent, !global.isDeleted
        else { return nil }
        guard local.file.isDeleted else {
            guard rules.conflictPolicy == .mine, local.isLive, !local.file.hasSameContent(as: global),
                Reconciler.isConflict(local: local, global: global)
            else { return nil }
            return keeping(local, over: global, flags: [], rules: rules, unixSeconds: unixSeconds)
        }
        guard rules.deletionPolicy == .mine, local.file.modifiedBy == rules.device, !local.file.isRenamedAway
        else { return nil }
        let version = keeping(local, over: global, flags: [], rules: rules, unixSeconds: unixSeconds)
        var tombstone = version.file
        // bounded: more than the least number here
        tombstone.modifiedSeconds = min(unixSeconds, max(global.modifiedSeconds, .min + 1) - 1)
        tombstone.modifiedNanoseconds = 0
        return LocalVersion(file: tombstone, isOnDisk: false)
    }

    /// The file that is here, which is the global version, announced as a change: who has another version that has not seen
    /// it, but has seen what it was before, is in conflict with it. Nil if it is not the global version.
    package static func affirming(
        _ local: LocalVersion, global: FileInfo, rules: FolderRules, unixSeconds: Int64
    ) -> LocalVersion? {
        guard local.isValid, local.isLive, local.file.version == global.version else { return nil }
        return keeping(local, over: global, flags: [], rules: rules, unixSeconds: unixSeconds)
    }

    static func keeping(
        _ local: LocalVersion, over other: FileInfo, flags: LocalVersion.Flags, rules: FolderRules, unixSeconds: Int64
    ) -> LocalVersion {
        var file = local.file
        file.version = file.version.merged(with: other.version)
            .changed(by: rules.author, besides: [], unixSeconds: unixSeconds)
        file.modifiedBy = rules.device
        return LocalVersion(file: file, flags: flags, isOnDisk: local.isOnDisk)
    }
}
