public import ControlAPI
public import NIOCore
import NIOHTTP1
import NIOPosix

/// Asks a running agent over its control socket.
///
/// Every call opens a connection of its own; cancelling the calling task closes it, which ends the agent's work. All
/// calls throw `ControlError`: what the agent answered, `noAgent` if none listens, `interrupted` if the answer broke off.
public struct ControlClient: AgentControl {
    private let socketPath: String
    private let group: any EventLoopGroup

    public init(socketPath: String, group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup) {
        self.socketPath = socketPath
        self.group = group
    }

    public func status() async throws -> AgentStatus { try await document(.status) }

    public func events(emit: @Sendable (AgentEvent) async throws -> Void) async throws {
        try await documents(.events, emit: emit)
    }

    /// As without an id: the command line does not come back.
    public func events(
        after id: String?, begin: @Sendable (_ id: String) async throws -> Void,
        emit: @Sendable (AgentEvent) async throws -> Void
    ) async throws {
        try await events(emit: emit)
    }

    public func addDevice(_ settings: DeviceSettings) async throws { try await perform(.addDevice(settings)) }

    public func renameDevice(_ reference: String, to name: String) async throws {
        try await perform(.renameDevice(DeviceRename(device: reference, name: name)))
    }

    public func removeDevice(_ reference: String) async throws { try await perform(.removeDevice(reference)) }

    public func pendingDevices() async throws -> [PendingDevice] {
        let pending: PendingList = try await document(.pending)
        return pending.devices
    }

    public func pair(_ request: PairRequest, emit: @Sendable (PairEvent) async throws -> Void) async throws {
        try await documents(.pair(request), emit: emit)
    }

    public func answerPairing(_ answer: PairAnswer) async throws { try await perform(.answerPairing(answer)) }

    public func pairStatus() async throws -> PairStatus { try await document(.pairStatus) }

    public func nearbyDevices() async throws -> [NearbyEntry] {
        let list: NearbyList = try await document(.nearby)
        return list.devices
    }

    public func dropSend(
        _ request: DropSendRequest, emit: @Sendable (DropNotice) async throws -> Void
    ) async throws {
        try await documents(.dropSend(request), emit: emit)
    }

    public func dropReceive(
        _ request: DropReceiveRequest, emit: @Sendable (DropNotice) async throws -> Void
    ) async throws {
        try await documents(.dropReceive(request), emit: emit)
    }

    public func answerDrop(_ answer: DropAnswer) async throws { try await perform(.answerDrop(answer)) }

    public func addFolder(_ settings: FolderSettings) async throws { try await perform(.addFolder(settings)) }

    public func setFolderPaused(_ id: String, _ isPaused: Bool) async throws {
        try await perform(.setFolderPaused(FolderPause(folder: id, isPaused: isPaused)))
    }

    public func removeFolder(_ id: String) async throws { try await perform(.removeFolder(id)) }

    public func pendingFolders() async throws -> [PendingFolder] {
        let pending: PendingList = try await document(.pending)
        return pending.folders
    }

    public func setFolderMode(_ change: FolderModeChange) async throws -> SelectionAnswer {
        try await document(.setFolderMode(change))
    }

    public func setFolderBluetooth(_ change: FolderBluetoothChange) async throws {
        try await perform(.setFolderBluetooth(change))
    }

    public func setDeviceBluetooth(_ change: DeviceBluetoothChange) async throws {
        try await perform(.setDeviceBluetooth(change))
    }

    public func notes(_ path: PathReference) async throws -> Notes { try await document(.notes(path)) }

    public func changeNotes(_ request: NoteChange) async throws -> Notes { try await document(.changeNotes(request)) }

    public func invite(_ request: InvitationRequest) async throws -> Invitation { try await document(.invite(request)) }

    public func invitationList() async throws -> InvitationList { try await document(.invitations) }

    public func revokeInvitation(_ number: Int64) async throws { try await perform(.revokeInvitation(number)) }

    public func join(_ request: JoinRequest) async throws -> JoinAnswer { try await document(.join(request)) }

    public func setFolderRole(_ change: FolderRoleChange) async throws { try await perform(.setFolderRole(change)) }

    public func refused(folder: String?, emit: @Sendable (RefusedChange) async throws -> Void) async throws {
        try await documents(.refused(folder: folder), emit: emit)
    }

    public func settleRefused(_ request: RefusalRequest) async throws -> RefusalAnswer {
        try await document(.settleRefused(request))
    }

