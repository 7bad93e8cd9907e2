/// A request that says what it must be like. Both ends hold it to that: the client before it is sent, the agent when it has
/// been read.
protocol CheckedRequest {
    /// - Throws: `ControlError` with what is wrong, mostly `invalidRequest` or `tooLarge`.
    func check() throws(ControlError)
}

/// A request for one path, which has no other limits.
protocol PathRequest: CheckedRequest {
    var path: PathReference { get }
}

extension PathRequest {
    func check() throws(ControlError) { try PathReference.check([path]) }
}

/// A request for any number of paths, which has no other limits.
protocol PathsRequest: CheckedRequest {
    var paths: [PathReference] { get }
}

extension PathsRequest {
    func check() throws(ControlError) { try PathReference.check(paths) }
}
