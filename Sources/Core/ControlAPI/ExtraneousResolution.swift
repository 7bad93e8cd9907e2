import Arithmetic

/// Says what is to become of files that are on this disk and not selected.
package struct ExtraneousResolution: Codable, Equatable, Sendable, CheckedRequest {
    package enum Action: String, Codable, Sendable, CaseIterable {
        /// They are kept from now on, and others get them.
        case select
        /// They are removed from this disk; nobody hears of a deletion.
        case delete
        /// They stay, and are not asked about any more.
        case ignore
        /// They are moved out of the folder.
        case moveTo = "move-to"
        /// Where others have another version: the one here becomes the newest.
        case keepMine = "keep-mine"
        /// Where others have another version: the one here goes, and theirs is kept here.
        case keepTheirs = "keep-theirs"
        /// Where others have another version: theirs is kept here, and the one here beside it as a conflict copy.
        case keepBoth = "keep-both"
    }

    /// At most `ControlLimits.paths`; a directory stands for all extraneous files in it.
    package var paths: [PathReference]
    package var action: Action
    /// For `move-to`: absolute.
    package var directory: String?
    /// Only says what it would do.
    package var isDryRun: Bool

    package init(paths: [PathReference], action: Action, directory: String? = nil, isDryRun: Bool = false) {
        self.paths = paths
        self.action = action
        self.directory = directory
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey { case paths, action, directory, isDryRun = "dryRun" }

    func check() throws(ControlError) {
        try PathReference.checkSome(paths, of: "extraneous resolve")
    }
}

package struct ResolutionAnswer: Codable, Equatable, Sendable {
    package var schema = 1
    package var folders: [ResolutionOutcome]

    package init(folders: [ResolutionOutcome]) { self.folders = folders }
}

/// What settling extraneous files of one folder came to, or would come to.
package struct ResolutionOutcome: Codable, Equatable, Sendable {
    package static let nameLimit = 1000

    package var folder: String
    package var action: ExtraneousResolution.Action
    package var isDryRun: Bool
    /// Files and links that the action was, or would be, applied to, and their bytes.
    package var files: Int64 = 0
    package var bytes: Int64 = 0
    /// At most `nameLimit`, relative to the folder's root.
    package var names: [String] = []
    /// Those of them that other devices do not hold as they are here, and that the action removes from this disk.
    package var lostFiles: Int64 = 0
    package var lostBytes: Int64 = 0
    package var lost: [StayingName] = []
    /// Names from which they were moved away here and that the action lets go on the other devices, too; at most
    /// `nameLimit`, without those below others. Nil if there are none.
    package var deletedElsewhere: [String]?
    /// What the action was not applied to.
    package var staying: [StayingName] = []
    /// Lines of `.stignore` that come and go.
    package var added: [String] = []
    package var removed: [String] = []

    package init(folder: String, action: ExtraneousResolution.Action, isDryRun: Bool) {
        self.folder = folder
        self.action = action
        self.isDryRun = isDryRun
    }

    /// The action was, or would be, applied to this file or link.
    package mutating func note(_ path: String, size: Int64) {
        files += 1
        bytes.addClamped(size)
        if names.count < Self.nameLimit { names.append(path) }
    }

    /// The same file or link is not held by other devices as it is here, and the action removes it from this disk.
    package mutating func noteLost(_ name: StayingName) {
        lostFiles += 1
        lostBytes.addClamped(name.size)
        if lost.count < Self.nameLimit { lost.append(name) }
    }

    enum CodingKeys: String, CodingKey {
        case folder, action, isDryRun = "dryRun", files, bytes, names, lostFiles, lostBytes, lost, deletedElsewhere,
            staying, added, removed
    }
}
