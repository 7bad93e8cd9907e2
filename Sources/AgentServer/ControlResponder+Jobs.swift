import ControlAPI

extension ControlOperation {
    /// What a job of it is called; nil for what is no job.
    fileprivate var jobKind: String? {
        switch self {
        case .fetch: "fetch"
        case .scan: "scan"
        case .select: "selection"
        case .resolve: "extraneous"
        case .remove: "remove"
        case .free: "free"
        case .perform: "folders/action"
        case .resolveConflicts: "conflicts/resolve"
        default: nil
        }
    }
}

/// What goes on without its request, and what is told of it.
extension ControlResponder {
    /// Answers with the job if the client asks for one of what may be one; false if not.
    func answerAsJob(
        _ operation: ControlOperation, _ request: ControlRequest, through sink: ResponseSink
    ) async throws -> Bool {
        guard request.prefersAsync, let kind = operation.jobKind else { return false }
        let job: Job
        if case .fetch(let fetch) = operation {
            job = try jobs.begin(kind) { progress in
                try await control.fetch(fetch) { progress($0) }
                return nil
            }
        } else {
            job = try jobs.begin(kind) { _ in try await document(for: operation) }
        }
        try await sink.answer(
            status: 202, json: Self.jobDocument(try jobs.json(job.id)),
            headers: [("location", "/v1/jobs/\(job.id)"), ("preference-applied", "respond-async")])
        return true
    }

    func document(forJob operation: PageOperation) throws(ControlError) -> [UInt8]? {
        switch operation {
        case .jobs: return Array(#"{"schema":1,"jobs":["#.utf8) + jobs.all().joined(separator: ",".utf8) + "]}".utf8
        case .job(let id): return Self.jobDocument(try jobs.json(id))
        case .endJob(let id):
            try jobs.end(id)
            return [UInt8](#"{"schema":1}"#.utf8)
        default: return nil
        }
    }

    private static func jobDocument(_ job: [UInt8]) -> [UInt8] {
        Array(#"{"schema":1,"job":"#.utf8) + job + "}".utf8
    }

    /// The agent's log: what is there, and on with what comes.
    func stream(_ query: RecordQuery, to lines: LineStream) async throws {
        guard query.isFollowing else {
            for record in records.newest(query.limit, from: query.level) {
                try await lines.add(try ControlJSON.encode(record))
            }
            return
        }
        let (newest, following) = records.follow(query.limit, from: query.level)
        try await lines.begin()
        for record in newest { try await lines.send(try ControlJSON.encode(record), name: "record") }
        for await record in following where record.level >= query.level {
            try await lines.send(try ControlJSON.encode(record), name: "record")
        }
    }

    /// This device's id as a picture that others take.
    func answerDeviceCode(through sink: ResponseSink) async throws {
        let svg = CodePicture.svg(try code(try await control.status().device))
        try await sink.begin(status: 200, contentType: "image/svg+xml", contentLength: Int64(svg.count))
        try await sink.write(svg)
        try await sink.end()
    }
}
