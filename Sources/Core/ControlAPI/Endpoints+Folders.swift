// MARK: - Folders

extension Endpoints {
    static let folderEndpoints: [any AnyEndpoint] = [
        folders, directories, addFolder, setFolderPaused, removeFolder, setFolderMode, setFolderBluetooth,
        setFolderRelays, setFolderShared, setFolderRole, perform,
        mounts, setMounted, scan, scrub,
        refused, settleRefused,
    ]

    package static let folders = Endpoint(.get, "/v1/folders", "Folders", nothing, FolderList.self)

    /// Only directories, with what the agent may do with them. Throws `noSuchPath`, and `noPermission` for what its user may not
    /// list.
    package static let directories = Endpoint(
        .get, "/v1/directories", "The directories in a directory of this machine",
        query(
            Query.text("path", longest: ControlLimits.path).optional
                .described("Absolute, `~` or `~/…`; the home directory of the agent's user without it."),
            Query.flag("hidden")
        ).of({ DirectoryQuery(path: $0.0, includesHidden: $0.1) }, { ($0.path, $0.includesHidden) }),
        DirectoryListing.self, errors: [.noSuchPath, .noPermission])

    package static let addFolder = Endpoint(
        .post, "/v1/folders", "Add a folder", body(FolderSettings.self), Done.self)

    package static let setFolderPaused = Endpoint(
        .patch, "/v1/folders", "Pause or resume a folder", body(FolderPause.self), Done.self, errors: [.noSuchFolder])

    package static let removeFolder = Endpoint(
        .delete, "/v1/folders", "Remove a folder; its files stay",
        query(Query.text("folder").described("Its id.")), Done.self, errors: [.noSuchFolder])

    /// Writes `.stignore` again as for `select`, but with the lines of the other mode, and the configuration.
    package static let setFolderMode = Endpoint(
        .post, "/v1/folders/mode", "Keep what is selected, or everything", body(FolderModeChange.self),
        SelectionAnswer.self, errors: [.noSuchFolder, .selectionUnusable])

    /// Takes effect at once, on open links, too. Throws `invalidRequest` for an unknown word.
    package static let setFolderBluetooth = Endpoint(
        .patch, "/v1/folders/bluetooth", "What of a folder is sent over Bluetooth", body(FolderBluetoothChange.self),
        Done.self, errors: [.noSuchFolder])

    package static let setFolderRelays = Endpoint(
        .patch, "/v1/folders/relays", "Whether a folder uses relays", body(FolderRelaysChange.self), Done.self,
        errors: [.noSuchFolder])

    /// Nothing changes where it is so already. Files stay on both devices. Throws `confirmationNeeded` for a device that kept the folder
    /// encrypted, unless it is to have it unencrypted.
    package static let setFolderShared = Endpoint(
        .patch, "/v1/folders/sharing", "Share a folder with a device, or stop", body(FolderSharingChange.self),
        Done.self, errors: [.noSuchFolder, .noSuchDevice, .confirmationNeeded])

    /// Throws `invalidRequest` if the folder is not shared with the device.
    package static let setFolderRole = Endpoint(
        .patch, "/v1/folders/role", "What a device may do in a folder", body(FolderRoleChange.self), Done.self,
        errors: [.noSuchFolder, .noSuchDevice])

    /// Throws `invalidRequest` if the action does not fit the folder's type or state.
    package static let perform = Endpoint(
        .post, "/v1/folders/action", "Override, revert, confirm or repair", body(FolderAction.self),
        FolderActionOutcome.self, errors: [.noSuchFolder], canBeJob: true)

    /// What of the same is in `status`.
    package static let mounts = Endpoint(.get, "/v1/mounts", "Mounted folders", nothing, MountList.self)

    /// Mounts or unmounts a folder and returns when programs can use the directory, or cannot any more. Throws `busy` with the
    /// programs that use it; changes nothing, the configuration included, when it throws.
    package static let setMounted = Endpoint(
        .patch, "/v1/mounts", "Mount or unmount a folder", body(MountSwitch.self), MountList.self,
        errors: [.noSuchFolder, .alreadyExists, .busy])

    /// Reads this disk and returns when the index has what was found.
    package static let scan = Endpoint(
        .post, "/v1/scan", "Scan the disk", body(ScanRequest.self), ScanSummary.self, errors: [.noSuchPath],
        canBeJob: true)

    /// Compares what is on this disk with its hashes, and goes on where an earlier run of the last day was ended. Throws `busy` while
    /// another client has the folder scrubbed.
    package static let scrub = Endpoint(
        .post, "/v1/scrub", "Check files for damage, and repair them", body(ScrubRequest.self), lines(ScrubEvent.self),
        errors: [.noSuchPath, .busy], canBeJob: true, pace: { _ in .prompt })

    /// Changes of devices that may only read, by name.
    package static let refused = Endpoint(
        .get, "/v1/refused", "Refused changes from read-only devices", query(Query.folder),
        lines(RefusedChange.self, isPaged: true),
        errors: [.noSuchFolder])

    /// Throws `noSuchPath` if nothing is refused at or below a path, `invalidRequest` for `revert` in a folder that only
    /// receives.
    package static let settleRefused = Endpoint(
        .post, "/v1/refused", "Accept or revert them", body(RefusalRequest.self), RefusalAnswer.self,
        errors: [.noSuchPath])
}
