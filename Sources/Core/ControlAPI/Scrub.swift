/// Which files on this disk to compare with their hashes.
package struct ScrubRequest: Codable, Equatable, Sendable, PathsRequest {
    /// Files and directories, at most `ControlLimits.paths`; a text that is a folder's id is the folder. Empty: every
    /// folder that is not paused.
    package var paths: [PathReference]
    /// Whether damaged files are restored from other devices.
    package var isRepairing: Bool

    package init(paths: [PathReference] = [], isRepairing: Bool = false) {
        self.paths = paths
        self.isRepairing = isRepairing
    }

    enum CodingKeys: String, CodingKey { case paths, isRepairing = "repair" }
}

/// What happens during a scrub. For each path: `plan`, `progress` at most ten times a second, then for each damaged file `damaged`
/// and, if it is to be repaired, `repaired` or `failed`; `done` at last.
package struct ScrubEvent: ControlLine, Equatable, Sendable {
    /// A device that has a damaged file's version.
    package struct Holder: Codable, Equatable, Sendable {
        package var device: String
        package var name: String
        package var isConnected: Bool

        package init(device: String, name: String, isConnected: Bool) {
            self.device = device
            self.name = name
            self.isConnected = isConnected
        }

        enum CodingKeys: String, CodingKey { case device, name, isConnected = "connected" }
    }

    package var type: String
    package var folder: String
    /// Relative to the folder's root.
    package var path: String?
    /// Of `plan`: what there is to check. Else what has been checked, earlier runs that this one continues included.
    package var files: Int64?
    /// As `files`; of `repaired` how many bytes other devices sent.
    package var bytes: Int64?
    package var bytesTotal: Int64?
    package var bytesPerSecond: Int64?
    /// Of `plan`: files that an earlier run has checked, where this one continues it.
    package var filesDone: Int64?
    package var wrongBlocks: Int64?
    package var blocks: Int64?
    package var holders: [Holder]?
    /// Of `done`: files that are damaged now.
    package var damaged: Int64?
    package var repaired: Int64?
    /// Files that were edited since the last scan, or while they were read: scans look at them.
    package var changed: Int64?
    package var error: ControlError?
    package var seconds: Double?

    package init(_ type: String, _ folder: String, path: String? = nil) {
        self.type = type
        self.folder = folder
        self.path = path
    }
}
