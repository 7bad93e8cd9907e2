/// Every request that there is, as a value: what describes the API is held against it.
public struct ControlRoute: Hashable, Sendable {
    public var method: ControlOperation.Method
    /// `{id}` stands for a number.
    public var path: String

    public init(method: ControlOperation.Method, path: String) {
        self.method = method
        self.path = path
    }

    public static let all: [ControlRoute] = paths.flatMap { path, methods in
        methods.map { ControlRoute(method: $0, path: path) }
    }

    private static let paths: [(String, [ControlOperation.Method])] = [
        ("/v1/archive", [.get]),
        ("/v1/archive/member", [.get, .head]),
        ("/v1/changes", [.get]),
        ("/v1/completion", [.get]),
        ("/v1/conflicts", [.get]),
        ("/v1/conflicts/details", [.get]),
        ("/v1/conflicts/resolve", [.post]),
        ("/v1/devices", [.delete, .get, .patch, .post]),
        ("/v1/devices/bluetooth", [.patch]),
        ("/v1/devices/qr", [.get]),
        ("/v1/drop/answer", [.post]),
        ("/v1/drop/receive", [.post]),
        ("/v1/drop/send", [.post]),
        ("/v1/entries", [.get]),
        ("/v1/events", [.get]),
        ("/v1/explain", [.get]),
        ("/v1/extraneous", [.get, .post]),
        ("/v1/fetch", [.post]),
        ("/v1/file", [.get, .head]),
        ("/v1/folders", [.delete, .get, .patch, .post]),
        ("/v1/folders/action", [.post]),
        ("/v1/folders/bluetooth", [.patch]),
        ("/v1/folders/mode", [.post]),
        ("/v1/folders/role", [.patch]),
        ("/v1/free", [.post]),
        ("/v1/index/reset", [.post]),
        ("/v1/invitations", [.delete, .get, .post]),
        ("/v1/jobs", [.get]),
        ("/v1/jobs/{id}", [.delete, .get]),
        ("/v1/join", [.post]),
        ("/v1/links", [.post]),
        ("/v1/nearby", [.get]),
        ("/v1/need", [.get]),
        ("/v1/notes", [.get, .post]),
        ("/v1/openapi.json", [.get]),
        ("/v1/pair", [.get, .post]),
        ("/v1/pair/answer", [.post]),
        ("/v1/pause", [.patch]),
        ("/v1/pending", [.get]),
        ("/v1/policies", [.patch]),
        ("/v1/records", [.get]),
        ("/v1/refused", [.get, .post]),
        ("/v1/reload", [.post]),
        ("/v1/remove", [.post]),
        ("/v1/scan", [.post]),
        ("/v1/search", [.get]),
        ("/v1/selection", [.get, .post]),
        ("/v1/sessions", [.delete, .post]),
        ("/v1/stat", [.get]),
        ("/v1/status", [.get]),
        ("/v1/stop", [.post]),
        ("/v1/sync", [.post]),
        ("/v1/thumbnail", [.get]),
        ("/v1/transfers", [.get]),
        ("/v1/versions", [.get]),
        ("/v1/versions/restore", [.post]),
        ("/v1/wait", [.post]),
        ("/v1/whereis", [.get]),
    ]
}
