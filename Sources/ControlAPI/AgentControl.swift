/// All that a client can ask of a running agent. The agent implements it, the control server carries it over HTTP,
/// and the command line's client implements it again on its side of the socket: one list of verbs for all three.
///
/// Every function throws `ControlError`. A function with `emit` calls it once for each result, in order, and waits for
/// it to return before it makes the next one: that is how a slow reader slows the agent down. When `emit` throws or the
/// calling task is cancelled, the work ends.
public protocol AgentControl: ClusterControl, PageControl, ArchiveControl, ThumbnailControl {
    func status() async throws -> AgentStatus
    /// Runs until cancelled.
    func events(emit: @Sendable (AgentEvent) async throws -> Void) async throws

    func addDevice(_ settings: DeviceSettings) async throws
    /// `reference` is a device's id or its name.
    func renameDevice(_ reference: String, to name: String) async throws
    func removeDevice(_ reference: String) async throws
    func pendingDevices() async throws -> [PendingDevice]

    /// Lets this device be paired with until it is, its time is over or the calling task is cancelled. One at a time:
    /// throws `busy` during another. Other errors: `timeout`, `confirmationNeeded` (refused here), `pairingRefused`
    /// (refused there), `pairingMismatch`, `pairingFailed`, `pairingBlocked` (too many failures), `notPairing` (the other
    /// device does not wait for it), `noSuchFolder`. When it throws, nothing is stored.
    func pair(_ request: PairRequest, emit: @Sendable (PairEvent) async throws -> Void) async throws
    /// Answers the pairing that is under way. Throws `notPairing` if there is none, or none with a code to confirm.
    func answerPairing(_ answer: PairAnswer) async throws
    func pairStatus() async throws -> PairStatus
    /// Those that are seen without a pairing under way; some ways to find devices work only during one.
    func nearbyDevices() async throws -> [NearbyEntry]

    /// Sends files, each with an own code to compare where the other device is not paired. A file that fails is a notice;
    /// throws when nothing can be sent at all: `noSuchDevice`, `timeout`, `noSuchPath`, `confirmationNeeded`.
    func dropSend(_ request: DropSendRequest, emit: @Sendable (DropNotice) async throws -> Void) async throws
    /// Takes files until `request.count` have come, nobody has sent for `request.seconds` (throws `timeout` if none came),
    /// or the calling task is cancelled. One at a time: throws `busy`. Nothing is taken that was not accepted.
    func dropReceive(_ request: DropReceiveRequest, emit: @Sendable (DropNotice) async throws -> Void) async throws
    /// Throws `invalidRequest` if nothing waits for such an answer.
    func answerDrop(_ answer: DropAnswer) async throws

    func addFolder(_ settings: FolderSettings) async throws
    func setFolderPaused(_ id: String, _ isPaused: Bool) async throws
    func removeFolder(_ id: String) async throws
    func pendingFolders() async throws -> [PendingFolder]
    /// Writes `.stignore` anew as for `select` or `deselect`, but with the lines of the other mode, and the configuration.
    func setFolderMode(_ change: FolderModeChange) async throws -> SelectionAnswer
    /// At once, on links that are open, too. Throws `invalidRequest` for a word that there is not.
    func setFolderBluetooth(_ change: FolderBluetoothChange) async throws
    func setDeviceBluetooth(_ change: DeviceBluetoothChange) async throws
    /// Throws `invalidRequest` if the folder is not shared with the device.
    func setFolderRole(_ change: FolderRoleChange) async throws
    /// Throws `invalidRequest` if the action does not fit the folder's type or state.
    func perform(_ action: FolderAction) async throws -> FolderActionOutcome
    /// Forgets the index of the folder (of all folders for nil) and gets it anew from the peers. Files stay untouched.
    func resetIndex(folder: String?) async throws

    /// Edits the `.stignore` of each folder that a path lies in, all or none of them. `need` and the other totals of
    /// `status` are those of the new selection on return.
    ///
    /// Throws `inexpressiblePath`, `overruled` and `selectionUnusable` with what to do, and `invalidRequest` for a
    /// folder's root.
    func select(_ change: SelectionChange) async throws -> SelectionAnswer
    /// What is selected by name, in the order of the lines; `folder` nil for all folders.
    func selection(folder: String?, emit: @Sendable (SelectedPath) async throws -> Void) async throws
    func explain(_ path: PathReference) async throws -> ExplainedPath

