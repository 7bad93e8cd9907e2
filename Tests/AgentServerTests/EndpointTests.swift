import ControlAPI
import Testing

@testable import AgentServer

/// A request of an endpoint, without its types.
struct EndpointSample: Sendable, CustomTestStringConvertible {
    var endpoint: any AnyEndpoint
    var target: String
    var body: @Sendable () throws -> [UInt8]?
    /// Whether what is read is the request.
    var isRead: @Sendable (IncomingRequest) throws -> Bool

    init<Request: Equatable, Answer>(_ endpoint: Endpoint<Request, Answer>, _ request: Request) {
        self.endpoint = endpoint
        target = endpoint.target(request)
        body = { try endpoint.body(request) }
        isRead = { try endpoint.request($0) == request }
    }

    init<Answer>(_ endpoint: Endpoint<Void, Answer>) {
        self.endpoint = endpoint
        target = endpoint.target(())
        body = { try endpoint.body(()) }
        isRead = { _ in true }
    }

    var testDescription: String { "\(endpoint.id.method.rawValue) \(target.prefix(80))" }
}

/// What the server answers, with the agent's part made up.
private let handlers = ControlResponder(
    agent: ScriptedControl().handlers, logger: .quiet, links: nil, pace: { _ in }, surroundings: .init()
).handlers

struct EndpointTests {
    static let oddPath = PathReference(text: "docs:ä/ö b+c%&=?#\u{1}.txt", workingDirectory: "/home/u/x y")

