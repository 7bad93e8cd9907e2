import FoundationEssentials

/// A request to the agent as it goes over HTTP: the same value is written by the client and read by the server.
///
/// `docs/control-api.md` lists method, path, query and body of each.
public enum ControlOperation: Equatable, Sendable {
    case status
    case events
    case devices
    case addDevice(DeviceSettings)
    case renameDevice(DeviceRename)
    case removeDevice(String)
    case pair(PairRequest)
    case answerPairing(PairAnswer)
    case pairStatus
    case nearby
    case dropSend(DropSendRequest)
    case dropReceive(DropReceiveRequest)
    case answerDrop(DropAnswer)
    case folders
    case addFolder(FolderSettings)
    case setFolderPaused(FolderPause)
    case removeFolder(String)
    case setFolderMode(FolderModeChange)
    case setFolderBluetooth(FolderBluetoothChange)
    case setDeviceBluetooth(DeviceBluetoothChange)
    case setFolderRole(FolderRoleChange)
    case perform(FolderAction)
    case pending
    case resetIndex(IndexReset)
    case select(SelectionChange)
    case selection(folder: String?)
    case explain(PathReference)
    case scan(ScanRequest)
    case extraneous(folder: String?)
    case resolve(ExtraneousResolution)
    case remove(RemovalRequest)
    case free(SpaceRequest)
    case needs(folder: String?)
    /// Of a file, or of all in a directory; nil for all folders.
    case versions(PathReference?)
    case restoreVersion(VersionRestore)
    case conflicts(folder: String?)
    case conflictDetails(PathReference)
    case resolveConflicts(ConflictResolution)
    case refused(folder: String?)
    case settleRefused(RefusalRequest)
    case invite(InvitationRequest)
    case invitations
    case revokeInvitation(Int64)
    case join(JoinRequest)
    case notes(PathReference)
    case changeNotes(NoteChange)
    case syncNow(SyncRequest)
    case stat(PathReference)
    case list(PathReference, isRecursive: Bool)
    case search(text: String, folder: String?, limit: Int)
    case whereis(PathReference)
    case fetch(FetchRequest)
    /// A file's bytes; the range is in the `Range` header.
    case file(PathReference)
    /// `HEAD` of the same.
    case fileHead(PathReference)
    case thumbnail(PathReference)
    case link(LinkRequest)
    case cluster(ClusterOperation)
    case archive(ArchiveOperation)
    case page(PageOperation)
    case stop

    public enum Method: String, Sendable {
        case get = "GET", head = "HEAD", post = "POST", patch = "PATCH", delete = "DELETE"
    }

    public var method: Method {
        switch self {
        case .status, .events, .devices, .pairStatus, .nearby, .folders, .pending, .selection, .explain, .extraneous,
            .needs, .versions, .conflicts, .conflictDetails, .refused, .invitations, .notes, .stat,
            .list,
            .search, .whereis, .file, .thumbnail:
            .get
        case .fileHead: .head
        case .addDevice, .pair, .answerPairing, .dropSend, .dropReceive, .answerDrop, .addFolder, .setFolderMode,
            .perform, .resetIndex, .select, .scan, .resolve, .remove, .free, .restoreVersion, .resolveConflicts,
            .settleRefused, .invite, .join, .changeNotes, .syncNow, .fetch, .link, .stop:
            .post
        case .renameDevice, .setFolderPaused, .setFolderBluetooth, .setDeviceBluetooth, .setFolderRole:
            .patch
        case .removeDevice, .removeFolder, .revokeInvitation: .delete
        case .cluster(let operation): operation.method
        case .archive(let operation): operation.method
        case .page(let operation): operation.method
        }
    }

    /// Path and query, percent-encoded.
    public var target: String {
        let path: String
        let query: [(String, String)]
        if case .cluster(let operation) = self {
            (path, query) = (operation.path, operation.query)
        } else if case .archive(let operation) = self {
            (path, query) = (operation.path, operation.query)
        } else if case .page(let operation) = self {
            (path, query) = (operation.path, operation.query)
        } else {
            (path, query) = (routeAndQuery.0.rawValue, routeAndQuery.1)
        }
        guard !query.isEmpty else { return path }
        return path + "?" + RequestQuery(query).encoded
    }