    /// Looks at this disk and returns when the index has what was found.
    func scan(_ request: ScanRequest) async throws -> ScanSummary
    /// What is on this disk and not selected; `folder` nil for all folders. The entries' `size` is that on disk.
    func extraneous(folder: String?, emit: @Sendable (Entry) async throws -> Void) async throws
    /// Does what was chosen for extraneous files; throws `alreadyExists` if `select` is chosen for one of which others have
    /// another version, `noSuchPath` if nothing is there, `invalidRequest` for what is selected.
    func resolve(_ resolution: ExtraneousResolution) async throws -> ResolutionAnswer
    /// Deletes on all devices. Throws `noSuchPath` if no device has it, `invalidRequest` in a folder that only receives.
    func remove(_ request: RemovalRequest) async throws -> RemovalAnswer
    /// Deselects what others hold, largest and longest unused first, until so much is free.
    func free(_ request: SpaceRequest) async throws -> SpaceAnswer
    /// What is still to be fetched, in the order that it will be; `folder` nil for all folders.
    func needs(folder: String?, emit: @Sendable (Entry) async throws -> Void) async throws

    /// What is in the archives of replaced and deleted files: of the file, or of all in the directory; nil for all folders.
    /// Names in order, the versions of each oldest first.
    func versions(_ path: PathReference?, emit: @Sendable (ArchivedVersion) async throws -> Void) async throws
    /// Puts a copy of an archived version into the file's place, as a new version; what is there goes to the archive.
    /// Throws `confirmationNeeded` if something is there and that was not confirmed, `noSuchPath` if there is no version.
    func restoreVersion(_ request: VersionRestore) async throws -> RestoredVersion
    /// Conflict copies on this disk, with what they are copies of; `folder` nil for all folders.
    func conflicts(folder: String?, emit: @Sendable (Conflict) async throws -> Void) async throws
    /// The conflicts of a file, named by itself or a copy, with the differences of texts.
    func conflictDetails(_ path: PathReference) async throws -> ConflictList
    /// Keeps one version or both, here and on all devices. What goes wrong with one is in its outcome.
    func resolveConflicts(_ resolution: ConflictResolution) async throws -> ConflictAnswer

    /// Changes of devices that may only read, by name; `folder` nil for all folders.
    func refused(folder: String?, emit: @Sendable (RefusedChange) async throws -> Void) async throws
    /// Throws `noSuchPath` if nothing is refused at or below a path, `invalidRequest` for `revert` in a folder that only
    /// receives.
    func settleRefused(_ request: RefusalRequest) async throws -> RefusalAnswer

    /// Throws `noSuchFolder`, and `tooLarge` if there are too many.
    func invite(_ request: InvitationRequest) async throws -> Invitation
    /// In the order in which they were made, without their codes.
    func invitationList() async throws -> InvitationList
    /// Throws `noSuchPath` if there is none of this number.
    func revokeInvitation(_ number: Int64) async throws
    /// Redeems an invitation; when it throws, nothing is stored here. Throws `invalidRequest` for what is no code,
    /// `invitationRefused` for one that is not good, `pairingFailed` and `timeout` for links.
    func join(_ request: JoinRequest) async throws -> JoinAnswer

    /// What is noted of a path, which need not exist.
    func notes(_ path: PathReference) async throws -> Notes
    /// Throws `invalidRequest` for what is no key or value, and `tooLarge` for too many.
    func changeNotes(_ request: NoteChange) async throws -> Notes

    /// Dials, and tries again at once what waits for another try. Returns before anything has come.
    func syncNow(_ request: SyncRequest) async throws

    /// One entry with its details.
    func stat(_ path: PathReference) async throws -> Entry
    /// The entries in a directory by name, or a file's own; with `isRecursive` all below, each directory before what is
    /// in it.
    func list(_ path: PathReference, isRecursive: Bool, emit: @Sendable (Entry) async throws -> Void) async throws
    /// Entries whose name (whose path, if `text` has a `/`) contains `text`, upper and lower case alike. `folder` nil
    /// looks in all folders; `limit` ends the search after so many (`.max`: all).
    func search(_ text: String, folder: String?, limit: Int, emit: @Sendable (Entry) async throws -> Void) async throws
    func whereis(_ path: PathReference) async throws -> Whereabouts

    func fetch(_ request: FetchRequest, emit: @Sendable (FetchEvent) async throws -> Void) async throws
    /// The bytes of a file's global version. `range` counts from 0, both ends included, an end beyond the file is cut;
    /// nil is all of it. `start` comes once, before the first bytes, with the entry and the range that follows (nil for
    /// an empty file). Every chunk has been verified against its block's hash.
    func read(
        _ path: PathReference, range: ByteRange?, start: @Sendable (Entry, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws

    /// Makes a link to a file of the global index for any program of this machine. Throws `noSuchPath`, `gone`,
    /// `invalidRequest` for what is no file, and `failed` if nothing is listened on for HTTP, with the reason.
    func link(_ request: LinkRequest) async throws -> FileLink

    /// Ends the agent once the answer is on its way.
    func stop() async throws
}