    static let samples: [EndpointSample] = [
        EndpointSample(Endpoints.status),
        EndpointSample(Endpoints.events),
        EndpointSample(Endpoints.devices),
        EndpointSample(Endpoints.addDevice, DeviceSettings(id: "A", name: "n", addresses: ["dynamic"])),
        EndpointSample(Endpoints.renameDevice, DeviceRename(device: "a b", name: "c/d")),
        EndpointSample(Endpoints.removeDevice, "a&b"),
        EndpointSample(Endpoints.folders),
        EndpointSample(Endpoints.addFolder, FolderSettings(id: "f", label: "F", path: "/x", devices: ["A"])),
        EndpointSample(Endpoints.setFolderPaused, FolderPause(folder: "f/g", isPaused: true)),
        EndpointSample(Endpoints.removeFolder, "f/../g"),
        EndpointSample(Endpoints.pending),
        EndpointSample(Endpoints.resetIndex, IndexReset(folder: nil)),
        EndpointSample(Endpoints.resetIndex, IndexReset(folder: "f")),
        EndpointSample(Endpoints.stat, oddPath),
        EndpointSample(Endpoints.list, ListQuery(path: oddPath, isRecursive: true)),
        EndpointSample(Endpoints.list, ListQuery(path: oddPath, isRecursive: false)),
        EndpointSample(Endpoints.list, ListQuery(path: oddPath, sort: .natural, isDescending: true)),
        EndpointSample(Endpoints.search, FindQuery(text: "100%", folder: nil, limit: .max)),
        EndpointSample(Endpoints.search, FindQuery(text: "a b", folder: "f", limit: 7)),
        EndpointSample(Endpoints.whereis, oddPath),
        EndpointSample(Endpoints.fetch, FetchRequest(paths: [oddPath, oddPath], output: "/o", isForced: true)),
        EndpointSample(Endpoints.file, oddPath),
        EndpointSample(Endpoints.stop),
        EndpointSample(
            Endpoints.select, SelectionChange(paths: [oddPath, oddPath], isSelecting: true, isDryRun: true)),
        EndpointSample(Endpoints.select, SelectionChange(paths: [oddPath], isSelecting: false)),
        EndpointSample(Endpoints.selection, nil),
        EndpointSample(Endpoints.selection, "a&b=c"),
        EndpointSample(Endpoints.explain, oddPath),
        EndpointSample(Endpoints.patterns, "a&b=c"),
        EndpointSample(Endpoints.setPatterns, PatternsChange(folder: "f g", text: "*.ä\n", isDryRun: true)),
        EndpointSample(Endpoints.setPatterns, PatternsChange(folder: "f", text: "", over: "*\r\n")),
        EndpointSample(Endpoints.setFolderMode, FolderModeChange(folder: "f/g", mode: "full")),
        EndpointSample(Endpoints.setFolderMode, FolderModeChange(folder: "f", mode: "selective", isDryRun: true)),
        EndpointSample(Endpoints.setFolderBluetooth, FolderBluetoothChange(folder: "f", use: "off", limit: 0)),
        EndpointSample(Endpoints.setFolderBluetooth, FolderBluetoothChange(folder: "ä", limit: .max)),
        EndpointSample(Endpoints.setDeviceBluetooth, DeviceBluetoothChange(device: "a b", use: "all")),
        EndpointSample(
            Endpoints.setDevice,
            DeviceChange(
                device: "a b", introducer: true, skipIntroductionRemovals: false, allowedNetworks: ["!::/0"], up: 0,
                down: .max, connections: 8)),
        EndpointSample(Endpoints.setDevice, DeviceChange(device: "ä")),
        EndpointSample(Endpoints.setFolderRelays, FolderRelaysChange(folder: "f", relays: false)),
        EndpointSample(Endpoints.mounts),
        EndpointSample(Endpoints.setMounted, MountSwitch(folder: "ä b", isMounted: true)),
        EndpointSample(
            Endpoints.setMounted,
            MountSwitch(
                folder: "f", directory: "~/A b", isMounted: false, isReadOnly: true, isConfigured: false, isLazy: true)),
        EndpointSample(Endpoints.network), EndpointSample(Endpoints.reach), EndpointSample(Endpoints.testReach),
        EndpointSample(Endpoints.doctor),
        EndpointSample(Endpoints.directories, DirectoryQuery()),
        EndpointSample(Endpoints.directories, DirectoryQuery(path: "/ä b&c", includesHidden: true)),
        EndpointSample(Endpoints.setNetwork, NetworkChange()),
        EndpointSample(
            Endpoints.setNetwork,
            NetworkChange(localDiscovery: true, globalDiscovery: false, relays: true, portMapping: false)),
        EndpointSample(Endpoints.ignored),
        EndpointSample(Endpoints.setIgnored, IgnoreChange(device: "A", isIgnored: true)),
        EndpointSample(Endpoints.setIgnored, IgnoreChange(device: "A", folder: "ä b", isIgnored: false)),
        EndpointSample(Endpoints.perform, FolderAction(folder: "f g", action: .override)),
        EndpointSample(Endpoints.perform, FolderAction(folder: "f", action: .confirm, isDryRun: true)),
        EndpointSample(Endpoints.scan, ScanRequest()),
        EndpointSample(Endpoints.scrub, ScrubRequest()),
        EndpointSample(Endpoints.scrub, ScrubRequest(paths: [oddPath], isRepairing: true)),
        EndpointSample(
            Endpoints.resolve, ExtraneousResolution(paths: [oddPath], action: .moveTo, directory: "/ä", isDryRun: true)),
        EndpointSample(Endpoints.remove, RemovalRequest(paths: [oddPath])),
        EndpointSample(Endpoints.free, SpaceRequest(folder: "f", until: 5, unusedFor: 6)),
        EndpointSample(Endpoints.scan, ScanRequest(paths: [oddPath])),
        EndpointSample(Endpoints.extraneous, nil),
        EndpointSample(Endpoints.extraneous, "ä"),
        EndpointSample(Endpoints.needs, nil),
        EndpointSample(Endpoints.needs, "ä"),
        EndpointSample(Endpoints.syncNow, SyncRequest()),
        EndpointSample(Endpoints.syncNow, SyncRequest(folder: "f")),
        EndpointSample(Endpoints.pair, PairRequest()),
        EndpointSample(Endpoints.pair, PairRequest(address: "tcp://[::1]:1", folders: ["a b"], seconds: 120)),
        EndpointSample(Endpoints.pairStatus),
        EndpointSample(Endpoints.answerPairing, PairAnswer.confirm(code: "042137")),
        EndpointSample(Endpoints.answerPairing, PairAnswer.refuse),
        EndpointSample(Endpoints.answerPairing, PairAnswer.dial(address: "virtual://a")),
        EndpointSample(Endpoints.nearby),
        EndpointSample(Endpoints.dropSend, DropSendRequest(files: ["/a b/ü"], target: "phone", seconds: 5)),
        EndpointSample(
            Endpoints.dropSend,
            DropSendRequest(provided: [ProvidedFile(name: "ü\\b", size: 0)], target: nil, seconds: 5)),
        EndpointSample(
            Endpoints.provideDropPart, DropPart(session: 3, place: 0, offset: .max, bytes: [0, 255])),
        EndpointSample(
            Endpoints.provideDropPart, DropPart(session: 3, place: 9, offset: 0, bytes: [], problem: .unreadable)),
        EndpointSample(Endpoints.dropReceive, DropReceiveRequest(directory: "/in")),
        EndpointSample(Endpoints.dropReceive, DropReceiveRequest(directory: "/in", count: 2, seconds: 3600)),
        EndpointSample(Endpoints.answerDrop, DropAnswer(session: 3, action: .confirm, code: "042137")),
        EndpointSample(Endpoints.answerDrop, DropAnswer(session: 3, action: .choose, address: "ble://x")),
        EndpointSample(Endpoints.versions, nil),
        EndpointSample(Endpoints.versions, oddPath),
        EndpointSample(Endpoints.restoreVersion, VersionRestore(path: oddPath)),
        EndpointSample(Endpoints.deleted, oddPath),
        EndpointSample(Endpoints.versionBytes, VersionQuery(path: oddPath, at: 1_795_289_512)),
        EndpointSample(Endpoints.uploads, UploadQuery()),
        EndpointSample(Endpoints.uploads, UploadQuery(folder: "a&b=c")),
        EndpointSample(
            Endpoints.beginUpload, UploadRequest(path: oddPath, size: .max, modified: -1, existing: .rename)),
        EndpointSample(
            Endpoints.addToUpload, UploadPart(upload: ScriptedControl.upload.id, offset: .max, bytes: [0, 255])),
        EndpointSample(Endpoints.addToUpload, UploadPart(upload: ScriptedControl.upload.id, offset: 0, bytes: [7])),
        EndpointSample(Endpoints.endUpload, UploadEnd(upload: "a", digest: "b", existing: .refuse)),
        EndpointSample(Endpoints.cancelUpload, UploadCancel(upload: "a&b")),
        EndpointSample(Endpoints.restoreVersion, VersionRestore(path: oddPath, at: 1_795_289_512, isConfirmed: true)),
        EndpointSample(Endpoints.conflicts, nil),
        EndpointSample(Endpoints.conflicts, "a&b"),
        EndpointSample(Endpoints.conflictDetails, oddPath),
        EndpointSample(Endpoints.resolveConflicts, ConflictResolution(paths: [oddPath, oddPath], keep: .theirs)),
        EndpointSample(Endpoints.archive, ArchiveQuery(archive: oddPath, offset: 5, limit: 7)),
        EndpointSample(Endpoints.member, MemberReference(archive: oddPath, member: "../ä&b=c")),
        EndpointSample(Endpoints.thumbnail, oddPath),
        EndpointSample(Endpoints.logIn, LoginRequest()),
        EndpointSample(Endpoints.logIn, LoginRequest(hasPage: true)),
        EndpointSample(Endpoints.logIn, LoginRequest(path: oddPath)),
        EndpointSample(Endpoints.logOut),
        EndpointSample(Endpoints.setPassword, PasswordChange(password: "correct hörse")),
        EndpointSample(Endpoints.jobs),
        EndpointSample(Endpoints.job, 1),
        EndpointSample(Endpoints.endJob, 99),
        EndpointSample(Endpoints.deviceCode),
        EndpointSample(Endpoints.description),
        EndpointSample(Endpoints.records, RecordQuery()),
        EndpointSample(Endpoints.records, RecordQuery(limit: 1, level: .error, isFollowing: true)),
        EndpointSample(Endpoints.entryPage, EntryQuery(path: oddPath)),
        EndpointSample(
            Endpoints.entryPage,
            EntryQuery(path: oddPath, offset: 7, limit: 1, sort: .modified, isDescending: true, filter: .conflicts)),
        EndpointSample(
            Endpoints.entryPage, EntryQuery(path: oddPath, limit: 1, sort: .natural, beginning: "ä b&c=d")),
        EndpointSample(Endpoints.searchPage, SearchQuery(text: "ä&b")),
        EndpointSample(Endpoints.searchPage, SearchQuery(text: "", filter: SearchFilter(kind: .photo))),
        EndpointSample(
            Endpoints.searchPage,
            SearchQuery(
                text: "x", filter: SearchFilter(kind: .other, since: 1, before: 2, over: 3, under: 4, device: "a b&c"))),
        EndpointSample(
            Endpoints.search, FindQuery(text: "", filter: SearchFilter(over: 1 << 40, device: SearchFilter.nobody))),
        EndpointSample(Endpoints.searchPage, SearchQuery(text: "x", folder: "f g", offset: 20, limit: 10)),
        EndpointSample(Endpoints.link, LinkRequest(path: oddPath)),
        EndpointSample(Endpoints.link, LinkRequest(path: oddPath, seconds: 1)),
        EndpointSample(Endpoints.notes, oddPath),
        EndpointSample(Endpoints.changeNotes, NoteChange(path: oddPath, set: ["k": "ä b"], remove: ["x"])),
        EndpointSample(Endpoints.setPaused, PauseChange(folders: ["a b"], devices: ["c"], isPaused: true, seconds: 60)),
        EndpointSample(Endpoints.setPaused, PauseChange(isAll: true, isPaused: false)),
        EndpointSample(Endpoints.remoteNeeds, RemoteNeedQuery(device: "a&b", folder: nil)),
        EndpointSample(Endpoints.remoteNeeds, RemoteNeedQuery(device: "n", folder: "f g")),
        EndpointSample(Endpoints.completion, CompletionQuery(folder: nil, device: nil)),
        EndpointSample(Endpoints.completion, CompletionQuery(folder: "ä", device: "n")),
        EndpointSample(Endpoints.space), EndpointSample(Endpoints.ready, ReadyQuery(folder: nil)),
        EndpointSample(Endpoints.ready, ReadyQuery(folder: "ä")),
        EndpointSample(Endpoints.settings),
        EndpointSample(Endpoints.changeSettings, SettingsChange(settings: [SettingInput(key: "name", value: "ä")])),
        EndpointSample(
            Endpoints.changeSettings,
            SettingsChange(folder: "f g", settings: [SettingInput(key: "priority", values: ["a", "b"])])),
        EndpointSample(Endpoints.changes, ChangeQuery()),
        EndpointSample(Endpoints.reload, ReloadRequest()),
        EndpointSample(Endpoints.reload, ReloadRequest(isConfirmed: true)),
        EndpointSample(Endpoints.transfers),
        EndpointSample(Endpoints.setPolicies, PolicyChange(isIgnored: true, seconds: 60)),
        EndpointSample(Endpoints.setPolicies, PolicyChange(isIgnored: false)),
        EndpointSample(Endpoints.changes, ChangeQuery(path: oddPath, since: 60, limit: 5, isFollowing: true)),
        EndpointSample(Endpoints.wait, WaitRequest(paths: [oddPath], seconds: 1.5)),
        EndpointSample(Endpoints.invite, InvitationRequest(folder: "f g", role: "read", seconds: 60)),
        EndpointSample(Endpoints.invitations),
        EndpointSample(Endpoints.revokeInvitation, 7),
        EndpointSample(Endpoints.join, JoinRequest(code: "synctrain-x", directory: "/ä b", isParent: true)),
        EndpointSample(
            Endpoints.join, JoinRequest(code: "x", directory: "/", isParent: false, mode: "full", address: "tcp://h:1")),
        EndpointSample(Endpoints.join, JoinRequest(code: "x", directory: "/", isParent: false, isConfirmed: true)),
        EndpointSample(
            Endpoints.setFolderShared, FolderSharingChange(folder: "f g", device: "ä", isShared: false)),
        EndpointSample(Endpoints.setFolderRole, FolderRoleChange(folder: "f g", device: "ä", role: "read")),
        EndpointSample(Endpoints.refused, nil),
        EndpointSample(Endpoints.refused, "a&b"),
        EndpointSample(Endpoints.settleRefused, RefusalRequest(paths: [oddPath], action: .accept)),
        EndpointSample(
            Endpoints.settleRefused,
            RefusalRequest(paths: [oddPath, oddPath], action: .revert, device: "b c", isDryRun: true)),
        EndpointSample(
            Endpoints.changePage,
            ChangePageQuery(changes: ChangeQuery(path: oddPath, limit: 5), range: PageRange(offset: 3, limit: 5))),
    ]

