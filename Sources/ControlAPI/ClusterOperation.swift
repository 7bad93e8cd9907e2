/// What is asked about several devices at once, as it goes over HTTP.
public enum ClusterOperation: Equatable, Sendable {
    case setPaused(PauseChange)
    /// What another device has yet to get; all folders that it shares for nil.
    case remoteNeeds(device: String, folder: String?)
    case completion(folder: String?, device: String?)
    case wait(WaitRequest)

    var method: ControlOperation.Method {
        switch self {
        case .remoteNeeds, .completion: .get
        case .wait: .post
        case .setPaused: .patch
        }
    }

    var path: String {
        switch self {
        case .setPaused: "/v1/pause"
        case .remoteNeeds: "/v1/need"
        case .completion: "/v1/completion"
        case .wait: "/v1/wait"
        }
    }

    var query: [(String, String)] {
        switch self {
        case .remoteNeeds(let device, let folder):
            [("device", device)] + (folder.map { [("folder", $0)] } ?? [])
        case .completion(let folder, let device):
            (folder.map { [("folder", $0)] } ?? []) + (device.map { [("device", $0)] } ?? [])
        case .setPaused, .wait: []
        }
    }

    func body() throws(ControlError) -> [UInt8]? {
        switch self {
        case .setPaused(let change): try ControlJSON.encode(change)
        case .wait(let request): try ControlJSON.encode(request)
        case .remoteNeeds, .completion: nil
        }
    }

    func check() throws(ControlError) {
        switch self {
        case .setPaused(let change): try change.check()
        case .wait(let request): try request.check()
        case .remoteNeeds, .completion: break
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
        case ("/v1/pause", _), ("/v1/completion", _), ("/v1/wait", _):
            throw ControlError(.methodNotAllowed, "\(path) does not take \(method); see docs/control-api.md.")
        default: return nil
        }
        try check()
    }
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
}