    /// JSON, for the operations that have a body. Throws `tooLarge` for more paths than a request has.
    public func body() throws(ControlError) -> [UInt8]? {
        try checkLimits()
        switch self {
        case .addDevice(let settings): return try ControlJSON.encode(settings)
        case .renameDevice(let rename): return try ControlJSON.encode(rename)
        case .pair(let request): return try ControlJSON.encode(request)
        case .answerPairing(let answer): return try ControlJSON.encode(answer)
        case .dropSend(let request): return try ControlJSON.encode(request)
        case .dropReceive(let request): return try ControlJSON.encode(request)
        case .answerDrop(let answer): return try ControlJSON.encode(answer)
        case .addFolder(let settings): return try ControlJSON.encode(settings)
        case .setFolderPaused(let pause): return try ControlJSON.encode(pause)
        case .resetIndex(let reset): return try ControlJSON.encode(reset)
        case .setFolderMode(let change): return try ControlJSON.encode(change)
        case .setFolderBluetooth(let change): return try ControlJSON.encode(change)
        case .setDeviceBluetooth(let change): return try ControlJSON.encode(change)
        case .setFolderRole(let change): return try ControlJSON.encode(change)
        case .perform(let action): return try ControlJSON.encode(action)
        case .select(let change): return try ControlJSON.encode(change)
        case .scan(let request): return try ControlJSON.encode(request)
        case .resolve(let request): return try ControlJSON.encode(request)
        case .remove(let request): return try ControlJSON.encode(request)
        case .free(let request): return try ControlJSON.encode(request)
        case .restoreVersion(let request): return try ControlJSON.encode(request)
        case .resolveConflicts(let resolution): return try ControlJSON.encode(resolution)
        case .changeNotes(let request): return try ControlJSON.encode(request)
        case .invite(let request): return try ControlJSON.encode(request)
        case .join(let request): return try ControlJSON.encode(request)
        case .settleRefused(let request): return try ControlJSON.encode(request)
        case .syncNow(let request): return try ControlJSON.encode(request)
        case .fetch(let request): return try ControlJSON.encode(request)
        case .link(let request): return try ControlJSON.encode(request)
        case .cluster(let operation): return try operation.body()
        case .page(let operation): return try operation.body()
        case .status, .events, .devices, .pairStatus, .nearby, .removeDevice, .folders, .removeFolder, .pending,
            .selection, .explain,
            .extraneous, .needs, .versions, .conflicts, .conflictDetails, .refused, .invitations,
            .revokeInvitation, .notes, .stat, .list, .search, .whereis,
            .file, .thumbnail,
            .fileHead, .archive, .stop:
            return nil
        }
    }

    /// What both ends hold each other to.
    private func checkLimits() throws(ControlError) {
        switch self {
        case .select(let change):
            guard !change.paths.isEmpty else {
                throw ControlError(.invalidRequest, "Say which paths; see `synctrain select --help`.")
            }
            try PathReference.check(change.paths)
        case .resolve(let request): try PathReference.checkSome(request.paths, of: "extraneous resolve")
        case .remove(let request): try PathReference.checkSome(request.paths, of: "rm")
        case .settleRefused(let request):
            try PathReference.checkSome(request.paths, of: "refused \(request.action.rawValue)")
        case .pair(let request): try request.check()
        case .cluster(let operation): try operation.check()
        case .archive(let operation): try operation.check()
        case .page(let operation): try operation.check()
        case .dropSend(let request): try request.check()
        case .dropReceive(let request): try request.check()
        case .scan(let request): try PathReference.check(request.paths)
        case .fetch(let request): try PathReference.check(request.paths)
        case .link(let request): try request.check()
        case .versions(let path): try PathReference.check(path.map { [$0] } ?? [])
        case .notes(let path), .thumbnail(let path): try PathReference.check([path])
        case .changeNotes(let request): try PathReference.check([request.path])
        case .restoreVersion(let request): try PathReference.check([request.path])
        case .conflictDetails(let path): try PathReference.check([path])
        case .resolveConflicts(let resolution):
            guard !resolution.paths.isEmpty else {
                throw ControlError(.invalidRequest, "Say which conflicts; see `synctrain conflicts resolve --help`.")
            }
            try PathReference.check(resolution.paths)
        case .stat(let path), .whereis(let path), .explain(let path), .list(let path, _), .file(let path),
            .fileHead(let path):
            try PathReference.check([path])
        default: break
        }
    }