    @Test(arguments: samples)
    func isReadAsItIsWritten(_ sample: EndpointSample) throws {
        let parts = sample.target.split(separator: "?", maxSplits: 1)
        let incoming = IncomingRequest(
            query: try RequestQuery(encoded: parts.count > 1 ? String(parts[1]) : ""), body: try sample.body() ?? [],
            number: Int(parts[0].split(separator: "/").last ?? ""))
        #expect(try sample.isRead(incoming))
        #expect(sample.target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f })
        let routed = try handlers.route(
            method: sample.endpoint.id.method.rawValue, target: sample.target, body: incoming.body)
        #expect(routed.endpoint.id == sample.endpoint.id)
    }

    /// What a query has is what `openapi.json` says of it.
    @Test(arguments: samples)
    func everyNameInAQueryIsDeclared(_ sample: EndpointSample) throws {
        let query = sample.target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let names = query.split(separator: "&").map { String($0.prefix { $0 != "=" }) }
        #expect(Set(sample.endpoint.fields.map(\.name)).isSuperset(of: names))
    }

    @Test func everyEndpointIsListedOnceAnsweredAndTried() {
        let ids = Endpoints.all.map(\.id)
        #expect(Set(ids).count == ids.count)
        #expect(handlers.ids == Set(ids))
        #expect(Set(Self.samples.map(\.endpoint.id)) == Set(ids))
    }

