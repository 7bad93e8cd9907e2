/// Waits until paths are here as the other devices have them.
public struct WaitRequest: Codable, Equatable, Sendable {
    public var paths: [PathReference]
    /// How long at most; nil: for ever.
    public var seconds: Double?

    public init(paths: [PathReference], seconds: Double? = nil) {
        self.paths = paths
        self.seconds = seconds
    }

    func check() throws(ControlError) {
        guard !paths.isEmpty else { throw ControlError(.invalidRequest, "Say which paths to wait for.") }
        try PathReference.check(paths)
        if let seconds, !(0...31_536_000).contains(seconds) {
            throw ControlError(.invalidRequest, "One waits from 0 seconds to a year.")
        }
    }
}
