/// Lets folders and devices rest, or ends their rest.
package struct PauseChange: Codable, Equatable, Sendable, CheckedRequest {
    /// Ids.
    package var folders: [String]
    /// Ids or names.
    package var devices: [String]
    /// All folders and all devices.
    package var isAll: Bool
    package var isPaused: Bool
    /// After so many seconds the rest ends by itself; nil: when told to.
    package var seconds: Int64?

    package static let longest: Int64 = 31_536_000

    package init(
        folders: [String] = [], devices: [String] = [], isAll: Bool = false, isPaused: Bool, seconds: Int64? = nil
    ) {
        self.folders = folders
        self.devices = devices
        self.isAll = isAll
        self.isPaused = isPaused
        self.seconds = seconds
    }

    /// Throws `invalidRequest` for what says nothing or too much.
    package func check() throws(ControlError) {
        let verb = isPaused ? "pause" : "resume"
        guard isAll || !folders.isEmpty || !devices.isEmpty else {
            throw ControlError(
                .invalidRequest, "Give folder ids, --device or --all; see `synctrain \(verb) --help`.")
        }
        guard folders.count + devices.count <= ControlLimits.paths else {
            throw ControlError(.tooLarge, "A request names at most \(ControlLimits.paths) folders and devices.")
        }
        if let seconds {
            guard isPaused, (1...Self.longest).contains(seconds) else {
                throw ControlError(
                    .invalidRequest, "A pause must last between 1 second and 1 year; a resume has no duration.")
            }
        }
    }

    enum CodingKeys: String, CodingKey { case folders, devices, isAll = "all", isPaused = "paused", seconds }
}