    public func perform(_ action: FolderAction) async throws -> FolderActionOutcome {
        try await document(.perform(action))
    }

    public func select(_ change: SelectionChange) async throws -> SelectionAnswer {
        try await document(.select(change))
    }

    public func selection(folder: String?, emit: @Sendable (SelectedPath) async throws -> Void) async throws {
        try await documents(.selection(folder: folder), emit: emit)
    }

    public func explain(_ path: PathReference) async throws -> ExplainedPath { try await document(.explain(path)) }

    public func scan(_ request: ScanRequest) async throws -> ScanSummary { try await document(.scan(request)) }

    public func extraneous(folder: String?, emit: @Sendable (Entry) async throws -> Void) async throws {
        try await entries(.extraneous(folder: folder), emit: emit)
    }

    public func resolve(_ resolution: ExtraneousResolution) async throws -> ResolutionAnswer {
        try await document(.resolve(resolution))
    }

    public func remove(_ request: RemovalRequest) async throws -> RemovalAnswer { try await document(.remove(request)) }

    public func free(_ request: SpaceRequest) async throws -> SpaceAnswer { try await document(.free(request)) }

    public func needs(folder: String?, emit: @Sendable (Entry) async throws -> Void) async throws {
        try await entries(.needs(folder: folder), emit: emit)
    }

    public func versions(
        _ path: PathReference?, emit: @Sendable (ArchivedVersion) async throws -> Void
    ) async throws {
        try await documents(.versions(path), emit: emit)
    }

    public func restoreVersion(_ request: VersionRestore) async throws -> RestoredVersion {
        try await document(.restoreVersion(request))
    }

    public func conflicts(folder: String?, emit: @Sendable (Conflict) async throws -> Void) async throws {
        try await documents(.conflicts(folder: folder), emit: emit)
    }

    public func conflictDetails(_ path: PathReference) async throws -> ConflictList {
        try await document(.conflictDetails(path))
    }

    public func resolveConflicts(_ resolution: ConflictResolution) async throws -> ConflictAnswer {
        try await document(.resolveConflicts(resolution))
    }

    public func syncNow(_ request: SyncRequest) async throws { try await perform(.syncNow(request)) }

    public func resetIndex(folder: String?) async throws { try await perform(.resetIndex(IndexReset(folder: folder))) }

    public func stat(_ path: PathReference) async throws -> Entry { try await document(.stat(path)) }

    public func list(_ path: PathReference, isRecursive: Bool, emit: @Sendable (Entry) async throws -> Void)
        async throws
    {
        try await entries(.list(path, isRecursive: isRecursive), emit: emit)
    }

    public func search(_ text: String, folder: String?, limit: Int, emit: @Sendable (Entry) async throws -> Void)
        async throws
    {
        try await entries(.search(text: text, folder: folder, limit: limit), emit: emit)
    }

    public func whereis(_ path: PathReference) async throws -> Whereabouts { try await document(.whereis(path)) }

    public func fetch(_ request: FetchRequest, emit: @Sendable (FetchEvent) async throws -> Void) async throws {
        try await documents(.fetch(request), emit: emit)
    }

    /// As `AgentControl.read`. The entry given to `start` is asked for first, by `stat`; a file that changes in between
    /// is found by its size and ends the read.
    public func read(
        _ path: PathReference, range: ByteRange?, start: @Sendable (Entry, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let entry = try await stat(path)
        let part = (range ?? .bytes(from: 0, through: nil)).resolved(size: entry.size)
        try await exchange(.file(path), range: range) { head, body in
            let announced = part.map { $0.upperBound - $0.lowerBound + 1 } ?? 0
            guard head.headers.first(name: "content-length").flatMap({ Int64($0) }) == announced else {
                throw ControlError(
                    .interrupted, "\(path.text) has just changed. Ask again.", isRetryable: true, path: path.text)
            }
            try await start(entry, part)
            while let chunk = try await body.next() {
                try await emit([UInt8](chunk.readableBytesView))
            }
        }
    }

    public func logIn(_ request: LoginRequest) async throws -> LoginLink {
        try await document(.page(.logIn(request)))
    }

    public func logOut() async throws -> LogOutAnswer { try await document(.page(.logOut)) }

    public func entries(_ query: EntryQuery) async throws -> EntryPage { try await document(.page(.entries(query))) }

    public func search(_ query: SearchQuery) async throws -> EntryPage { try await document(.page(.search(query))) }

    public func link(_ request: LinkRequest) async throws -> FileLink { try await document(.link(request)) }

    public func stop() async throws { try await perform(.stop) }
}

// MARK: - Exchange

extension ControlClient {
    func perform(_ operation: ControlOperation) async throws {
        try await exchange(operation) { _, body in
            while try await body.next() != nil {}
        }
    }

