/// What is asked about several devices at once, as it goes over HTTP.
public enum ClusterOperation: Equatable, Sendable {
    case setPaused(PauseChange)
    /// What another device has yet to get; all folders that it shares for nil.
    case remoteNeeds(device: String, folder: String?)
    case completion(folder: String?, device: String?)
    case wait(WaitRequest)
    case changes(ChangeQuery)
    case reload(ReloadRequest)
    case setPolicies(PolicyChange)
    case transfers

    var method: ControlOperation.Method {
        switch self {
        case .remoteNeeds, .completion, .changes, .transfers: .get
        case .wait, .reload: .post
        case .setPaused, .setPolicies: .patch
        }
    }

    var path: String {
        switch self {
        case .setPaused: "/v1/pause"
        case .remoteNeeds: "/v1/need"
        case .completion: "/v1/completion"
        case .wait: "/v1/wait"
        case .changes: "/v1/changes"
        case .reload: "/v1/reload"
        case .setPolicies: "/v1/policies"
        case .transfers: "/v1/transfers"
        }
    }

    var query: [(String, String)] {
        switch self {
        case .remoteNeeds(let device, let folder):
            [("device", device)] + (folder.map { [("folder", $0)] } ?? [])
        case .completion(let folder, let device):
            (folder.map { [("folder", $0)] } ?? []) + (device.map { [("device", $0)] } ?? [])
        case .changes(let query):
            (query.path.map { [("path", $0.text), ("cwd", $0.workingDirectory)] } ?? [])
                + (query.since.map { [("since", String($0))] } ?? []) + [("limit", String(query.limit))]
                + (query.isFollowing ? [("follow", "true")] : [])
        case .setPaused, .wait, .reload, .setPolicies, .transfers: []
        }
    }

    func body() throws(ControlError) -> [UInt8]? {
        switch self {
        case .setPaused(let change): try ControlJSON.encode(change)
        case .wait(let request): try ControlJSON.encode(request)
        case .setPolicies(let change): try ControlJSON.encode(change)
        case .reload(let request): request.isConfirmed ? try ControlJSON.encode(request) : nil
        case .remoteNeeds, .completion, .changes, .transfers: nil
        }
    }

    func check() throws(ControlError) {
        switch self {
        case .setPaused(let change): try change.check()
        case .wait(let request): try request.check()
        case .setPolicies(let change): try change.check()
        case .changes(let query):
            try PathReference.check(query.path.map { [$0] } ?? [])
            guard (1...ChangeQuery.largestLimit).contains(query.limit), (0...1_000_000_000).contains(query.since ?? 0)
            else {
                throw ControlError(
                    .invalidRequest,
                    "limit is a number from 1 to \(ChangeQuery.largestLimit), since a number of seconds.")
            }
        case .remoteNeeds, .completion, .reload, .transfers: break
        }
    }

    /// Nil if the target is none of these.
    init?(method: String, path: String, query: RequestQuery, body: [UInt8]) throws(ControlError) {
        switch (path, ControlOperation.Method(rawValue: method)) {
        case ("/v1/pause", .patch): self = .setPaused(try ControlJSON.decode(PauseChange.self, from: body))
        case ("/v1/need", .get):
            guard query["device"] != nil else { return nil }
            self = .remoteNeeds(device: try query.required("device"), folder: try query.optional("folder"))
        case ("/v1/completion", .get):
            self = .completion(folder: try query.optional("folder"), device: try query.optional("device"))
        case ("/v1/wait", .post): self = .wait(try ControlJSON.decode(WaitRequest.self, from: body))
        case ("/v1/changes", .get):
            let path = try query.optional("path").map { PathReference(text: $0, workingDirectory: query["cwd"] ?? "/") }
            self = .changes(
                ChangeQuery(
                    path: path, since: try query.count("since").map { Int64($0) },
                    limit: try query.count("limit") ?? 100,
                    isFollowing: try query.flag("follow")))
        case ("/v1/reload", .post):
            self = .reload(body.isEmpty ? ReloadRequest() : try ControlJSON.decode(ReloadRequest.self, from: body))
        case ("/v1/policies", .patch): self = .setPolicies(try ControlJSON.decode(PolicyChange.self, from: body))
        case ("/v1/transfers", .get): self = .transfers
        case ("/v1/pause", _), ("/v1/completion", _), ("/v1/wait", _), ("/v1/changes", _), ("/v1/reload", _),
            ("/v1/policies", _), ("/v1/transfers", _):
            throw ControlError(.methodNotAllowed, "\(path) does not take \(method); see docs/control-api.md.")
        default: return nil
        }
        try check()
    }
}

/// Asks for the configuration to be read anew.
public struct ReloadRequest: Codable, Equatable, Sendable {
    /// Whether all devices or all folders may go, if the file names none any more.
    public var isConfirmed: Bool

    public init(isConfirmed: Bool = false) { self.isConfirmed = isConfirmed }

    enum CodingKeys: String, CodingKey { case isConfirmed = "confirmed" }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        isConfirmed = try container.decodeIfPresent(Bool.self, forKey: .isConfirmed) ?? false
    }
}

/// What came of reading the configuration anew.
public struct ReloadAnswer: Codable, Equatable, Sendable {
    public var schema = 1
    /// Settings that are other than when the agent was started and take effect when it is started again.
    public var restart: [String]

    public init(restart: [String]) { self.restart = restart }
}

extension RequestQuery {
    /// Nil if the name is not there; throws `invalidRequest` if it is and says nothing.
    fileprivate func optional(_ name: String) throws(ControlError) -> String? {
        self[name] == nil ? nil : try required(name)
    }
}

/// What clients ask of an agent about the devices it works with.
public protocol ClusterControl: Sendable {
    /// Pauses or resumes folders and devices, durably and at once. Throws `noSuchFolder` or `noSuchDevice`, and then
    /// changes nothing.
    func setPaused(_ change: PauseChange) async throws
    /// What `device` has yet to get of what is known here, each directory before what is in it; `folder` nil for all
    /// that it shares. Throws `noSuchDevice`, `noSuchFolder`, and `failed` if it has not told what it has.
    func needs(ofDevice device: String, folder: String?, emit: @Sendable (Entry) async throws -> Void) async throws
    /// How much this device and the others have; `folder` and `device` nil for all.
    func completion(folder: String?, device: String?) async throws -> CompletionAnswer
    /// Returns when all paths are here in their newest version. Throws `timeout` with what is missing, and at once what
    /// cannot end by itself: a path that is not kept, a folder that is paused or has halted.
    func wait(_ request: WaitRequest) async throws
    /// Takes over what the configuration file says now; gives the settings that need a new start of the agent. Throws
    /// `confirmationNeeded`, and changes nothing, if the file names no devices or no folders any more and that is not
    /// confirmed.
    func reload(_ request: ReloadRequest) async throws -> ReloadAnswer
    /// Sets the policies of metered connections and batteries aside, or has them hold again, until the agent ends.
    func setPolicies(_ change: PolicyChange) async throws
    /// What moves now.
    func transferList() async throws -> TransferList
    /// What has changed, oldest first; goes on until cancelled if that is asked for.
    func changes(_ query: ChangeQuery, emit: @Sendable (ChangeEntry) async throws -> Void) async throws
}
