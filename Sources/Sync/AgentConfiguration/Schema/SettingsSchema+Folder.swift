import BlockExchange

extension SettingsSchema {
    /// Settings of a folder, in the order of the file.
    package static let folder: [Setting<FolderConfiguration>] =
        groups([
            ("Folder", sharing),
            ("Scanning and order", scanning),
            ("Free space and copies", space),
            ("Bluetooth, relays and deletions", folderBluetooth),
            ("Mount", mount),
            ("Versions", versions),
            ("Conflicts", conflicts),
            ("Attributes of files", attributes),
        ])

    private static let sharing: [Setting<FolderConfiguration>] = [
        Setting(
            .folder, "id", .text, "Folder id, the same on every device.",
            read: { .text($0.id.rawValue) }, write: { _, _ in false }
        ).changedBy("synctrain folder add"),
        .text("label", \.label, "Label on this device."),
        Setting(.folder, "path", .path, \.path, .text, "Directory on this device; move the files there first."),
        .choice("mode", \.mode, "What is kept here: the selected files, or all."),
        .choice("type", \.kind, "Whether this device sends changes, receives them, or both."),
        Setting(
            .folder, "devices", .devices, "Devices to share the folder with.",
            read: { .list($0.devices.map(\.description)) },
            write: { folder, value in
                guard case .list(let texts) = value else { return false }
                let ids = texts.compactMap { try? DeviceID(parsing: $0) }
                guard ids.count == texts.count else { return false }
                folder.share(with: ids)
                return true
            }),
        .devices("readers", \.readers, "Devices whose changes are refused here."),
        .devices("admins", \.admins, "Devices whose other devices and folders are added here, too."),
        .devices("untrusted", \.untrusted, "Devices that keep the folder encrypted.")
            .changedBy("synctrain folder share --unencrypted"),
        Setting(
            .folder, "introduced", .texts, "Shares made by introducers.",
            read: { .list($0.introductions.map(\.text)) },
            write: { folder, value in
                guard case .list(let texts) = value else { return false }
                let introductions = texts.compactMap { FolderIntroduction(text: $0) }
                guard introductions.count == texts.count else { return false }
                folder.introductions = introductions
                return true
            }
        ).changedBy("the introducer").advanced,
        .flag("paused", \.isPaused, "Whether the folder is paused.").then { $0.pausedUntil = nil },
        .pausedUntil(\.pausedUntil),
    ]

    private static let scanning: [Setting<FolderConfiguration>] = [
        .number(
            "rescan-interval", 0...31_536_000, \.rescanInterval,
            "Seconds between full scans; 0: only when the agent starts."),
        .flag("watch", \.isWatched, "Watch the disk for changes."),
        .flag("ignore-permissions", \.ignoresPermissions, "Do not sync permissions.").advanced,
        .choice("order", \.order, "Download order."),
        .texts("priority", \.priority, "Patterns to download first, as in .stignore."),
        .texts("groups", \.groups, "Patterns of files to update together: album/**/*.{jpg,txt}.").advanced,
        Setting(
            .folder, "scrub-every", .interval, \.scrubInterval, .interval,
            "Interval at which all files are read and verified."
        ).without("never"),
        .choice("case-clash", \.caseClash, "Two files with one name to this disk: keep the one here, or rename.")
            .advanced,
    ]

    private static let space: [Setting<FolderConfiguration>] = [
        Setting(.folder, "minimum-free", .space, \.minimumFree, .space, "Disk space to keep free; 0: none."),
        Setting(
            .folder, "keep-free", .space, \.keepFree, .space,
            "Disk space below which files selected with --while-space are freed."
        ).without("never"),
        .number("min-copies", 1...100, \.minimumCopies, "Other devices that must have a file before it is freed here."),
        .number(
            "copies-max-age-days", 0...3650, \.copiesMaximumAgeDays,
            "Days for which the word of an absent device counts; 0: never."
        ).advanced,
    ]

    private static let folderBluetooth: [Setting<FolderConfiguration>] = [
        .choice("bluetooth", \.bluetooth, "What may be transferred over Bluetooth."),
        .size("bluetooth-limit", \.bluetoothLimit, "Larger files wait for a network unless requested; 0: no limit."),
        .flag("relays", \.usesRelays, "Use relays for this folder."),
        .flag(
            "guard-incoming-deletions", \.guardsIncomingDeletions,
            "Ask before other devices delete over 100 and over half of the files."
        ).advanced,
    ]

    private static let mount: [Setting<FolderConfiguration>] = [
        .path("mount", \.mount.directory, "Directory that shows all files of the folder while the agent runs.")
            .without("not mounted"),
        .flag("mount-read-only", \.mount.isReadOnly, "Refuse changes in that directory."),
    ]

    private static let versions: [Setting<FolderConfiguration>] = [
        .choice("versions", \.versions.kind, "Archive of files that other devices replace or delete."),
        .path("versions-path", \.versions.path, "Directory of the archive.").without(".stversions in the folder"),
        .number("versions-keep", 1...10_000, \.versions.keep, "Versions to keep of each file (simple)."),
        .number(
            "versions-cleanout-days", 0...36_500, \.versions.cleanoutDays,
            "Days to keep a version (trashcan, simple); 0: forever."),
        .number(
            "versions-max-age-days", 0...36_500, \.versions.maximumAgeDays,
            "Days to keep a version (staggered); 0: forever."),
        .number(
            "versions-clean-interval", 0...31_536_000, \.versions.cleanInterval,
            "Seconds between cleanups of the archive; 0: none."
        ).advanced,
    ]

    private static let conflicts: [Setting<FolderConfiguration>] = [
        .number(
            "max-conflicts", 1...1000, none: -1, \.maxConflicts,
            "Conflict copies to keep of each file; -1: all."
        ).advanced,
        .choice("conflicts", \.conflicts.policy, "What happens to a local version that loses a conflict."),
        .choice(
            "conflicts-deleted", \.conflicts.deletedPolicy,
            "What happens to a file deleted here and changed elsewhere."),
        .texts("conflicts-command", \.conflicts.command, "Program that decides conflicts, and its arguments.")
            .program,
        .number("conflicts-command-seconds", 1...3600, \.conflicts.commandSeconds, "Time limit of the program.")
            .advanced,
    ]

    private static let attributes: [Setting<FolderConfiguration>] = [
        .flag("sync-xattrs", \.attributes.syncsXattrs, "Send and apply extended attributes."),
        .flag("send-xattrs", \.attributes.sendsXattrs, "Send extended attributes only.").advanced,
        .flag("sync-ownership", \.attributes.syncsOwnership, "Send and apply owner and group."),
        .flag("send-ownership", \.attributes.sendsOwnership, "Send owner and group only.").advanced,
        .texts("xattr-filter", \.attributes.patterns, "Names of extended attributes to sync; ! excludes.").advanced,
        .number(
            "xattr-max-entry-size", 0...1_000_000, \.attributes.entryByteLimit,
            "Bytes of one extended attribute; 0: no limit."
        ).advanced,
        .number(
            "xattr-max-total-size", 0...1_000_000, \.attributes.totalByteLimit,
            "Bytes of all extended attributes of a file; 0: no limit."
        ).advanced,
    ]
}
