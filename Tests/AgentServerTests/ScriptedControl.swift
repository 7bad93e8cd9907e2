import ControlAPI
import Synchronization

/// An agent in memory that does what a test says and keeps what it was asked.
final class ScriptedControl: AgentControl {
    typealias EntryEmit = @Sendable (Entry) async throws -> Void

    /// What was asked, in words.
    private let log = Mutex<[String]>([])
    private let entries: [Entry]
    private let failure: ControlError?
    private let content: [UInt8]
    private let onList: (@Sendable (EntryEmit) async throws -> Void)?
    private let onFetch: (@Sendable (@Sendable (FetchEvent) async throws -> Void) async throws -> Void)?
    private let onEvents: (@Sendable (@Sendable (AgentEvent) async throws -> Void) async throws -> Void)?
    private let onPair: (@Sendable (PairingScript) async throws -> Void)?
    private let pairAnswers = AsyncStream.makeStream(of: PairAnswer.self)
    private let readFailure: (afterBytes: Int, error: ControlError)?
    /// The file has another version from then on.
    private let changesAfterReads: Int
    private let reads = Mutex(0)
    private let onRead: (@Sendable (Int) async throws -> Void)?
    private let onReadEnd: @Sendable () -> Void
    private let onStat: (@Sendable (PathReference) throws -> Entry)?
    private let statuses: Mutex<[AgentStatus]>
    let folders: FolderScript

    init(
        entries: [Entry] = [], content: [UInt8] = [], failure: ControlError? = nil,
        statuses: [AgentStatus] = [.sample], folders: FolderScript = FolderScript(),
        readFailure: (afterBytes: Int, error: ControlError)? = nil, changesAfterReads: Int = .max,
        onRead: (@Sendable (_ from: Int) async throws -> Void)? = nil,
        onReadEnd: @escaping @Sendable () -> Void = {},
        onStat: (@Sendable (PathReference) throws -> Entry)? = nil,
        onList: (@Sendable (EntryEmit) async throws -> Void)? = nil,
        onFetch: (@Sendable (@Sendable (FetchEvent) async throws -> Void) async throws -> Void)? = nil,
        onEvents: (@Sendable (@Sendable (AgentEvent) async throws -> Void) async throws -> Void)? = nil,
        onPair: (@Sendable (PairingScript) async throws -> Void)? = nil
    ) {
        self.onPair = onPair
        self.entries = entries
        self.content = content
        self.failure = failure
        self.readFailure = readFailure
        self.changesAfterReads = changesAfterReads
        self.onRead = onRead
        self.onReadEnd = onReadEnd
        self.onStat = onStat
        self.onList = onList
        self.onFetch = onFetch
        self.onEvents = onEvents
        self.statuses = Mutex(statuses)
        self.folders = folders
    }

    var asked: [String] { log.withLock { $0 } }

    func note(_ text: String) throws {
        log.withLock { $0.append(text) }
        if let failure { throw failure }
    }

    func status() async throws -> AgentStatus {
        try note("status")
        return statuses.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    }

    func events(emit: @Sendable (AgentEvent) async throws -> Void) async throws {
        try note("events")
        try await onEvents?(emit)
    }

    func events(
        after id: String?, begin: @Sendable (_ id: String) async throws -> Void,
        emit: @Sendable (AgentEvent) async throws -> Void
    ) async throws {
        try note(id.map { "events after \($0)" } ?? "events")
        try await begin("run-0")
        try await onEvents?(emit)
    }

    func addDevice(_ settings: DeviceSettings) async throws { try note("addDevice \(settings)") }
    func renameDevice(_ reference: String, to name: String) async throws { try note("rename \(reference) to \(name)") }
    func removeDevice(_ reference: String) async throws { try note("removeDevice \(reference)") }
    func pendingDevices() async throws -> [PendingDevice] {
        try note("pendingDevices")
        return [PendingDevice(id: "AAAAAAA-B", name: "neu", address: "tcp://10.0.0.9:22000", lastSeen: Sample.time)]
    }

