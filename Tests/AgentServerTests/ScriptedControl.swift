import ControlAPI
import Synchronization

/// Handlers in memory that do what a test says, and what they were asked.
final class ScriptedControl: Sendable {
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

    var handlers: EndpointHandlers {
        var table = EndpointHandlers(
            bytes: EndpointHandlers.Bytes(
                read: { try await self.read($0, $1, start: $2, emit: $3) },
                readMember: { try await self.readMember($0, $1, start: $2, emit: $3) },
                memberFacts: { member in
                    try self.note("facts \(member.archive.text) \(member.member)")
                    return MemberFacts(size: 100_000, isSeekable: member.member != "packed")
                }),
            events: { id, begin, emit in
                try self.note(id.map { "events after \($0)" } ?? "events")
                try await begin("run-0")
                try await self.onEvents?(emit)
            }, failure: { $0 as? ControlError ?? ControlError(.failed, "\($0)") })
        addAgent(to: &table)
        addDevices(to: &table)
        addPairing(to: &table)
        addFolders(to: &table)
        addSelection(to: &table)
        addConflicts(to: &table)
        addEntries(to: &table)
        return table
    }

    private func addAgent(to table: inout EndpointHandlers) {
        table.on(Endpoints.status) {
            try self.note("status")
            return self.statuses.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }
        table.on(Endpoints.pending) {
            try self.note("pendingDevices")
            try self.note("pendingFolders")
            return PendingList(
                devices: [
                    PendingDevice(id: "AAAAAAA-B", name: "neu", address: "tcp://10.0.0.9:22000", lastSeen: Sample.time)
                ],
                folders: [PendingFolder(id: "music", label: "Music", device: "AAAAAAA-B", lastSeen: Sample.time)])
        }
        table.on(Endpoints.records) { query, emit in
            try self.note("records \(query.limit) \(query.isFollowing)")
            try await emit(
                LogRecord(
                    id: 1, time: Sample.time, level: .warning, label: "agent", message: "no route to nas\u{1b}[2J",
                    metadata: ["folder": "docs"]))
        }
        table.on(Endpoints.resetIndex) { try self.note("reset \($0.folder ?? "all")") }
        table.on(Endpoints.syncNow) { try self.note("sync \($0.folder ?? "all")") }
        table.on(Endpoints.stop) { _ in try self.note("stop") }
        table.on(Endpoints.logIn) { request in
            try self.note("log in \(request.hasPage)" + (request.path.map { " at \($0.text)" } ?? ""))
            return LoginLink(
                url: "http://127.0.0.1:1/login?token=x", seconds: 60, page: request.hasPage ? "/run/login-1.html" : nil)
        }
        table.on(Endpoints.logOut) {
            try self.note("log out")
            return LogOutAnswer(ended: 2)
        }
        table.on(Endpoints.setPassword) { change in
            try self.note("password \(change.password)")
            return PasswordAnswer(ended: 2)
        }
        addCluster(to: &table)
    }

    private func addDevices(to table: inout EndpointHandlers) {
        table.on(Endpoints.addDevice) { try self.note("addDevice \($0)") }
        table.on(Endpoints.renameDevice) { try self.note("rename \($0.device) to \($0.name)") }
        table.on(Endpoints.removeDevice) {
            try self.note("removeDevice \($0)")
            return DeviceSettings(
                id: "AAAAAAA-B", name: "it's nas", addresses: ["dynamic"],
                settings: [SettingInput(key: "paused", value: "true")],
                folders: [DeviceShare(folder: "photos", role: "read")])
        }
        table.on(Endpoints.setDeviceBluetooth) { try self.note("\($0)") }
        table.on(Endpoints.setDevice) { try self.note("\($0)") }
        addNetwork(to: &table)
        table.on(Endpoints.invite) { request in
            try self.note("invite \(request.folder) \(request.role) \(request.seconds)")
            return Invitation(
                number: 3, code: "synctrain-AQ", folder: request.folder, role: request.role, expires: Sample.time)
        }
        table.on(Endpoints.invitations) {
            try self.note("invitations")
            return InvitationList(
                invitations: [
                    Invitation(
                        number: 3, folder: "docs", role: "read", expires: Sample.time, state: .redeemed,
                        device: "AAAAAAA-B", name: "nas")
                ])
        }
        table.on(Endpoints.revokeInvitation) { try self.note("revoke \($0)") }
        table.on(Endpoints.join) { request in
            try self.note("join \(request.code) \(request.directory) \(request.isParent) \(request.mode)")
            if request.code == "synctrain-here", !request.isConfirmed {
                throw ControlError(.confirmationNeeded, message: "docs is here. Share it?")
            }
            return JoinAnswer(
                folder: "docs", label: "Docs", role: "read", path: request.directory, device: "AAAAAAA-B", name: "nas")
        }
    }