    /// What is not declared is refused, and for the right reason.
    @Test func whatHasNoEndpointIsRefused() {
        for path in Set(Endpoints.all.map(\.id.path)) {
            let target = path.replacing("{id}", with: "1")
            for method in ["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"] {
                let isDeclared = Endpoints.all.contains { $0.id.path == path && $0.id.method.rawValue == method }
                let code = refusal(method, target)
                #expect((code == .methodNotAllowed) == !isDeclared, "\(method) \(path)")
                #expect(code != .notFound, "\(method) \(path)")
            }
        }
    }

    private func refusal(_ method: String, _ target: String) -> ControlError.Code? {
        do {
            _ = try handlers.route(method: method, target: target, body: Array("{}".utf8))
            return nil
        } catch {
            return (error as? ControlError)?.code
        }
    }

    @Test(arguments: [
        ("GET", "/", "not-found"), ("GET", "/v1/nothing", "not-found"), ("GET", "", "not-found"),
        ("GET", "/v1/status/", "not-found"), ("PUT", "/v1/status", "method-not-allowed"),
        ("GET", "/v1/stop", "method-not-allowed"), ("GET", "/v1/stat", "invalid-request"),
        ("GET", "/v1/stat?path=", "invalid-request"), ("GET", "/v1/stat?path=%zz", "invalid-request"),
        ("GET", "/v1/stat?path=%4", "invalid-request"), ("GET", "/v1/stat?path=%ff", "invalid-request"),
        ("GET", "/v1/stat?path=a&path=b", "invalid-request"),
        ("GET", "/v1/entries?path=a&recursive=perhaps", "invalid-request"),
        ("GET", "/v1/search?text=a&limit=0", "invalid-request"),
        ("GET", "/v1/search?text=a&kind=film", "invalid-request"),
        ("GET", "/v1/search?text=a&over=-1", "invalid-request"),
        ("GET", "/v1/search?text=a&over=3&under=2", "invalid-request"),
        ("GET", "/v1/search?text=a&since=5&before=5", "invalid-request"),
        ("GET", "/v1/search?text=a&since=99999999999999999999", "invalid-request"),
        ("GET", "/v1/search?text=a&limit=99999999999999999999", "invalid-request"),
        ("POST", "/v1/devices", "invalid-request"), ("POST", "/v1/fetch", "invalid-request"),
        ("POST", "/v1/selection", "invalid-request"), ("GET", "/v1/selection?folder=", "invalid-request"),
        ("GET", "/v1/explain", "invalid-request"), ("POST", "/v1/folders/mode", "invalid-request"),
        ("PATCH", "/v1/folders/bluetooth", "invalid-request"), ("GET", "/v1/devices/bluetooth", "method-not-allowed"),
        ("POST", "/v1/folders/action", "invalid-request"), ("GET", "/v1/folders/action", "method-not-allowed"),
        ("POST", "/v1/versions/restore", "invalid-request"), ("DELETE", "/v1/versions", "method-not-allowed"),
        ("GET", "/v1/versions?path=", "invalid-request"), ("GET", "/v1/conflicts/details", "invalid-request"),
        ("POST", "/v1/conflicts/resolve", "invalid-request"),
        ("POST", "/v1/scan", "invalid-request"), ("DELETE", "/v1/extraneous", "method-not-allowed"),
        ("POST", "/v1/pair/answer", "invalid-request"), ("GET", "/v1/pair/answer", "method-not-allowed"),
        ("POST", "/v1/nearby", "method-not-allowed"), ("GET", "/v1/links", "method-not-allowed"),
        ("POST", "/v1/links", "invalid-request"), ("POST", "/v1/need", "method-not-allowed"),
        ("GET", "/v1/sync", "method-not-allowed"), ("POST", "/v1/drop/send", "invalid-request"),
        ("POST", "/v1/drop/part?session=1&place=-1&offset=0", "invalid-request"),
        ("POST", "/v1/drop/part?session=1&place=0&offset=9223372036854775808", "invalid-request"),
        ("POST", "/v1/drop/part?session=1&place=0", "invalid-request"),
        ("POST", "/v1/drop/part?session=1&place=0&offset=0&problem=none", "invalid-request"),
        ("POST", "/v1/drop/receive", "invalid-request"), ("POST", "/v1/drop/answer", "invalid-request"),
        ("GET", "/v1/drop/send", "method-not-allowed"), ("PATCH", "/v1/pause", "invalid-request"),
        ("GET", "/v1/pause", "method-not-allowed"), ("GET", "/v1/need?device=", "invalid-request"),
        ("POST", "/v1/transfers", "method-not-allowed"), ("GET", "/v1/completion?folder=", "invalid-request"),
        ("POST", "/v1/wait", "invalid-request"),
        ("GET", "/v1/wait", "method-not-allowed"), ("GET", "/v1/changes?limit=10001", "invalid-request"),
        ("POST", "/v1/changes", "method-not-allowed"), ("GET", "/v1/entries?path=a&limit=0", "invalid-request"),
        ("GET", "/v1/entries?path=a&limit=1001", "invalid-request"),
        ("GET", "/v1/entries?path=a&offset=-1", "invalid-request"),
        ("GET", "/v1/entries?path=a&offset=99999999999999999999", "invalid-request"),
        ("GET", "/v1/entries?path=a&offset=1000000001", "invalid-request"),
        ("GET", "/v1/entries?path=a&limit=1&sort=colour", "invalid-request"),
        ("GET", "/v1/entries?path=a&limit=1&order=up", "invalid-request"),
        ("GET", "/v1/entries?path=a&limit=1&filter=", "invalid-request"),
        ("GET", "/v1/entries?path=a&limit=1&recursive=true", "invalid-request"),
        ("GET", "/v1/entries?limit=1", "invalid-request"), ("GET", "/v1/search?offset=0", "invalid-request"),
        ("GET", "/v1/sessions", "method-not-allowed"), ("POST", "/v1/jobs", "method-not-allowed"),
        ("POST", "/v1/jobs/1", "method-not-allowed"), ("GET", "/v1/jobs/0", "not-found"),
        ("GET", "/v1/jobs/", "not-found"), ("GET", "/v1/jobs/x", "not-found"), ("GET", "/v1/jobs/1/2", "not-found"),
        ("GET", "/v1/jobs/99999999999999999999", "not-found"), ("GET", "/v1/records?limit=10001", "invalid-request"),
        ("GET", "/v1/records?level=loud", "invalid-request"), ("POST", "/v1/devices/qr", "method-not-allowed"),
    ])
    func refusesWhatItIsNot(method: String, target: String, code: String) {
        let error = #expect(throws: ControlError.self) {
            _ = try handlers.route(method: method, target: target, body: Array("{}".utf8))
        }
        #expect(error?.code.rawValue == code)
    }
}