    func pair(_ request: PairRequest, emit: @Sendable (PairEvent) async throws -> Void) async throws {
        try note("pair \(request.address ?? "-") \(request.folders) \(request.seconds ?? 0)")
        let (events, continuation) = AsyncStream.makeStream(of: PairEvent.self)
        guard let onPair else { return }
        let answers = pairAnswers.stream
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { continuation.finish() }
                try await onPair(
                    PairingScript(
                        tell: { continuation.yield($0) },
                        answer: {
                            for await answer in answers { return answer }
                            return nil
                        }))
            }
            for await event in events { try await emit(event) }
            try await group.waitForAll()
        }
    }

    func answerPairing(_ answer: PairAnswer) async throws {
        try note("answer \(answer)")
        pairAnswers.continuation.yield(answer)
    }

    func pairStatus() async throws -> PairStatus {
        try note("pairStatus")
        return PairStatus(state: .comparing, code: "042137", device: "AAAAAAA-B")
    }

    func nearbyDevices() async throws -> [NearbyEntry] {
        try note("nearby")
        return [NearbyEntry(name: "kitchen", address: "ble://AA:BB:CC:DD:EE:FF", transport: "l2cap", signal: -48)]
    }

    func dropSend(_ request: DropSendRequest, emit: @Sendable (DropNotice) async throws -> Void) async throws {
        try note("drop send \(request.files) to \(request.target ?? "-")")
        for notice in Sample.drops { try await emit(notice) }
    }

    func dropReceive(_ request: DropReceiveRequest, emit: @Sendable (DropNotice) async throws -> Void) async throws {
        try note("drop receive in \(request.directory)")
        for notice in Sample.drops { try await emit(notice) }
    }

    func answerDrop(_ answer: DropAnswer) async throws { try note("answer \(answer)") }

    func addFolder(_ settings: FolderSettings) async throws { try note("addFolder \(settings)") }
    func setFolderPaused(_ id: String, _ isPaused: Bool) async throws { try note("pause \(id) \(isPaused)") }
    func removeFolder(_ id: String) async throws { try note("removeFolder \(id)") }
    func pendingFolders() async throws -> [PendingFolder] {
        try note("pendingFolders")
        return [PendingFolder(id: "music", label: "Music", device: "AAAAAAA-B", lastSeen: Sample.time)]
    }
    func resetIndex(folder: String?) async throws { try note("reset \(folder ?? "all")") }

    func setFolderMode(_ change: FolderModeChange) async throws -> SelectionAnswer {
        try note("mode \(change.folder) \(change.mode) \(change.isDryRun)")
        return SelectionAnswer(folders: folders.outcomes)
    }

    func setFolderBluetooth(_ change: FolderBluetoothChange) async throws { try note("\(change)") }
    func setDeviceBluetooth(_ change: DeviceBluetoothChange) async throws { try note("\(change)") }

    func perform(_ action: FolderAction) async throws -> FolderActionOutcome {
        try note("\(action.action) \(action.folder) \(action.isDryRun)")
        var outcome = folders.action
        outcome.folder = action.folder
        outcome.action = action.action
        outcome.isDryRun = action.isDryRun
        return outcome
    }

    func select(_ change: SelectionChange) async throws -> SelectionAnswer {
        let paths = change.paths.map(\.text).joined(separator: " ")
        let local = change.local.map { " \($0)" } ?? ""
        try note("\(change.isSelecting ? "select" : "deselect") \(paths) \(change.isDryRun)\(local)")
        return SelectionAnswer(
            folders: folders.outcomes.map { outcome in
                var outcome = outcome
                outcome.isDryRun = change.isDryRun
                return outcome
            })
    }

    func selection(folder: String?, emit: @Sendable (SelectedPath) async throws -> Void) async throws {
        try note("selection \(folder ?? "all")")
        for path in folders.selected { try await emit(path) }
    }

    func explain(_ path: PathReference) async throws -> ExplainedPath {
        try note("explain \(path.text) in \(path.workingDirectory)")
        return folders.explained
    }

    func scan(_ request: ScanRequest) async throws -> ScanSummary {
        try note("scan \(request.paths.map(\.text))")
        return ScanSummary(folders: folders.scanned)
    }

    func extraneous(folder: String?, emit: EntryEmit) async throws {
        try note("extraneous \(folder ?? "all")")
        for entry in entries { try await emit(entry) }
    }

    func resolve(_ resolution: ExtraneousResolution) async throws -> ResolutionAnswer {
        let paths = resolution.paths.map(\.text).joined(separator: " ")
        try note(
            "resolve \(paths) \(resolution.action.rawValue) \(resolution.directory ?? "-") \(resolution.isDryRun)")
        return ResolutionAnswer(
            folders: folders.resolutions.map { outcome in
                var outcome = outcome
                (outcome.action, outcome.isDryRun) = (resolution.action, resolution.isDryRun)
                return outcome
            })
    }

    func remove(_ request: RemovalRequest) async throws -> RemovalAnswer {
        try note("remove \(request.paths.map(\.text).joined(separator: " ")) \(request.isDryRun)")
        return RemovalAnswer(
            folders: folders.removals.map { outcome in
                var outcome = outcome
                outcome.isDryRun = request.isDryRun
                return outcome
            })
    }

    func free(_ request: SpaceRequest) async throws -> SpaceAnswer {
        try note("free \(request.folder ?? "all") \(request.until) \(request.unusedFor ?? 0) \(request.isDryRun)")
        return SpaceAnswer(folders: folders.freed)
    }

    func notes(_ path: PathReference) async throws -> Notes {
        try note("notes \(path.text)")
        return Notes(folder: "docs", path: path.text, isKept: true, notes: [])
    }
    func changeNotes(_ request: NoteChange) async throws -> Notes {
        let pairs = request.set.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        try note("note \(request.path.text) \(pairs) -\(request.remove)")
        return Notes(
            folder: "docs", path: request.path.text, isKept: false,
            notes: request.set.sorted { $0.key < $1.key }.map { key, value in
                Notes.Note(key: key, value: value, time: Sample.time, device: "AAAAAAA-B", name: "nas")
            })
    }

    func invite(_ request: InvitationRequest) async throws -> Invitation {
        try note("invite \(request.folder) \(request.role) \(request.seconds)")
        return Invitation(
            number: 3, code: "synctrain-AQ", folder: request.folder, role: request.role, expires: Sample.time)
    }
    func invitationList() async throws -> InvitationList {
        try note("invitations")
        return InvitationList(
            invitations: [
                Invitation(
                    number: 3, folder: "docs", role: "read", expires: Sample.time, state: .redeemed,
                    device: "AAAAAAA-B", name: "nas")
            ])
    }
    func revokeInvitation(_ number: Int64) async throws { try note("revoke \(number)") }
    func join(_ request: JoinRequest) async throws -> JoinAnswer {
        try note("join \(request.code) \(request.directory) \(request.isParent) \(request.mode)")
        return JoinAnswer(
            folder: "docs", label: "Docs", role: "read", path: request.directory, device: "AAAAAAA-B", name: "nas")
    }

    func setFolderRole(_ change: FolderRoleChange) async throws { try note("\(change)") }

    func refused(folder: String?, emit: @Sendable (RefusedChange) async throws -> Void) async throws {
        try note("refused \(folder ?? "all")")
        for change in folders.refused { try await emit(change) }
    }

    func settleRefused(_ request: RefusalRequest) async throws -> RefusalAnswer {
        try note(
            "\(request.action) \(request.paths.map(\.text).joined(separator: " ")) \(request.device ?? "all") "
                + "\(request.isDryRun)")
        return RefusalAnswer(
            folders: folders.refusals.map { outcome in
                var outcome = outcome
                outcome.isDryRun = request.isDryRun
                outcome.action = request.action
                return outcome
            })
    }

    func needs(folder: String?, emit: EntryEmit) async throws {
        try note("needs \(folder ?? "all")")
        for entry in entries { try await emit(entry) }
    }

    func versions(_ path: PathReference?, emit: @Sendable (ArchivedVersion) async throws -> Void) async throws {
        try note("versions \(path?.text ?? "all")")
        for version in folders.versions { try await emit(version) }
    }

    func restoreVersion(_ request: VersionRestore) async throws -> RestoredVersion {
        try note("restore \(request.path.text) at \(request.at ?? -1) \(request.isConfirmed)")
        if !request.isConfirmed, folders.restoreNeedsConfirmation {
            throw ControlError(.confirmationNeeded, "docs:a.txt exists. Replace it?")
        }
        return RestoredVersion(version: Sample.version, isReplacement: request.isConfirmed, replaced: nil)
    }

    func conflicts(folder: String?, emit: @Sendable (Conflict) async throws -> Void) async throws {
        try note("conflicts \(folder ?? "all")")
        for conflict in folders.conflicts { try await emit(conflict.conflict) }
    }

    func conflictDetails(_ path: PathReference) async throws -> ConflictList {
        try note("conflict \(path.text)")
        return ConflictList(conflicts: folders.conflicts)
    }

    func resolveConflicts(_ resolution: ConflictResolution) async throws -> ConflictAnswer {
        try note("resolve \(resolution.paths.map(\.text)) \(resolution.keep)")
        return ConflictAnswer(outcomes: folders.resolved)
    }

    func syncNow(_ request: SyncRequest) async throws { try note("sync \(request.folder ?? "all")") }

    func stat(_ path: PathReference) async throws -> Entry {
        try note("stat \(path.text) in \(path.workingDirectory)")
        if let onStat { return try onStat(path) }
        if !content.isEmpty || entries.isEmpty { return file(version: "A:1") }
        return entries[0]
    }

    private func file(version: String) -> Entry {
        var entry = Sample.file("f.bin", size: Int64(content.count))
        entry.details = .init(permissions: "644", version: version, modifiedBy: "A")
        return entry
    }

    func list(_ path: PathReference, isRecursive: Bool, emit: @Sendable (Entry) async throws -> Void) async throws {
        try note("list \(path.text) in \(path.workingDirectory) \(isRecursive)")
        if let onList { return try await onList(emit) }
        for entry in entries { try await emit(entry) }
    }

    func search(_ text: String, folder: String?, limit: Int, emit: @Sendable (Entry) async throws -> Void) async throws
    {
        try note("search \(text) in \(folder ?? "all") \(limit == .max ? "" : String(limit))")
        for entry in entries.prefix(limit) { try await emit(entry) }
    }

    func whereis(_ path: PathReference) async throws -> Whereabouts {
        try note("whereis \(path.text)")
        return Whereabouts(
            folder: "docs", path: "a",
            holders: [
                .init(id: "AAAAAAA-B", name: "nas", isConnected: true, lastSeen: nil),
                .init(id: "CCCCCCC-D", name: "phone", isConnected: false, lastSeen: Sample.time),
            ])
    }

    func fetch(_ request: FetchRequest, emit: @Sendable (FetchEvent) async throws -> Void) async throws {
        try note("fetch \(request)")
        try await onFetch?(emit)
    }

    func read(
        _ path: PathReference, range: ByteRange?, start: @Sendable (Entry, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try note("read \(path.text) \(range?.text ?? "all")")
        defer { onReadEnd() }
        let part = (range ?? .bytes(from: 0, through: nil)).resolved(size: Int64(content.count))
        let number = reads.withLock { reads in
            reads += 1
            return reads
        }
        try await start(try onStat?(path) ?? file(version: number > changesAfterReads ? "B:1" : "A:1"), part)
        guard let part else { return }
        var sent = 0
        let step = max(1000, content.count / 1000)
        for from in stride(from: Int(part.lowerBound), through: Int(part.upperBound), by: step) {
            if let readFailure, sent >= readFailure.afterBytes { throw readFailure.error }
            let through = min(from + step - 1, Int(part.upperBound))
            try await onRead?(from)
            try await emit(Array(content[from...through]))
            sent += through - from + 1
        }
    }

    func link(_ request: LinkRequest) async throws -> FileLink {
        try note("link \(request.path.text) \(request.seconds)")
        return FileLink(
            url: "http://127.0.0.1:1/file?x", folder: "docs", path: request.path.text, size: 5, expires: Sample.time)
    }

    func logIn(_ request: LoginRequest) async throws -> LoginLink {
        try note("log in \(request.hasPage)")
        return LoginLink(
            url: "http://127.0.0.1:1/login?token=x", seconds: 60, page: request.hasPage ? "/run/login-1.html" : nil)
    }

    func entries(_ query: EntryQuery) async throws -> EntryPage {
        try note(
            "entries \(query.path.text) \(query.offset) \(query.limit) \(query.sort) \(query.isDescending) "
                + "\(query.filter)")
        return EntryPage(
            entries: Array(entries.dropFirst(query.offset).prefix(query.limit)), offset: query.offset,
            total: entries.count)
    }

    func search(_ query: SearchQuery) async throws -> EntryPage {
        try note("search \(query.text) in \(query.folder ?? "all") \(query.offset) \(query.limit)")
        return EntryPage(entries: entries, offset: query.offset, total: entries.count, isTruncated: true)
    }

    func logOut() async throws -> LogOutAnswer {
        try note("log out")
        return LogOutAnswer(ended: 2)
    }

    func stop() async throws { try note("stop") }
}

