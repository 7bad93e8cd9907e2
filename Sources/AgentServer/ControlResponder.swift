import ControlAPI
import Logging
import NIOCore
import ServiceLifecycle

/// Turns a request into a call of the agent and what the agent says into a response.
struct ControlResponder: Sendable {
    let control: any AgentControl
    let logger: Logger
    /// What links to files are signed with; nil where there are none.
    var links: LinkEndpoint?
    /// Returns when so many bytes of a file that a link leads to may go.
    var pace: @Sendable (Int) async -> Void = { _ in }
    let jobs: JobRegistry
    /// The agent's log.
    let records: RecordRing
    /// The modules of a QR code for a text, rows from the top, true for dark.
    let code: @Sendable (String) throws -> [[Bool]]

    func respond(to request: ControlRequest, through sink: ResponseSink) async {
        do {
            switch request.admission {
            case .page(let name): return try await answerPage(name, request, through: sink)
            case .login: return try await answerLogin(request, through: sink)
            case .link: return try await answerLink(request, through: sink)
            case .user where request.path == LinkTarget.path: return try await answerLink(request, through: sink)
            case .user, .session: break
            }
            let operation = try request.operation()
            if let part = try await part(of: operation, request) { return try await sink.answer(json: part) }
            if try await answerAsJob(operation, request, through: sink) { return }
            switch operation {
            case .page(.deviceCode): try await answerDeviceCode(through: sink)
            case .page(.records): try await stream(operation, request, through: sink)
            case .events, .list, .search, .fetch, .pair, .dropSend, .dropReceive, .selection, .extraneous, .needs,
                .versions, .conflicts, .refused:
                try await stream(operation, request, through: sink)
            case .cluster(let asked) where asked.isStream:
                try await stream(operation, request, through: sink)
            case .file(let path):
                try await fileResponse(to: request, through: sink).send(path, ranges: request.ranges)
            case .fileHead(let path):
                try await fileResponse(to: request, through: sink).sendHead(path)
            case .archive(.member(let member)):
                try await memberResponse(to: request, through: sink).send(member, ranges: request.ranges)
            case .archive(.memberHead(let member)):
                try await memberResponse(to: request, through: sink).sendHead(member)
            case .thumbnail(let path): try await answerThumbnail(of: path, through: sink)
            default:
                try await sink.answer(json: try await document(for: operation))
            }
        } catch {
            // Everything that streams deals with errors behind its first byte itself: nothing has been sent yet.
            await sink.answer(report(error))
        }
    }