struct RequestLimitTests {
    static let here = PathReference(text: "docs:a", workingDirectory: "/")
    static let longText = PathReference(
        text: "docs:" + String(repeating: "é", count: 2046), workingDirectory: "/")
    static let longDirectory = PathReference(text: "a", workingDirectory: "/" + String(repeating: "x", count: 4096))

    static let tooLarge: [EndpointSample] = [
        EndpointSample(
            Endpoints.select, SelectionChange(paths: Array(repeating: here, count: 10_001), isSelecting: true)),
        EndpointSample(Endpoints.scan, ScanRequest(paths: Array(repeating: here, count: 10_001))),
        EndpointSample(Endpoints.fetch, FetchRequest(paths: Array(repeating: here, count: 10_001))),
        EndpointSample(Endpoints.select, SelectionChange(paths: [here, longText], isSelecting: false)),
        EndpointSample(Endpoints.select, SelectionChange(paths: [longDirectory], isSelecting: true)),
        EndpointSample(Endpoints.explain, longText), EndpointSample(Endpoints.stat, longText),
    ]
    /// The bodies of the first five, which the client does not write.
    private static let bodies: [@Sendable () throws -> [UInt8]] = [
        { try ControlJSON.encode(SelectionChange(paths: Array(repeating: here, count: 10_001), isSelecting: true)) },
        { try ControlJSON.encode(ScanRequest(paths: Array(repeating: here, count: 10_001))) },
        { try ControlJSON.encode(FetchRequest(paths: Array(repeating: here, count: 10_001))) },
        { try ControlJSON.encode(SelectionChange(paths: [here, longText], isSelecting: false)) },
        { try ControlJSON.encode(SelectionChange(paths: [longDirectory], isSelecting: true)) }, { [] }, { [] },
    ]