/// A pairing that a test makes up: what is told, and what the client answers.
struct PairingScript: Sendable {
    var tell: @Sendable (PairEvent) -> Void
    var answer: @Sendable () async -> PairAnswer?
}

/// What a scripted agent says of its folders.
struct FolderScript: Sendable {
    var outcomes: [SelectionOutcome] = []
    var selected: [SelectedPath] = []
    var explained = ExplainedPath(folder: "docs", path: "a", selected: .no, reason: .noLine, exists: true)
    var action = FolderActionOutcome(folder: "docs", action: .override, isDryRun: false)
    var scanned: [ScanSummary.Folder] = []
    var resolutions: [ResolutionOutcome] = []
    var removals: [RemovalOutcome] = []
    var freed: [SpaceAnswer.Folder] = []
    var refused: [RefusedChange] = []
    var refusals: [RefusalOutcome] = []
    var versions: [ArchivedVersion] = []
    var restoreNeedsConfirmation = false
    var reloadNeedsConfirmation = false
    var conflicts: [ConflictDetails] = []
    var resolved: [ConflictAnswer.Outcome] = []
}

enum Sample {
    static let time = "2026-11-21T14:03:05Z"

    static let version = ArchivedVersion(
        folder: "docs", path: "a.txt", archived: time, size: 12, modified: time,
        file: "/docs/.stversions/a~20261121-140305.txt")
    static let conflict = Conflict(
        folder: "docs", path: "a.txt", copy: "a.sync-conflict-20261121-140305-AAAAAAA.txt",
        mine: .init(path: "a.txt", device: "AAAAAAA-B", name: "laptop", size: 12, modified: time),
        theirs: .init(path: "a.sync-conflict-20261121-140305-AAAAAAA.txt", device: "CCCCCCC", name: "", size: 2048))

