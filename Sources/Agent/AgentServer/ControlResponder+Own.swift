import ControlAPI
import Synchronization

/// What the server answers itself: from the agent's answers, its own jobs and the log.
extension ControlResponder {
    static func adding(
        to agent: EndpointHandlers, _ jobs: JobRegistry, _ surroundings: ServerSurroundings
    ) -> EndpointHandlers {
        var handlers = agent
        handlers.on(Endpoints.devices) { DeviceList(devices: try await agent.call(Endpoints.status).devices) }
        handlers.on(Endpoints.folders) { FolderList(folders: try await agent.call(Endpoints.status).folders) }
        handlers.on(Endpoints.deviceCode) {
            CodePicture.svg(try surroundings.code(try await agent.call(Endpoints.status).device))
        }
        handlers.on(Endpoints.changePage) { page in
            let part = ListPart(page.range)
            var query = page.changes
            // bounded: both were checked against `PageLimits`
            query.limit = min(ChangeQuery.largestLimit, page.range.offset + page.range.limit)
            let changes = Mutex<[ChangeEntry]>([])
            try await agent.call(Endpoints.changes, query) { change in changes.withLock { $0.append(change) } }
            // The newest come first: pages go back in time.
            let found = changes.withLock { $0 }
            for change in found.reversed().prefix(query.limit) { try part.add { try ControlJSON.encode(change) } }
            return part.document(isWhole: found.count < query.limit)
        }
        handlers.on(Endpoints.description) { PageFile.description.bytes }
        handlers.on(Endpoints.jobs) {
            Array(#"{"schema":1,"jobs":["#.utf8) + jobs.all().joined(separator: ",".utf8) + "]}".utf8
        }
        handlers.on(Endpoints.job) { Self.jobDocument(try jobs.json($0)) }
        handlers.on(Endpoints.endJob) { try jobs.end($0) }
        handlers.on(Endpoints.records) { query, emit in
            let records = surroundings.records
            guard query.isFollowing else {
                for record in records.newest(query.limit, from: query.level) { try await emit(record) }
                return
            }
            let (newest, following) = records.follow(query.limit, from: query.level)
            for record in newest { try await emit(record) }
            for await record in following where record.level >= query.level { try await emit(record) }
        }
        return handlers
    }

    /// Answers with the job if the client asks for one of what may be one; false if not.
    func answerAsJob(
        _ routed: RoutedRequest, _ request: ControlRequest, through sink: ResponseSink
    ) async throws -> Bool {
        guard request.prefersAsync, routed.endpoint.canBeJob else { return false }
        let job = try jobs.begin(String(routed.endpoint.id.path.dropFirst("/v1/".count))) { progress in
            switch routed.reply {
            case .document(let make): return try await make()
            case .lines(_, let write): try await write(Progress(tell: progress))
            case .file, .member: break
            }
            return nil
        }
        try await sink.answer(
            status: 202, json: Self.jobDocument(try jobs.json(job.id)),
            headers: [("location", "/v1/jobs/\(job.id)"), ("preference-applied", "respond-async")])
        return true
    }

    private struct Progress: LineWriter {
        var tell: @Sendable (FetchEvent) -> Void

        func write(_ line: some ControlLine) async throws {
            if let event = line as? FetchEvent { tell(event) }
        }
    }

    private static func jobDocument(_ job: [UInt8]) -> [UInt8] {
        Array(#"{"schema":1,"job":"#.utf8) + job + "}".utf8
    }
}