    private func addPairing(to table: inout EndpointHandlers) {
        table.on(Endpoints.nearby) {
            try self.note("nearby")
            return NearbyList(devices: [
                NearbyEntry(name: "kitchen", address: "ble://AA:BB:CC:DD:EE:FF", transport: "l2cap", signal: -48)
            ])
        }
        table.on(Endpoints.pair) { try await self.pair($0, emit: $1) }
        table.on(Endpoints.pairStatus) {
            try self.note("pairStatus")
            return PairStatus(state: .comparing, code: "042137", device: "AAAAAAA-B")
        }
        table.on(Endpoints.answerPairing) { answer -> Void in
            try self.note("answer \(answer)")
            self.pairAnswers.continuation.yield(answer)
        }
        table.on(Endpoints.dropSend) { request, emit in
            try self.note("drop send \(request.names) to \(request.target ?? "-")")
            for notice in Sample.drops { try await emit(notice) }
        }
        table.on(Endpoints.dropReceive) { request, emit in
            try self.note("drop receive in \(request.directory)")
            for notice in Sample.drops { try await emit(notice) }
        }
        table.on(Endpoints.provideDropPart) { try self.note("drop part \($0.place) \($0.offset) \($0.bytes)") }
        table.on(Endpoints.answerDrop) { try self.note("answer \($0)") }
    }