    /// Who sends too much is told before it is sent, and whoever sends it all the same when it is read.
    @Test(arguments: tooLarge.indices)
    func bothEndsRefuseTooMuch(_ index: Int) throws {
        let sample = Self.tooLarge[index]
        #expect(throws: ControlError.self) { try sample.body() }
        let bytes = try Self.bodies[index]()
        let error = #expect(throws: ControlError.self) {
            _ = try handlers.route(
                method: sample.endpoint.id.method.rawValue, target: sample.target, body: bytes)
        }
        #expect(error?.code == .tooLarge)
    }

    /// Whatever the request, and also where a path can be left out.
    @Test(arguments: [
        EndpointSample(Endpoints.versions, longText), EndpointSample(Endpoints.whereis, longText),
        EndpointSample(Endpoints.deleted, longText),
        EndpointSample(Endpoints.versionBytes, VersionQuery(path: longText, at: 0)),
        EndpointSample(Endpoints.notes, longText), EndpointSample(Endpoints.file, longText),
        EndpointSample(Endpoints.thumbnail, longText), EndpointSample(Endpoints.conflictDetails, longText),
        EndpointSample(Endpoints.list, ListQuery(path: longDirectory)),
        EndpointSample(Endpoints.entryPage, EntryQuery(path: longText)),
        EndpointSample(Endpoints.entryPage, EntryQuery(path: here, beginning: longText.text)),
        EndpointSample(Endpoints.archive, ArchiveQuery(archive: longText)),
        EndpointSample(Endpoints.member, MemberReference(archive: longText, member: "a")),
        EndpointSample(Endpoints.link, LinkRequest(path: longText)),
        EndpointSample(Endpoints.restoreVersion, VersionRestore(path: longText)),
        EndpointSample(Endpoints.beginUpload, UploadRequest(path: longText, size: 0)),
        EndpointSample(
            Endpoints.addToUpload,
            UploadPart(upload: "a", offset: 0, bytes: Array(repeating: 0, count: UploadLimits.part + 1))),
        EndpointSample(Endpoints.changeNotes, NoteChange(path: longText, set: ["k": "v"])),
        EndpointSample(Endpoints.scrub, ScrubRequest(paths: [here, longText])),
        EndpointSample(Endpoints.resolve, ExtraneousResolution(paths: [longText], action: .delete)),
        EndpointSample(Endpoints.remove, RemovalRequest(paths: [longText])),
        EndpointSample(Endpoints.settleRefused, RefusalRequest(paths: [longText], action: .accept)),
        EndpointSample(Endpoints.resolveConflicts, ConflictResolution(paths: [longText], keep: .mine)),
        EndpointSample(Endpoints.wait, WaitRequest(paths: [longText])),
        EndpointSample(Endpoints.changes, ChangeQuery(path: longText)),
    ])
    func everyPathHasALimit(_ sample: EndpointSample) {
        let error = #expect(throws: ControlError.self) { try sample.body() }
        #expect(error?.code == .tooLarge)
    }

    @Test(arguments: [
        EndpointSample(Endpoints.resolve, ExtraneousResolution(paths: [], action: .delete)),
        EndpointSample(Endpoints.remove, RemovalRequest(paths: [])),
        EndpointSample(Endpoints.settleRefused, RefusalRequest(paths: [], action: .accept)),
        EndpointSample(Endpoints.resolveConflicts, ConflictResolution(paths: [], keep: .mine)),
        EndpointSample(Endpoints.records, RecordQuery(limit: 0)),
        EndpointSample(Endpoints.beginUpload, UploadRequest(path: here, size: -1)),
        EndpointSample(Endpoints.beginUpload, UploadRequest(path: here, size: 0, modified: .min)),
        EndpointSample(Endpoints.addToUpload, UploadPart(upload: "a", offset: 0, bytes: [])),
        EndpointSample(Endpoints.provideDropPart, DropPart(session: 1, place: 0, offset: 0, bytes: [])),
        EndpointSample(
            Endpoints.provideDropPart, DropPart(session: 1, place: 0, offset: 0, bytes: [1], problem: .changed)),
        EndpointSample(
            Endpoints.changePage,
            ChangePageQuery(changes: ChangeQuery(isFollowing: true), range: PageRange(offset: 0, limit: 5))),
    ])
    func whatMeansNothingIsRefused(_ sample: EndpointSample) {
        let error = #expect(throws: ControlError.self) { try sample.body() }
        #expect(error?.code == .invalidRequest)
    }

    @Test func asMuchAsIsAllowedPasses() throws {
        let longest = PathReference(text: String(repeating: "x", count: 4096), workingDirectory: "/")
        let paths = Array(repeating: Self.here, count: 9_999) + [longest]
        let change = SelectionChange(paths: paths, isSelecting: true)
        let body = try #require(try Endpoints.select.body(change))
        #expect(body.count < ControlLimits.requestBody)
        #expect(try Endpoints.select.request(IncomingRequest(query: RequestQuery([]), body: body)) == change)
    }

    @Test func selectingNothingIsARequestForNothing() {
        let error = #expect(throws: ControlError.self) {
            try Endpoints.select.body(SelectionChange(paths: [], isSelecting: true))
        }
        #expect(error?.code == .invalidRequest)
    }
}

