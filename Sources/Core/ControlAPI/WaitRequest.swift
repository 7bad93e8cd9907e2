/// Waits until paths are here as the other devices have them.
package struct WaitRequest: Codable, Equatable, Sendable, CheckedRequest {
    package var paths: [PathReference]
    /// How long at most; nil: for ever.
    package var seconds: Double?

    package init(paths: [PathReference], seconds: Double? = nil) {
        self.paths = paths
        self.seconds = seconds
    }

    func check() throws(ControlError) {
        guard !paths.isEmpty else { throw ControlError(.invalidRequest, "Give at least one path to wait for.") }
        try PathReference.check(paths)
        if let seconds, !(0...31_536_000).contains(seconds) {
            throw ControlError(.invalidRequest, "Timeout must be between 0 s and 1 year.")
        }
    }
}