    func document(for operation: ControlOperation) async throws -> [UInt8] {
        switch operation {
        case .status: return try ControlJSON.encode(try await control.status())
        case .devices: return try ControlJSON.encode(DeviceList(devices: try await control.status().devices))
        case .folders: return try ControlJSON.encode(FolderList(folders: try await control.status().folders))
        case .pending:
            return try ControlJSON.encode(
                PendingList(devices: try await control.pendingDevices(), folders: try await control.pendingFolders()))
        case .stat(let path): return try ControlJSON.encode(try await control.stat(path))
        case .whereis(let path): return try ControlJSON.encode(try await control.whereis(path))
        case .addDevice(let settings): try await control.addDevice(settings)
        case .renameDevice(let rename): try await control.renameDevice(rename.device, to: rename.name)
        case .removeDevice(let device): try await control.removeDevice(device)
        case .answerPairing(let answer): try await control.answerPairing(answer)
        case .pairStatus: return try ControlJSON.encode(try await control.pairStatus())
        case .nearby: return try ControlJSON.encode(NearbyList(devices: try await control.nearbyDevices()))
        case .answerDrop(let answer): try await control.answerDrop(answer)
        case .addFolder(let settings): try await control.addFolder(settings)
        case .setFolderPaused(let pause): try await control.setFolderPaused(pause.folder, pause.isPaused)
        case .removeFolder(let folder): try await control.removeFolder(folder)
        case .setFolderBluetooth(let change): try await control.setFolderBluetooth(change)
        case .setDeviceBluetooth(let change): try await control.setDeviceBluetooth(change)
        case .setFolderRole(let change): try await control.setFolderRole(change)
        case .notes(let path): return try ControlJSON.encode(try await control.notes(path))
        case .changeNotes(let request): return try ControlJSON.encode(try await control.changeNotes(request))
        case .invite(let request): return try ControlJSON.encode(try await control.invite(request))
        case .invitations: return try ControlJSON.encode(try await control.invitationList())
        case .revokeInvitation(let number): try await control.revokeInvitation(number)
        case .join(let request): return try ControlJSON.encode(try await control.join(request))
        case .settleRefused(let request): return try ControlJSON.encode(try await control.settleRefused(request))
        case .setFolderMode(let change): return try ControlJSON.encode(try await control.setFolderMode(change))
        case .perform(let action): return try ControlJSON.encode(try await control.perform(action))
        case .select(let change): return try ControlJSON.encode(try await control.select(change))
        case .resolve(let request): return try ControlJSON.encode(try await control.resolve(request))
        case .remove(let request): return try ControlJSON.encode(try await control.remove(request))
        case .free(let request): return try ControlJSON.encode(try await control.free(request))
        case .explain(let path): return try ControlJSON.encode(try await control.explain(path))
        case .scan(let request): return try ControlJSON.encode(try await control.scan(request))
        case .restoreVersion(let request): return try ControlJSON.encode(try await control.restoreVersion(request))
        case .conflictDetails(let path): return try ControlJSON.encode(try await control.conflictDetails(path))
        case .resolveConflicts(let resolution):
            return try ControlJSON.encode(try await control.resolveConflicts(resolution))
        case .link(let request): return try ControlJSON.encode(try await control.link(request))
        case .syncNow(let request): try await control.syncNow(request)
        case .resetIndex(let reset): try await control.resetIndex(folder: reset.folder)
        case .cluster(let asked): return try await document(for: asked)
        case .archive(.list(let query)): return try ControlJSON.encode(try await control.archive(query))
        case .page(let asked): return try await document(for: asked)
        case .stop: try await control.stop()
        case .events, .list, .search, .fetch, .pair, .dropSend, .dropReceive, .selection, .extraneous, .needs,
            .versions,
            .conflicts, .refused, .file, .fileHead, .archive, .thumbnail:
            throw ControlError(.failed, "\(operation.target) has no document. This is a bug; report it.")
        }
        return [UInt8](#"{"schema":1}"#.utf8)
    }

    /// An error before the first line is thrown; later it is the last line.
    private func stream(
        _ operation: ControlOperation, _ request: ControlRequest, through sink: ResponseSink
    ) async throws {
        let isEventStream = operation == .events && request.acceptsEventStream
        let lines = LineStream(sink: sink, framing: isEventStream ? .serverSentEvents : .lines)
        // The head of a stream needs none of the work.
        if sink.isHead { return try await lines.end() }
        do {
            try await cancelWhenGracefulShutdown {
                switch operation {
                case .events where isEventStream:
                    try await control.events(after: request.lastEventID) { id in
                        try await lines.send(id: id)
                    } emit: { event in
                        try await lines.send(try ControlJSON.encode(event), name: event.type, id: event.id)
                    }
                case .events:
                    try await lines.begin()
                    try await control.events { event in
                        try await lines.send(try ControlJSON.encode(event), name: event.type)
                    }
                case .list(let path, let isRecursive):
                    try await control.list(path, isRecursive: isRecursive) { try await lines.add($0) }
                case .search(let text, let folder, let limit):
                    try await control.search(text, folder: folder, limit: limit) { try await lines.add($0) }
                case .selection(let folder):
                    try await control.selection(folder: folder) { path in
                        try await lines.add(try ControlJSON.encode(path))
                    }
                case .extraneous(let folder):
                    try await control.extraneous(folder: folder) { try await lines.add($0) }
                case .needs(let folder):
                    try await control.needs(folder: folder) { try await lines.add($0) }
                case .versions(let path):
                    try await control.versions(path) { version in
                        try await lines.add(try ControlJSON.encode(version))
                    }
                case .conflicts(let folder):
                    try await control.conflicts(folder: folder) { conflict in
                        try await lines.add(try ControlJSON.encode(conflict))
                    }
                case .refused(let folder):
                    try await control.refused(folder: folder) { change in
                        try await lines.add(try ControlJSON.encode(change))
                    }
                case .fetch(let request):
                    try await control.fetch(request) { event in
                        try await lines.send(try ControlJSON.encode(event), name: "fetch")
                    }
                case .pair(let request):
                    try await control.pair(request) { event in
                        try await lines.send(try ControlJSON.encode(event), name: "pair")
                    }
                case .dropSend(let request):
                    try await control.dropSend(request) { notice in
                        try await lines.send(try ControlJSON.encode(notice), name: "drop")
                    }
                case .dropReceive(let request):
                    try await control.dropReceive(request) { notice in
                        try await lines.send(try ControlJSON.encode(notice), name: "drop")
                    }
                case .cluster(let asked): try await stream(asked, to: lines)
                case .page(.records(let query)): try await stream(query, to: lines)
                default: break
                }
            }
            try await lines.end()
        } catch {
            guard lines.hasBegun else { throw error }
            await lines.end(report(error))
        }
    }

    private func report(_ error: any Error) -> ControlError {
        // A client that has what it wants, or that was ended, hangs up in the middle: nothing has failed here.
        if let error = error as? ChannelError, error == .ioOnClosedChannel {
            return ControlError(.interrupted, "The client hung up.", isRetryable: true)
        }
        let error = ControlError(asControl: error)
        if error.code == .failed { logger.warning("A control request failed: \(error)") }
        return error
    }
}

extension ControlError {
    /// What a client is told of any error.
    init(asControl error: any Error) {
        switch error {
        case let error as ControlError: self = error
        case is CancellationError:
            self.init(.stopping, "The agent is stopping. Start it again and repeat the command.", isRetryable: true)
        default: self.init(.failed, "\(error)")
        }
    }
}