    private func pair(_ request: PairRequest, emit: @Sendable (PairEvent) async throws -> Void) async throws {
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

    private func addFolders(to table: inout EndpointHandlers) {
        let folders = folders
        table.on(Endpoints.addFolder) { try self.note("addFolder \($0)") }
        table.on(Endpoints.setFolderPaused) { try self.note("pause \($0.folder) \($0.isPaused)") }
        table.on(Endpoints.removeFolder) { try self.note("removeFolder \($0)") }
        table.on(Endpoints.setFolderMode) { change in
            try self.note("mode \(change.folder) \(change.mode) \(change.isDryRun)")
            return SelectionAnswer(folders: folders.outcomes)
        }
        table.on(Endpoints.setFolderBluetooth) { try self.note("\($0)") }
        table.on(Endpoints.setFolderShared) { try self.note("\($0)") }
        table.on(Endpoints.setFolderRole) { try self.note("\($0)") }
        table.on(Endpoints.perform) { action in
            try self.note("\(action.action) \(action.folder) \(action.isDryRun)")
            return changed(folders.action) { outcome in
                (outcome.folder, outcome.action, outcome.isDryRun) = (action.folder, action.action, action.isDryRun)
            }
        }
        table.on(Endpoints.scrub) { request, emit in
            try self.note("scrub \(request.paths.map(\.text)) \(request.isRepairing)")
            for event in self.folders.scrubbed { try await emit(event) }
        }
        table.on(Endpoints.scan) { request in
            try self.note("scan \(request.paths.map(\.text))")
            return ScanSummary(folders: folders.scanned)
        }
        table.on(Endpoints.refused) { folder, emit in
            try self.note("refused \(folder ?? "all")")
            for change in folders.refused { try await emit(change) }
        }
        table.on(Endpoints.settleRefused) { request in
            try self.note("\(request.action) \(texts(request.paths)) \(request.device ?? "all") \(request.isDryRun)")
            return RefusalAnswer(
                folders: folders.refusals.map { outcome in
                    changed(outcome) { ($0.isDryRun, $0.action) = (request.isDryRun, request.action) }
                })
        }
    }

    private func addSelection(to table: inout EndpointHandlers) {
        let (folders, entries) = (folders, entries)
        table.on(Endpoints.select) { change in
            let local = change.local.map { " \($0)" } ?? ""
            let verb = change.isSelecting ? "select" : "deselect"
            try self.note("\(verb) \(texts(change.paths)) \(change.isDryRun)\(local)")
            return SelectionAnswer(folders: folders.outcomes.map { changed($0) { $0.isDryRun = change.isDryRun } })
        }
        table.on(Endpoints.selection) { folder, emit in
            try self.note("selection \(folder ?? "all")")
            for path in folders.selected { try await emit(path) }
        }
        table.on(Endpoints.explain) { path in
            try self.note("explain \(path.text) in \(path.workingDirectory)")
            return folders.explained
        }
        table.on(Endpoints.patterns) { id in
            try self.note("patterns \(id)")
            return IgnorePatterns(folder: id, text: "*.tmp\n")
        }
        table.on(Endpoints.setPatterns) { change in
            try self.note("\(change)")
            let count = PatternsOutcome.Count(files: 1, bytes: 3, names: ["a.tmp"])
            return PatternsOutcome(
                folder: change.folder, isDryRun: change.isDryRun,
                lines: [.init(file: ".stignore", number: 1, text: change.text, isIgnoring: true, matched: count)],
                files: 2, ignored: count, newlyIgnored: count, newlyKept: count, isWhole: true)
        }
        table.on(Endpoints.extraneous) { folder, emit in
            try self.note("extraneous \(folder ?? "all")")
            for entry in entries { try await emit(entry) }
        }
        table.on(Endpoints.resolve) { resolution in
            let action = "\(resolution.action.rawValue) \(resolution.directory ?? "-") \(resolution.isDryRun)"
            try self.note("resolve \(texts(resolution.paths)) \(action)")
            return ResolutionAnswer(
                folders: folders.resolutions.map { outcome in
                    changed(outcome) { ($0.action, $0.isDryRun) = (resolution.action, resolution.isDryRun) }
                })
        }
        table.on(Endpoints.remove) { request in
            try self.note("remove \(texts(request.paths)) \(request.isDryRun)")
            return RemovalAnswer(folders: folders.removals.map { changed($0) { $0.isDryRun = request.isDryRun } })
        }
        table.on(Endpoints.free) { request in
            let limits = "\(request.until) \(request.unusedFor ?? 0) \(request.isDryRun)"
            try self.note("free \(request.folder ?? "all") \(limits)")
            return SpaceAnswer(folders: folders.freed)
        }
        table.on(Endpoints.needs) { folder, emit in
            try self.note("needs \(folder ?? "all")")
            for entry in entries { try await emit(entry) }
        }
        table.on(Endpoints.fetch) { request, emit in
            try self.note("fetch \(request)")
            try await self.onFetch?(emit)
        }
    }

    private func addConflicts(to table: inout EndpointHandlers) {
        let folders = folders
        table.on(Endpoints.versions) { path, emit in
            try self.note("versions \(path?.text ?? "all")")
            for version in folders.versions { try await emit(version) }
        }
        table.on(Endpoints.deleted) { path, emit in
            try self.note("deleted \(path.text)")
            try await emit(
                DeletedFile(
                    folder: "docs", path: "a.txt", archived: Sample.time, size: 3, modified: Sample.time, versions: 2))
        }
        table.on(Endpoints.versionBytes) { query in
            try self.note("version of \(query.path.text) at \(query.at)")
            return [1, 2, 3]
        }
        table.on(Endpoints.restoreVersion) { request in
            try self.note("restore \(request.path.text) at \(request.at ?? -1) \(request.isConfirmed)")
            if !request.isConfirmed, folders.restoreNeedsConfirmation {
                throw ControlError(.confirmationNeeded, "docs:a.txt exists. Replace it?")
            }
            return RestoredVersion(version: Sample.version, isReplacement: request.isConfirmed, replaced: nil)
        }
        table.on(Endpoints.conflicts) { folder, emit in
            try self.note("conflicts \(folder ?? "all")")
            for conflict in folders.conflicts { try await emit(conflict.conflict) }
        }
        table.on(Endpoints.conflictDetails) { path in
            try self.note("conflict \(path.text)")
            return ConflictList(conflicts: folders.conflicts)
        }
        table.on(Endpoints.resolveConflicts) { resolution in
            try self.note("resolve \(resolution.paths.map(\.text)) \(resolution.keep)")
            return ConflictAnswer(outcomes: folders.resolved)
        }
        table.on(Endpoints.notes) { path in
            try self.note("notes \(path.text)")
            return Notes(folder: "docs", path: path.text, isKept: true, notes: [])
        }
        table.on(Endpoints.changeNotes) { request in
            let set = request.set.sorted { $0.key < $1.key }
            try self.note("note \(request.path.text) \(set.map { "\($0.key)=\($0.value)" }) -\(request.remove)")
            return Notes(
                folder: "docs", path: request.path.text, isKept: false,
                notes: set.map { key, value in
                    Notes.Note(key: key, value: value, time: Sample.time, device: "AAAAAAA-B", name: "nas")
                })
        }
    }

    private func addEntries(to table: inout EndpointHandlers) {
        let entries = entries
        table.on(Endpoints.stat) { path in
            try self.note("stat \(path.text) in \(path.workingDirectory)")
            if let onStat = self.onStat { return try onStat(path) }
            return !self.content.isEmpty || entries.isEmpty ? self.file(version: "A:1") : entries[0]
        }
        table.on(Endpoints.list) { query, emit in
            try self.note(
                "list \(query.path.text) in \(query.path.workingDirectory) \(query.isRecursive) \(query.sort)"
                    + (query.isDescending ? " desc" : ""))
            if let onList = self.onList { return try await onList(emit) }
            for entry in entries { try await emit(entry) }
        }
        table.on(Endpoints.entryPage) { query in
            let order = "\(query.sort) \(query.isDescending) \(query.filter)"
            try self.note("entries \(query.path.text) \(query.offset) \(query.limit) \(order)")
            return EntryPage(
                entries: Array(entries.dropFirst(query.offset).prefix(query.limit)), offset: query.offset,
                total: entries.count)
        }
        table.on(Endpoints.search) { query, emit in
            let limit = query.limit == .max ? "" : String(query.limit)
            try self.note("search \(query.text) in \(query.folder ?? "all") \(limit)")
            for entry in entries.prefix(query.limit) { try await emit(entry) }
        }
        table.on(Endpoints.searchPage) { query in
            try self.note("search \(query.text) in \(query.folder ?? "all") \(query.offset) \(query.limit)")
            return EntryPage(entries: entries, offset: query.offset, total: entries.count, isTruncated: true)
        }
        table.on(Endpoints.whereis) { path in
            try self.note("whereis \(path.text)")
            if path.text == "docs:nowhere" { return Whereabouts(folder: "docs", path: "nowhere", holders: []) }
            return Whereabouts(
                folder: "docs", path: "a",
                holders: [
                    .init(id: "AAAAAAA-B", name: "nas", isConnected: true, lastSeen: nil),
                    .init(id: "CCCCCCC-D", name: "phone", isConnected: false, lastSeen: Sample.time),
                ])
        }
        table.on(Endpoints.link) { request in
            try self.note("link \(request.path.text) \(request.seconds)")
            return FileLink(
                url: "http://127.0.0.1:1/file?x", folder: "docs", path: request.path.text, size: 5, expires: Sample.time
            )
        }
        table.on(Endpoints.thumbnail) { path in
            try self.note("thumbnail \(path.text)")
            return [0xFF, 0xD8, 0xFF, 0xD9]
        }
        addArchive(to: &table)
        addUploads(to: &table)
    }

    private func file(version: String) -> Entry {
        var entry = Sample.file("f.bin", size: Int64(content.count))
        entry.details = .init(permissions: "644", version: version, modifiedBy: "A")
        return entry
    }

    private func read(
        _ path: PathReference, _ range: ByteRange?, start: @Sendable (Entry, ClosedRange<Int64>?) async throws -> Void,
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
}

/// A copy with a change.
private func changed<Value>(_ value: Value, _ change: (inout Value) -> Void) -> Value {
    var value = value
    change(&value)
    return value
}

private func texts(_ paths: [PathReference]) -> String { paths.map(\.text).joined(separator: " ") }

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
    var scrubbed: [ScrubEvent] = []
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
        .preparing(file: "a", size: 12), .wanted(place: 1, offset: .max, count: 7), .connecting(address: "ble://x"),
        .code("042137", phone),
        .offer(file: "a", size: 12, nas, present: 3, question: 2), .announced(file: "a", size: 12, phone),
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
                id: "AAAAAAA-B", name: "nas", isConnected: true, transport: "tcp-lan", address: "10.0.0.2:22000",
                addresses: ["dynamic"], client: "syncthing v2", lastSeen: Sample.time, bytesIn: 1234, bytesOut: 99),
            DeviceStatus(
                id: "CCCCCCC-D", name: "phone", isConnected: false, addresses: ["tcp://10.0.0.3:22000"],
                lastSeen: nil, lastError: "connection refused",
                ways: [
                    DeviceWay(
                        address: "tcp://10.0.0.3:22000", outcome: DeviceWay.failed, source: "configured",
                        message: "connection refused", time: Sample.time)
                ]),
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