struct FolderStatusTests {
    @Test func whatNobodyHasCountedIsNull() throws {
        var status = AgentStatus.sample.folders[0]
        status.conflicts = nil
        let text = String(decoding: try ControlJSON.encode(status), as: UTF8.self)
        #expect(text.contains(#""conflicts":null"#))
        #expect(text.contains(#""extraneous":null"#))
        #expect(try ControlJSON.decode(FolderStatus.self, from: Array(text.utf8)) == status)
    }

    @Test func everythingSurvivesTheWay() throws {
        var status = AgentStatus.sample.folders[0]
        status.state = FolderState.syncing.rawValue
        status.text = "m"
        status.need = .init(files: 1, directories: 2, bytes: 3, deletions: 4)
        status.extraneous = 5
        status.problems = [FolderProblem(path: "a/b", message: "unreadable")]
        status.watch = .init(state: "partial", message: "too few watches", watched: 7)
        status.progress = .init(filesDone: 1, filesTotal: 2, bytesDone: 3, bytesTotal: 4)
        status.lastScan = Sample.time
        #expect(try ControlJSON.decode(FolderStatus.self, from: try ControlJSON.encode(status)) == status)
    }

    /// An agent of before these fields.
    @Test func anOlderAgentIsUnderstood() throws {
        let totals = #"{"files":1,"directories":2,"bytes":3}"#
        let text =
            #"{"id":"f","label":"","path":"/f","mode":"full","type":"sendonly","state":"idle","devices":[],"#
            + #""global":\#(totals),"local":\#(totals),"need":\#(totals),"extraneous":0,"conflicts":0,"errors":0}"#
        let status = try ControlJSON.decode(FolderStatus.self, from: Array(text.utf8))
        #expect(status.need == .init(files: 1, directories: 2, bytes: 3))
        #expect(status.problems.isEmpty && status.watch == nil)
    }

    @Test(
        arguments: [
            ("idle", true, false), ("paused", true, false), ("fetching", true, false), ("scanning", false, false),
            ("syncing", false, false), ("receiving-index", false, false), ("error", false, true),
            ("selection-error", false, true), ("low-space", false, true), ("halted-mass-delete", false, true),
            ("halted-of-a-later-version", false, true), ("work-of-a-later-version", false, false),
        ] as [(String, Bool, Bool)])
    func statesAreOfAKind(word: String, isAtRest: Bool, isFailure: Bool) {
        let state = FolderState(rawValue: word)
        #expect(state.isAtRest == isAtRest)
        #expect(state.isFailure == isFailure)
        #expect(state.isHalted == word.hasPrefix("halted"))
    }
}

struct ByteRangeTests {
    @Test(
        arguments: [
            ("0-0", 10, 0...0), ("0-9", 10, 0...9), ("3-", 10, 3...9), ("5-99", 10, 5...9), ("-3", 10, 7...9),
            ("-99", 10, 0...9), ("10-", 10, nil), ("10-12", 10, nil), ("-0", 10, nil), ("0-", 0, nil), ("-5", 0, nil),
            ("9223372036854775807-", 10, nil), ("0-9223372036854775807", 10, 0...9),
        ] as [(String, Int64, ClosedRange<Int64>?)])
    func meansBytes(text: String, size: Int64, expected: ClosedRange<Int64>?) throws {
        let range = try #require(ByteRange(text: text))
        #expect(range.resolved(size: size) == expected)
        #expect(ByteRange(text: range.text) == range)
    }

    @Test(arguments: [
        "", "-", "5", "a-b", "5-3", "--1", "1--2", "+1-2", "1-2-3", " 1-2", "1- 2", "99999999999999999999-", "0x1-2",
        "-+1",
        "١-٢",
    ])
    func isNothingElse(text: String) {
        #expect(ByteRange(text: text) == nil)
    }

