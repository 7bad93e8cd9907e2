/// What the page and whoever opens it ask besides what the command line asks, as it goes over HTTP.
public enum PageOperation: Equatable, Sendable {
    case logIn
    case logOut

    var method: ControlOperation.Method {
        switch self {
        case .logIn: .post
        case .logOut: .delete
        }
    }

    var path: String {
        switch self {
        case .logIn, .logOut: "/v1/sessions"
        }
    }

    var query: [(String, String)] {
        switch self {
        case .logIn, .logOut: []
        }
    }

    /// Nil if the target is none of these.
    init?(method: String, path: String, query: RequestQuery, body: [UInt8]) throws(ControlError) {
        switch (path, ControlOperation.Method(rawValue: method)) {
        case ("/v1/sessions", .post): self = .logIn
        case ("/v1/sessions", .delete): self = .logOut
        case ("/v1/sessions", _):
            throw ControlError(.methodNotAllowed, "\(path) does not take \(method); see docs/control-api.md.")
        default: return nil
        }
    }
}

/// A link that logs a browser in to the page.
public struct LoginLink: Codable, Equatable, Sendable {
    public var schema = 1
    /// `http://127.0.0.1:PORT/login?token=…`; good once.
    public var url: String
    /// How long it is good for.
    public var seconds: Int

    public init(url: String, seconds: Int) {
        self.url = url
        self.seconds = seconds
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
    func logIn() async throws -> LoginLink
    /// Ends what all browsers were logged in for, answers that are under way included.
    func logOut() async throws -> LogOutAnswer
}