    /// Reads a request. Throws `notFound`, `methodNotAllowed`, `tooLarge` or `invalidRequest`.
    public init(method: String, target: String, body: [UInt8]) throws(ControlError) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = try RequestQuery(encoded: parts.count > 1 ? String(parts[1]) : "")
        if let operation = try ClusterOperation(
            method: method, path: String(parts.first ?? ""), query: query, body: body)
        {
            self = .cluster(operation)
            return
        }
        if let operation = try ArchiveOperation(method: method, path: String(parts.first ?? ""), query: query) {
            self = .archive(operation)
            return
        }
        if let operation = try PageOperation(
            method: method, path: String(parts.first ?? ""), query: query, body: body)
        {
            self = .page(operation)
            return
        }
        guard let path = parts.first, let route = Route(rawValue: String(path)) else {
            throw ControlError(.notFound, "The agent has nothing at \(parts.first ?? ""); see docs/control-api.md.")
        }
        switch (route, Method(rawValue: method)) {
        case (.status, .get): self = .status
        case (.events, .get): self = .events
        case (.devices, .get): self = .devices
        case (.devices, .post): self = .addDevice(try ControlJSON.decode(DeviceSettings.self, from: body))
        case (.devices, .patch): self = .renameDevice(try ControlJSON.decode(DeviceRename.self, from: body))
        case (.devices, .delete): self = .removeDevice(try query.required("device"))
        case (.pair, .post): self = .pair(try ControlJSON.decode(PairRequest.self, from: body))
        case (.pair, .get): self = .pairStatus
        case (.pairAnswer, .post): self = .answerPairing(try ControlJSON.decode(PairAnswer.self, from: body))
        case (.nearby, .get): self = .nearby
        case (.dropSend, .post): self = .dropSend(try ControlJSON.decode(DropSendRequest.self, from: body))
        case (.dropReceive, .post): self = .dropReceive(try ControlJSON.decode(DropReceiveRequest.self, from: body))
        case (.dropAnswer, .post): self = .answerDrop(try ControlJSON.decode(DropAnswer.self, from: body))
        case (.folders, .get): self = .folders
        case (.folders, .post): self = .addFolder(try ControlJSON.decode(FolderSettings.self, from: body))
        case (.folders, .patch): self = .setFolderPaused(try ControlJSON.decode(FolderPause.self, from: body))
        case (.folders, .delete): self = .removeFolder(try query.required("folder"))
        case (.folderMode, .post): self = .setFolderMode(try ControlJSON.decode(FolderModeChange.self, from: body))
        case (.folderBluetooth, .patch):
            self = .setFolderBluetooth(try ControlJSON.decode(FolderBluetoothChange.self, from: body))
        case (.deviceBluetooth, .patch):
            self = .setDeviceBluetooth(try ControlJSON.decode(DeviceBluetoothChange.self, from: body))
        case (.folderRole, .patch): self = .setFolderRole(try ControlJSON.decode(FolderRoleChange.self, from: body))
        case (.notes, .get): self = .notes(try query.path())
        case (.notes, .post): self = .changeNotes(try ControlJSON.decode(NoteChange.self, from: body))
        case (.invitations, .get): self = .invitations
        case (.invitations, .post): self = .invite(try ControlJSON.decode(InvitationRequest.self, from: body))
        case (.invitations, .delete): self = .revokeInvitation(Int64(try query.count("number") ?? 0))
        case (.join, .post): self = .join(try ControlJSON.decode(JoinRequest.self, from: body))
        case (.refused, .get): self = .refused(folder: try query.folder())
        case (.refused, .post): self = .settleRefused(try ControlJSON.decode(RefusalRequest.self, from: body))
        case (.folderAction, .post): self = .perform(try ControlJSON.decode(FolderAction.self, from: body))
        case (.pending, .get): self = .pending
        case (.selection, .get): self = .selection(folder: try query.folder())
        case (.selection, .post): self = .select(try ControlJSON.decode(SelectionChange.self, from: body))
        case (.explain, .get): self = .explain(try query.path())
        case (.scan, .post): self = .scan(try ControlJSON.decode(ScanRequest.self, from: body))
        case (.extraneous, .get): self = .extraneous(folder: try query.folder())
        case (.extraneous, .post): self = .resolve(try ControlJSON.decode(ExtraneousResolution.self, from: body))
        case (.remove, .post): self = .remove(try ControlJSON.decode(RemovalRequest.self, from: body))
        case (.free, .post): self = .free(try ControlJSON.decode(SpaceRequest.self, from: body))
        case (.need, .get): self = .needs(folder: try query.folder())
        case (.versions, .get): self = .versions(query["path"] == nil ? nil : try query.path())
        case (.versionsRestore, .post):
            self = .restoreVersion(try ControlJSON.decode(VersionRestore.self, from: body))
        case (.conflicts, .get): self = .conflicts(folder: try query.folder())
        case (.conflictDetails, .get): self = .conflictDetails(try query.path())
        case (.conflictsResolve, .post):
            self = .resolveConflicts(try ControlJSON.decode(ConflictResolution.self, from: body))
        case (.sync, .post): self = .syncNow(try ControlJSON.decode(SyncRequest.self, from: body))
        case (.resetIndex, .post): self = .resetIndex(try ControlJSON.decode(IndexReset.self, from: body))
        case (.stat, .get): self = .stat(try query.path())
        case (.entries, .get): self = .list(try query.path(), isRecursive: try query.flag("recursive"))
        case (.search, .get):
            self = .search(
                text: try query.required("text"), folder: query["folder"], limit: try query.count("limit") ?? .max)
        case (.whereis, .get): self = .whereis(try query.path())
        case (.fetch, .post): self = .fetch(try ControlJSON.decode(FetchRequest.self, from: body))
        case (.file, .get): self = .file(try query.path())
        case (.file, .head): self = .fileHead(try query.path())
        case (.thumbnail, .get): self = .thumbnail(try query.path())
        case (.links, .post): self = .link(try ControlJSON.decode(LinkRequest.self, from: body))
        case (.stop, .post): self = .stop
        default:
            throw ControlError(
                .methodNotAllowed, "\(route.rawValue) does not take \(method); see docs/control-api.md.")
        }
        try checkLimits()
    }

    enum Route: String, CaseIterable {
        case status = "/v1/status"
        case events = "/v1/events"
        case devices = "/v1/devices"
        case pair = "/v1/pair"
        case pairAnswer = "/v1/pair/answer"
        case nearby = "/v1/nearby"
        case dropSend = "/v1/drop/send"
        case dropReceive = "/v1/drop/receive"
        case dropAnswer = "/v1/drop/answer"
        case folders = "/v1/folders"
        case folderMode = "/v1/folders/mode"
        case folderBluetooth = "/v1/folders/bluetooth"
        case deviceBluetooth = "/v1/devices/bluetooth"
        case folderRole = "/v1/folders/role"
        case folderAction = "/v1/folders/action"
        case pending = "/v1/pending"
        case resetIndex = "/v1/index/reset"
        case selection = "/v1/selection"
        case explain = "/v1/explain"
        case scan = "/v1/scan"
        case extraneous = "/v1/extraneous"
        case need = "/v1/need"
        case remove = "/v1/remove"
        case free = "/v1/free"
        case versions = "/v1/versions"
        case versionsRestore = "/v1/versions/restore"
        case conflicts = "/v1/conflicts"
        case conflictDetails = "/v1/conflicts/details"
        case conflictsResolve = "/v1/conflicts/resolve"
        case refused = "/v1/refused"
        case invitations = "/v1/invitations"
        case notes = "/v1/notes"
        case join = "/v1/join"
        case sync = "/v1/sync"
        case stat = "/v1/stat"
        case entries = "/v1/entries"
        case search = "/v1/search"
        case whereis = "/v1/whereis"
        case fetch = "/v1/fetch"
        case file = "/v1/file"
        case thumbnail = "/v1/thumbnail"
        case links = "/v1/links"
        case stop = "/v1/stop"
    }

    private var routeAndQuery: (Route, [(String, String)]) {
        switch self {
        case .status: (.status, [])
        case .events: (.events, [])
        case .devices, .addDevice, .renameDevice: (.devices, [])
        case .removeDevice(let device): (.devices, [("device", device)])
        case .pair, .pairStatus: (.pair, [])
        case .answerPairing: (.pairAnswer, [])
        case .nearby: (.nearby, [])
        case .dropSend: (.dropSend, [])
        case .dropReceive: (.dropReceive, [])
        case .answerDrop: (.dropAnswer, [])
        case .folders, .addFolder, .setFolderPaused: (.folders, [])
        case .removeFolder(let folder): (.folders, [("folder", folder)])
        case .setFolderMode: (.folderMode, [])
        case .setFolderBluetooth: (.folderBluetooth, [])
        case .setDeviceBluetooth: (.deviceBluetooth, [])
        case .setFolderRole: (.folderRole, [])
        case .refused(let folder): (.refused, Self.query(folder))
        case .settleRefused: (.refused, [])
        case .invitations, .invite: (.invitations, [])
        case .revokeInvitation(let number): (.invitations, [("number", String(number))])
        case .join: (.join, [])
        case .notes(let path): (.notes, path.query)
        case .changeNotes: (.notes, [])
        case .perform: (.folderAction, [])
        case .pending: (.pending, [])
        case .resetIndex: (.resetIndex, [])
        case .select: (.selection, [])
        case .selection(let folder): (.selection, Self.query(folder))
        case .explain(let path): (.explain, path.query)
        case .scan: (.scan, [])
        case .extraneous(let folder): (.extraneous, Self.query(folder))
        case .resolve: (.extraneous, [])
        case .remove: (.remove, [])
        case .free: (.free, [])
        case .needs(let folder): (.need, Self.query(folder))
        case .versions(let path): (.versions, path?.query ?? [])
        case .restoreVersion: (.versionsRestore, [])
        case .conflicts(let folder): (.conflicts, Self.query(folder))
        case .conflictDetails(let path): (.conflictDetails, path.query)
        case .resolveConflicts: (.conflictsResolve, [])
        case .syncNow: (.sync, [])
        case .stat(let path): (.stat, path.query)
        case .list(let path, let isRecursive):
            (.entries, path.query + (isRecursive ? [("recursive", "true")] : []))
        case .search(let text, let folder, let limit):
            (
                .search,
                [("text", text)] + Self.query(folder)
                    + (limit == .max ? [] : [("limit", String(limit))])
            )
        case .whereis(let path): (.whereis, path.query)
        case .fetch: (.fetch, [])
        case .file(let path), .fileHead(let path): (.file, path.query)
        case .thumbnail(let path): (.thumbnail, path.query)
        case .link: (.links, [])
        case .stop, .cluster, .archive, .page: (.stop, [])
        }
    }

    private static func query(_ folder: String?) -> [(String, String)] { folder.map { [("folder", $0)] } ?? [] }
}

extension PathReference {
    fileprivate static func checkSome(_ paths: [PathReference], of command: String) throws(ControlError) {
        guard !paths.isEmpty else {
            throw ControlError(.invalidRequest, "Say which paths; see `synctrain \(command) --help`.")
        }
        try check(paths)
    }

    fileprivate var query: [(String, String)] { [("path", text), ("cwd", workingDirectory)] }
}

extension RequestQuery {
    fileprivate func path() throws(ControlError) -> PathReference {
        PathReference(text: try required("path"), workingDirectory: self["cwd"] ?? "/")
    }

    /// Nil for all folders.
    fileprivate func folder() throws(ControlError) -> String? {
        self["folder"] == nil ? nil : try required("folder")
    }
}
