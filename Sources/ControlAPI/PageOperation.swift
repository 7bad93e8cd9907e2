/// What the page and whoever opens it ask besides what the command line asks, as it goes over HTTP.
public enum PageOperation: Equatable, Sendable {
    case logIn(LoginRequest)
    case logOut
    case entries(EntryQuery)
    case search(SearchQuery)
    case jobs
    case job(Int)
    /// Cancels a job that runs; forgets one that has ended.
    case endJob(Int)
    /// Lines of the agent's own log.
    case records(RecordQuery)
    /// This device's id as a picture.
    case deviceCode
    /// The control API in OpenAPI.
    case description

    var method: ControlOperation.Method {
        switch self {
        case .logIn: .post
        case .logOut: .delete
        case .entries, .search, .jobs, .job, .records, .deviceCode, .description: .get
        case .endJob: .delete
        }
    }

    var path: String {
        switch self {
        case .logIn, .logOut: "/v1/sessions"
        case .entries: "/v1/entries"
        case .search: "/v1/search"
        case .jobs: "/v1/jobs"
        case .job(let id), .endJob(let id): "/v1/jobs/\(id)"
        case .records: "/v1/records"
        case .deviceCode: "/v1/devices/qr"
        case .description: "/v1/openapi.json"
        }
    }

    var query: [(String, String)] {
        switch self {
        case .logIn, .logOut, .jobs, .job, .endJob, .deviceCode, .description: []
        case .records(let query):
            [("limit", String(query.limit)), ("level", query.level.rawValue)]
                + (query.isFollowing ? [("follow", "true")] : [])
        case .entries(let query):
            [
                ("path", query.path.text), ("cwd", query.path.workingDirectory), ("limit", String(query.limit)),
                ("offset", String(query.offset)), ("sort", query.sort.rawValue),
                ("order", query.isDescending ? "desc" : "asc"), ("filter", query.filter.rawValue),
            ]
        case .search(let query):
            [("text", query.text), ("limit", String(query.limit)), ("offset", String(query.offset))]
                + (query.folder.map { [("folder", $0)] } ?? [])
        }
    }

    func body() throws(ControlError) -> [UInt8]? {
        guard case .logIn(let request) = self, request.hasPage else { return nil }
        return try ControlJSON.encode(request)
    }

    func check() throws(ControlError) {
        switch self {
        case .entries(let query): try PathReference.check([query.path])
        case .records(let query):
            guard (1...RecordQuery.largestLimit).contains(query.limit) else {
                throw ControlError(
                    .invalidRequest, "limit is a number from 1 to \(RecordQuery.largestLimit), not \(query.limit).")
            }
        case .logIn, .logOut, .search, .jobs, .job, .endJob, .deviceCode, .description: break
        }
    }