    func document<Value: Decodable & Sendable>(_ operation: ControlOperation) async throws -> Value {
        try await exchange(operation) { _, body in
            let bytes = try await body.collect(upTo: ControlLimits.document)
            return try Self.decode(Value.self, from: bytes)
        }
    }

    func entries(
        _ operation: ControlOperation, emit: @Sendable (Entry) async throws -> Void
    ) async throws {
        try await lines(operation) { try await emit(try EntryLine.parse($0)) }
    }

    /// A document on each line.
    func documents<Value: Decodable & Sendable>(
        _ operation: ControlOperation, emit: @Sendable (Value) async throws -> Void
    ) async throws {
        try await lines(operation) { line in
            if let error = ControlJSON.error(inLine: line) { throw error }
            try await emit(try ControlJSON.decode(Value.self, from: line))
        }
    }

    private func lines(_ operation: ControlOperation, each: @Sendable ([UInt8]) async throws -> Void) async throws {
        try await exchange(operation) { _, body in
            var splitter = LineSplitter(limit: ControlLimits.line)
            while let chunk = try await body.next() {
                try splitter.append(chunk.readableBytesView)
                while let line = splitter.next() { try await each(line) }
            }
            guard splitter.isEmpty else { throw ControlError.brokenOff }
        }
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        do {
            return try ControlJSON.decode(type, from: bytes)
        } catch {
            throw ControlError(
                .failed, "The agent's answer is not understood (\(error)). Agent and command may differ in version.")
        }
    }

    /// Sends a request and hands the head of a good answer and its body to `receive`. A bad answer is thrown.
    func exchange<Result: Sendable>(
        _ operation: ControlOperation, range: ByteRange? = nil,
        receive: (HTTPResponseHead, inout AnswerBody) async throws -> Result
    ) async throws -> Result {
        let request = try operation.body()
        let connection = try await connect()
        return try await connection.executeThenClose { inbound, outbound in
            try await send(operation, range: range, body: request, to: outbound)
            var body = AnswerBody(parts: inbound.makeAsyncIterator())
            let head = try await body.head()
            guard (200..<300).contains(head.status.code) else {
                let bytes = try await body.collect(upTo: ControlLimits.document)
                throw (try? ControlJSON.decode(ControlError.self, from: bytes))
                    ?? ControlError(.failed, "The agent answered \(head.status) without saying why.")
            }
            return try await receive(head, &body)
        }
    }

    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    private func connect() async throws -> Connection {
        do {
            return try await ClientBootstrap(group: group).connect(unixDomainSocketPath: socketPath) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
        } catch let error as IOError where error.errnoCode == ENOENT || error.errnoCode == ECONNREFUSED {
            throw ControlError(
                .noAgent,
                "No agent answers on \(socketPath). Start it with `synctrain agent start`, or in the foreground with "
                    + "`synctrain agent run`.", isRetryable: true, path: socketPath)
        } catch let error as IOError where error.errnoCode == EACCES || error.errnoCode == EPERM {
            throw ControlError(
                .noPermission, "The agent on \(socketPath) belongs to another user. Ask as that user.",
                path: socketPath)
        } catch {
            try Task.checkCancellation()
            throw ControlError(.noAgent, "The agent on \(socketPath) cannot be asked: \(error).", path: socketPath)
        }
    }

    private func send(
        _ operation: ControlOperation, range: ByteRange?, body: [UInt8]?,
        to outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
    ) async throws {
        var headers = HTTPHeaders([("host", "synctrain"), ("connection", "close")])
        if let range { headers.add(name: "range", value: "bytes=\(range.text)") }
        if let body {
            headers.add(name: "content-type", value: "application/json")
            headers.add(name: "content-length", value: String(body.count))
        } else if operation.method == .post {
            headers.add(name: "content-length", value: "0")
        }
        let head = HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: operation.method.rawValue), uri: operation.target,
            headers: headers)
        do {
            try await outbound.write(.head(head))
            if let body { try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: body)))) }
            try await outbound.write(.end(nil))
        } catch {
            // A request without a body is whole with its head: the agent may have answered it and hung up before its end
            // is written. What it answered is there to be read; if it did not, reading says so.
            try Task.checkCancellation()
        }
    }
}
