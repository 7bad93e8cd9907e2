/// Whether a folder is shared with a device.
package struct FolderSharingChange: Codable, Equatable, Sendable {
    package var folder: String
    /// The device's id or its name.
    package var device: String
    package var isShared: Bool
    /// Whether a device that kept the folder encrypted may have it unencrypted; nil for no: `confirmationNeeded` is thrown then.
    package var isUnencrypted: Bool?

    package init(folder: String, device: String, isShared: Bool, isUnencrypted: Bool? = nil) {
        self.folder = folder
        self.device = device
        self.isShared = isShared
        self.isUnencrypted = isUnencrypted
    }

    enum CodingKeys: String, CodingKey { case folder, device, isShared = "shared", isUnencrypted = "unencrypted" }
}

/// What a device may do in a folder.
package struct FolderRoleChange: Codable, Equatable, Sendable {
    package var folder: String
    /// The device's id or its name; the folder is shared with it.
    package var device: String
    /// `read`, `write` or `admin`.
    package var role: String

    package init(folder: String, device: String, role: String) {
        self.folder = folder
        self.device = device
        self.role = role
    }
}

/// A change made by a device that may only read, which nobody here follows.
package struct RefusedChange: ControlLine, Equatable, Sendable {
    package enum Kind: String, Codable, Sendable, CaseIterable {
        /// The folder has nothing of that name.
        case new
        case changed, deleted
    }

    /// What the folder has under the name.
    package struct Current: Codable, Equatable, Sendable {
        package var size: Int64
        package var modified: String?
        /// Whether this device has it on its disk, so that it can give it back.
        package var isHere: Bool

        package init(size: Int64, modified: String?, isHere: Bool) {
            self.size = size
            self.modified = modified
            self.isHere = isHere
        }

        enum CodingKeys: String, CodingKey { case size, modified, isHere = "here" }
    }

    package var type = "refused"
    package var folder: String
    /// Relative to the folder's root.
    package var path: String
    /// The id of the device that made the change.
    package var device: String
    /// What it is called here; empty if it has no name.
    package var name: String
    package var change: Kind
    /// `file`, `directory` or `symlink`.
    package var kind: String
    /// Of the refused version, in bytes; 0 for a deletion.
    package var size: Int64
    package var modified: String?
    package var current: Current?

    package init(
        folder: String, path: String, device: String, name: String, change: Kind, kind: String, size: Int64,
        modified: String?, current: Current?
    ) {
        self.folder = folder
        self.path = path
        self.device = device
        self.name = name
        self.change = change
        self.kind = kind
        self.size = size
        self.modified = modified
        self.current = current
    }
}

/// Settles refused changes: they count from now on, or are undone on the devices that made them.
package struct RefusalRequest: Codable, Equatable, Sendable, CheckedRequest {
    package enum Action: String, Codable, Sendable, CaseIterable { case accept, revert }

    /// At most `ControlLimits.paths`. A directory stands for all refused changes in it, a folder's root for all of it.
    package var paths: [PathReference]
    package var action: Action
    /// Only the changes of this device, by id or name; nil for those of all.
    package var device: String?
    /// Only says what it would do.
    package var isDryRun: Bool

    package init(paths: [PathReference], action: Action, device: String? = nil, isDryRun: Bool = false) {
        self.paths = paths
        self.action = action
        self.device = device
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey { case paths, action, device, isDryRun = "dryRun" }

    func check() throws(ControlError) {
        try PathReference.checkSome(paths, of: "refused \(action.rawValue)")
    }
}

package struct RefusalAnswer: Codable, Equatable, Sendable {
    package var schema = 1
    package var folders: [RefusalOutcome]

    package init(folders: [RefusalOutcome]) { self.folders = folders }
}

/// What settling refused changes in one folder came to, or would come to.
package struct RefusalOutcome: Codable, Equatable, Sendable {
    package static let nameLimit = 1000

    package var folder: String
    package var action: RefusalRequest.Action
    package var isDryRun: Bool
    /// Names that are settled.
    package var count: Int64 = 0
    /// How many of them the refused changes delete, and how many they replace.
    package var deletions: Int64 = 0
    package var replacements: Int64 = 0
    /// At most `nameLimit`, relative to the folder's root.
    package var names: [String] = []
    /// What could not be settled, and why.
    package var staying: [StayingName] = []

    package init(folder: String, action: RefusalRequest.Action, isDryRun: Bool) {
        self.folder = folder
        self.action = action
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey {
        case folder, action, isDryRun = "dryRun", count, deletions, replacements, names, staying
    }
}