    @Test(
        arguments: [
            ("bytes=0-4", [.bytes(from: 0, through: 4)]), ("Bytes= 0-4 ", [.bytes(from: 0, through: 4)]),
            ("bytes=-4", [.suffix(4)]), ("bytes=5-", [.bytes(from: 5, through: nil)]),
            ("bytes=0-1,3-4", [.bytes(from: 0, through: 1), .bytes(from: 3, through: 4)]),
            ("bytes=3-4 ,\t-1", [.bytes(from: 3, through: 4), .suffix(1)]),
            ("bytes=,0-1,,", [.bytes(from: 0, through: 1)]), ("lines=0-4", nil), ("bytes", nil), ("bytes=", nil),
            ("bytes=,", nil), ("bytes=4-1", nil), ("bytes=0-1,4-1", nil), ("bytes=0-1;3-4", nil), ("=0-4", nil),
            ("bytes=0 -4", nil), ("bytes=" + Array(repeating: "0-0", count: 17).joined(separator: ","), nil),
        ] as [(String, [ByteRange]?)])
    func isReadFromAHeader(header: String, expected: [ByteRange]?) {
        #expect(ByteRangeSet(header: header)?.ranges == expected)
    }

    @Test(
        arguments: [
            ("0-4", 10, .parts([0...4])), ("0-,", 10, .parts([0...9])), ("20-30", 10, .unsatisfiable),
            ("20-30,-0,3-3", 10, .parts([3...3])), ("0-1,8-", 10, .parts([0...1, 8...9])),
            ("8-,0-1", 10, .parts([8...9, 0...1])), ("0-,0-0", 10, .whole), ("0-4,5-9", 10, .parts([0...4, 5...9])),
            ("0-", 0, .unsatisfiable), ("-5", 0, .unsatisfiable), ("0-5", -1, .unsatisfiable),
            ("0-,-1", .max, .whole), ("0-9223372036854775806,1-9223372036854775806", .max, .whole),
            ("0-", .max, .parts([0...(.max - 1)])),
        ] as [(String, Int64, ByteRangeSet.Answer)])
    func severalRangesMeanParts(text: String, size: Int64, expected: ByteRangeSet.Answer) throws {
        #expect(try #require(ByteRangeSet(header: "bytes=\(text)")).answer(size: size) == expected)
    }
}

struct EntryLineTests {
    static let entries: [Entry] = [
        Sample.file("a"), Sample.directory(""), mixed(selected: .no), mixed(selected: .explicit),
        Sample.directory("counted", selected: (files: 3, bytes: 67 << 20), present: (files: 0, bytes: 0)),
        Sample.file("ä\"\\\u{1}\n\u{7f}🌊/b", size: .max),
        Sample.file("none", size: .min, holders: []),
        Sample.file("two", state: .conflict, selected: .implicit, holders: ["A", "B\"C"]),
        Entry(
            kind: .symlink, folder: "f\t", path: "l", size: 0, modified: nil, state: .present, selected: .explicit,
            details: .init(permissions: "0777", version: "A:1", modifiedBy: "A", symlinkTarget: "x\"y")),
        waiting(.device, isAvailable: false), waiting(.policy), waiting(.space, short: 47 << 20),
        waiting(nil, isAvailable: true),
    ]

    /// A file with what says why it is not here.
    private static func waiting(_ cause: Entry.Cause?, short: Int64? = nil, isAvailable: Bool? = nil) -> Entry {
        var entry = Sample.file("far", state: .downloading)
        (entry.short, entry.isAvailable) = (short, isAvailable)
        if let cause { entry.wait(for: cause, "for \(cause)") }
        return entry
    }

    /// A directory that is kept in part.
    private static func mixed(selected: Entry.Selected) -> Entry {
        var entry = Sample.directory("mixed")
        entry.selected = selected
        if selected == .no { entry.isSelectedBelow = true } else { entry.isLeftOutBelow = true }
        return entry
    }

    @Test(arguments: entries)
    func isReadAsItIsWritten(_ entry: Entry) throws {
        var line: [UInt8] = []
        try EntryLine.append(entry, to: &line)
        #expect(line.last == UInt8(ascii: "\n"))
        #expect(try EntryLine.parse(line) == entry)
        #expect(try EntryLine.parse(line.dropLast()) == entry)
        // Whoever reads it with another JSON library sees the same.
        #expect(try ControlJSON.decode(Entry.self, from: line) == entry)
        #expect(try EntryLine.parse(try ControlJSON.encode(entry)) == entry)
    }

    @Test func everyCutOrChangedByteIsHarmless() throws {
        var line: [UInt8] = []
        try EntryLine.append(Self.entries[7], to: &line)
        var refused = 0
        for index in line.indices {
            for byte: UInt8 in [0, 0x22, 0x5c, 0x2c, 0x7d, 0x39, 0xff] {
                var changed = line
                changed[index] = byte
                if (try? EntryLine.parse(changed)) == nil { refused += 1 }
            }
            // Without its line feed the line is whole, with less it is not.
            #expect(((try? EntryLine.parse(Array(line[..<index]))) == nil) == (index < line.count - 1))
        }
        #expect(refused > line.count)
    }

    @Test func anErrorLineIsThrown() {
        let error = ControlError(.noHolder, "nobody \"has\" it", isRetryable: true, path: "a")
        #expect(throws: error) { try EntryLine.parse(try ControlJSON.encode(error)) }
    }
}