    static let phone = DropPeer(name: "phone", address: "ble://x", transport: "gatt")
    static let nas = DropPeer(device: "AAAAAAA-B", name: "nas", address: "tcp://h:1", transport: "tcp")
    /// One of each kind.
    static let drops: [DropNotice] = [
        .sending(session: 7, files: ["/a"]), .waiting(session: 7, directory: "/in", listening: ["tcp://h:1"]),
        .receivers([NearbyEntry(name: "kitchen", address: "ble://y", transport: "l2cap", signal: -48)]),
        .preparing(file: "a", size: 12), .connecting(address: "ble://x"), .code("042137", phone),
        .offer(file: "a", size: 12, nas, present: 3), .announced(file: "a", size: 12, phone),
        .progress(file: "a", size: 12, phone, done: 5, bytesPerSecond: 100),
        .retrying(file: "a", message: "lost"), .sent(file: "a", size: 12, nas, seconds: 1.5),
        .received(file: "a", size: 12, phone, path: "/in/a", seconds: 2),
        .failed(file: nil, ControlError(.linkLost, "gone")), .done(files: 1, bytes: 12, failed: 0),
    ]

    static func file(
        _ path: String, size: Int64 = 12, state: Entry.State = .absent, selected: Entry.Selected = .no,
        holders: [String] = ["AAAAAAA-B"]
    ) -> Entry {
        Entry(
            kind: .file, folder: "docs", path: path, size: size, modified: time, state: state, selected: selected,
            holders: holders)
    }