    /// Nil if the target is none of these.
    init?(method: String, path: String, query: RequestQuery, body: [UInt8]) throws(ControlError) {
        switch (path, ControlOperation.Method(rawValue: method)) {
        case ("/v1/sessions", .post):
            self = .logIn(body.isEmpty ? LoginRequest() : try ControlJSON.decode(LoginRequest.self, from: body))
        case ("/v1/sessions", .delete): self = .logOut
        case ("/v1/sessions", _):
            throw ControlError(.methodNotAllowed, "\(path) does not take \(method); see docs/control-api.md.")
        case ("/v1/entries", .get):
            guard let page = try PageRange(query) else { return nil }
            guard try !query.flag("recursive") else {
                throw ControlError(.invalidRequest, "A page is of one directory: leave `recursive` or `limit` out.")
            }
            self = .entries(
                EntryQuery(
                    path: PathReference(text: try query.required("path"), workingDirectory: query["cwd"] ?? "/"),
                    offset: page.offset, limit: page.limit, sort: try query.choice("sort", of: .name),
                    isDescending: try query.choice("order", of: Order.asc) == .desc,
                    filter: try query.choice("filter", of: .all)))
        case ("/v1/search", .get):
            guard let page = try PageRange(query, isLimitAlone: false) else { return nil }
            self = .search(
                SearchQuery(
                    text: try query.required("text"), folder: query["folder"], offset: page.offset, limit: page.limit))
        case ("/v1/records", .get):
            self = .records(
                RecordQuery(
                    limit: try query.count("limit") ?? RecordQuery.usual, level: try query.choice("level", of: .info),
                    isFollowing: try query.flag("follow")))
        case ("/v1/devices/qr", .get): self = .deviceCode
        case ("/v1/jobs", .get): self = .jobs
        case ("/v1/openapi.json", .get): self = .description
        case ("/v1/records", _), ("/v1/devices/qr", _), ("/v1/jobs", _), ("/v1/openapi.json", _):
            throw ControlError(.methodNotAllowed, "\(path) does not take \(method); see docs/control-api.md.")
        default:
            guard path.hasPrefix("/v1/jobs/") else { return nil }
            guard let id = Int(path.dropFirst("/v1/jobs/".count)), id > 0 else {
                throw ControlError(.notFound, "\(path.prefix(80)) is no job; /v1/jobs names those there are.")
            }
            switch ControlOperation.Method(rawValue: method) {
            case .get: self = .job(id)
            case .delete: self = .endJob(id)
            default:
                throw ControlError(.methodNotAllowed, "A job does not take \(method); see docs/control-api.md.")
            }
        }
        try check()
    }

    private enum Order: String, CaseIterable { case asc, desc }
}

extension RequestQuery {
    /// One of the words of `Choice`; `usual` where the query does not say.
    fileprivate func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String, of usual: Choice
    ) throws(ControlError) -> Choice {
        guard let text = self[name] else { return usual }
        guard let choice = Choice(rawValue: text) else {
            let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlError(.invalidRequest, "\(name) is one of \(words), not \(text.prefix(80)).")
        }
        return choice
    }
}

/// Asks for a link that logs a browser in.
public struct LoginRequest: Codable, Equatable, Sendable {
    /// Whether there is to be a file, too, that leads a browser to the link: a program that is started with the link itself
    /// would show it to every user of the machine among its arguments.
    public var hasPage: Bool

    public init(hasPage: Bool = false) { self.hasPage = hasPage }

    enum CodingKeys: String, CodingKey { case hasPage = "page" }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        hasPage = try container.decodeIfPresent(Bool.self, forKey: .hasPage) ?? false
    }
}

/// A link that logs a browser in to the page.
public struct LoginLink: Codable, Equatable, Sendable {
    public var schema = 1
    /// `http://127.0.0.1:PORT/login?token=…`; good once.
    public var url: String
    /// How long it is good for.
    public var seconds: Int
    /// Absolute: a file for this user alone that leads a browser to the link. It goes when the link is used or expires.
    public var page: String?

    public init(url: String, seconds: Int, page: String? = nil) {
        self.url = url
        self.seconds = seconds
        self.page = page
    }
}

/// How many browsers were logged in and are not any more.
public struct LogOutAnswer: Codable, Equatable, Sendable {
    public var schema = 1
    public var ended: Int

    public init(ended: Int) { self.ended = ended }
}

/// What whoever opens the page asks of an agent.
public protocol PageControl: Sendable {
    /// Makes a link that logs one browser in. Throws `failed` if nothing is listened on for HTTP, with the reason.
    func logIn(_ request: LoginRequest) async throws -> LoginLink
    /// Ends what all browsers were logged in for, answers that are under way included.
    func logOut() async throws -> LogOutAnswer

    /// As `events`, with those behind the one with this id first, and an event `gap` where some are missing.
    ///
    /// - Parameter begin: told the id to come back with for what follows.
    func events(
        after id: String?, begin: @Sendable (_ id: String) async throws -> Void,
        emit: @Sendable (AgentEvent) async throws -> Void
    ) async throws

    /// A part of what is in a directory, or a file's own entry.
    func entries(_ query: EntryQuery) async throws -> EntryPage
    /// A part of what a search finds, by folder and path. The pages behind the first are of the same search.
    func search(_ query: SearchQuery) async throws -> EntryPage
}