    static func directory(_ path: String, size: Int64 = 4096, files: Int64 = 2) -> Entry {
        Entry(
            kind: .directory, folder: "docs", path: path, size: size, modified: nil, state: .absent, selected: .no,
            files: files, directories: 0)
    }

    /// One of which something is selected.
    static func directory(
        _ path: String, selected: (files: Int64, bytes: Int64), present: (files: Int64, bytes: Int64)
    ) -> Entry {
        var entry = directory(path)
        entry.selected = .explicit
        entry.state = present.files == 0 ? .queued : present.files == selected.files ? .present : .partial
        (entry.selectedFiles, entry.selectedBytes) = selected
        (entry.presentFiles, entry.presentBytes) = present
        return entry
    }
}

extension AgentStatus {
    static let sample = AgentStatus(
        device: "XXXXXXX-Y", name: "laptop", version: "0.1.0", startedAt: Sample.time,
        listening: ["tcp://0.0.0.0:22000"],
        folders: [
            FolderStatus(
                id: "docs", label: "Docs", path: "/home/u/docs", mode: "selective", type: "sendreceive", state: "idle",
                devices: ["AAAAAAA-B"], global: .init(files: 20, directories: 3, bytes: 5_000_000),
                local: .init(files: 1, bytes: 1000), need: .init(), conflicts: 1)
        ],
        devices: [
            DeviceStatus(
                id: "AAAAAAA-B", name: "nas", isConnected: true, transport: "tcp", address: "10.0.0.2:22000",
                addresses: ["dynamic"], client: "syncthing v2", lastSeen: Sample.time, bytesIn: 1234, bytesOut: 99),
            DeviceStatus(
                id: "CCCCCCC-D", name: "phone", isConnected: false, addresses: ["tcp://10.0.0.3:22000"],
                lastSeen: nil, lastError: "connection refused"),
        ],
        transfers: [
            TransferStatus(folder: "docs", path: "a/b.bin", bytesDone: 50, bytesTotal: 200, holders: ["AAAAAAA-B"])
        ])

    func needing(_ need: FolderStatus.Totals, state: String = "idle") -> AgentStatus {
        var status = self
        status.folders[0].need = need
        status.folders[0].state = state
        return status
    }
}

extension ScriptedControl {
    /// Event after event until the listener goes, so that whoever waits for news always has some.
    static let ceaselessEvents: @Sendable (@Sendable (AgentEvent) async throws -> Void) async throws -> Void = { emit in
        while !Task.isCancelled {
            try await emit(AgentEvent(type: "folder-changed", time: Sample.time, folder: "docs"))
            await Task.yield()
        }
    }
}
