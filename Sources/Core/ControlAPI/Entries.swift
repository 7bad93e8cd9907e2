/// A path as a person typed it; the agent, which knows the folders' roots, finds what it means.
package struct PathReference: Codable, Hashable, Sendable, CheckedRequest {
    /// `FOLDER:relative/path`, an absolute path below a folder's root, or a path relative to `workingDirectory`.
    package var text: String
    /// Absolute; where the command was run.
    package var workingDirectory: String

    package init(text: String, workingDirectory: String) {
        self.text = text
        self.workingDirectory = workingDirectory
    }

    func check() throws(ControlError) {
        try Self.check([self])
    }
}

extension PathReference {
    /// Throws `tooLarge` if a request with these paths is more than the agent takes.
    static func check(_ paths: [PathReference]) throws(ControlError) {
        guard paths.count <= ControlLimits.paths else {
            throw ControlError(
                .tooLarge,
                "A request has at most \(ControlLimits.paths) paths, not \(paths.count). Split it "
                    + "into several requests."
            )
        }
        for path in paths {
            for text in [path.text, path.workingDirectory] where text.utf8.count > ControlLimits.path {
                throw ControlError(
                    .tooLarge, "A path has at most \(ControlLimits.path) bytes, not \(text.utf8.count).",
                    path: String(text.prefix(80)))
            }
        }
    }

    /// The same for `command`, which needs some.
    static func checkSome(_ paths: [PathReference], of command: String) throws(ControlError) {
        guard !paths.isEmpty else {
            throw ControlError(.invalidRequest, "Give at least one path; see `synctrain \(command) --help`.")
        }
        try check(paths)
    }
}

/// One name of a folder as `ls`, `tree`, `stat` and `search` show it.
package struct Entry: Codable, Equatable, Sendable {
    package enum Kind: String, Codable, Sendable, CaseIterable { case file, directory, symlink }

    /// How the name stands on this device.
    package enum State: String, Codable, Sendable, CaseIterable {
        /// In the global index, not on this disk, not selected; of a directory, nothing below it is selected either.
        case absent
        /// As `queued`; only from an older agent.
        case selected
        /// Selected and not on this disk; of a directory, nothing of what is selected below it is.
        case queued
        /// Some of its bytes are here, verified, and it is not being downloaded; of a directory, some of what is selected below it.
        case partial
        /// The same while it, or something below it, is being downloaded.
        case downloading
        /// On this disk as the global version says; of a directory, all that is selected below it.
        case present
        /// On this disk, selected, and changed here.
        case modified
        /// A conflict copy, or a file with one.
        case conflict
        /// On this disk and not selected; of a directory, nothing below it is selected either.
        case extraneous
        /// The same, as somebody fetched it there, and unchanged since.
        case downloaded
    }

    /// What a name that is selected and not present waits for. An open set: a client takes one that it does not know for
    /// `other`.
    package enum Cause: String, Codable, Sendable, CaseIterable {
        /// For a device that has it to connect.
        case device
        /// For space on the disk.
        case space
        /// For another link or another time, by a setting.
        case policy
        /// For the folder to be resumed.
        case paused
        /// For the folder's halt to end.
        case halted
        case other

        /// Reads a word; an unknown one is `other`.
        ///
        /// - Throws: `DecodingError` for what is not text.
        package init(from decoder: any Decoder) throws {
            self = Cause(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .other
        }
    }

    package enum Selected: String, Codable, Sendable, CaseIterable { case explicit, implicit, no }

    package var kind: Kind
    package var folder: String
    /// Relative to the folder's root; empty for the root itself.
    package var path: String
    /// Bytes; of a directory the sum of all files below it.
    package var size: Int64
    /// RFC 3339 in UTC with a fraction where there is one.
    package var modified: String?
    package var state: State
    package var selected: Selected
    /// Ids of the devices that can serve the whole global version; of a directory, empty.
    package var holders: [String]
    /// Of a directory: how many files and directories lie below it in the global index.
    package var files: Int64?
    package var directories: Int64?
    /// Of a directory: how many files and bytes below it are selected, in the global index, and how many of these are here
    /// as the global version says, verified. Symbolic links count as files. Bytes of files that are being downloaded count as
    /// far as they are here. Of a file while it is selected and not present: its own.
    package var selectedFiles: Int64?
    package var selectedBytes: Int64?
    package var presentFiles: Int64?
    package var presentBytes: Int64?
    /// Of a directory that is not selected: something below it is.
    package var isSelectedBelow: Bool?
    /// Of a selected directory: something below it is not.
    package var isLeftOutBelow: Bool?
    /// Why it is not fetched now, with what to do. Of `policy` and `other`, `waitingText` is what it was made of; the others are
    /// told by their words.
    package private(set) var waiting: String?
    package private(set) var waitingText: Phrase?
    /// The same as a word.
    package var waitsFor: Cause?
    /// How many bytes of space are missing on the disk for all of it, above the folder's `minimum-free`; nil if it fits.
    package var short: Int64?
    /// Of what is not present: whether a connected device has it, or something of it. Nil where that is not known.
    package var isAvailable: Bool?
    /// Only from `extraneous`: the version of the other devices that is not the one here.
    package var other: OtherVersion?
    /// Only from `extraneous`: the words for what can be done about it.
    package var choices: [String]?
    /// Only from `stat`.
    package var details: Details?

    package struct OtherVersion: Codable, Equatable, Sendable {
        package var size: Int64
        /// RFC 3339.
        package var modified: String
        /// The short id of the device that made it, and its name or id if that is known here.
        package var modifiedBy: String
        package var device: String?
        /// Ids of the devices that hold it whole.
        package var holders: [String]

        package init(size: Int64, modified: String, modifiedBy: String, device: String? = nil, holders: [String]) {
            self.size = size
            self.modified = modified
            self.modifiedBy = modifiedBy
            self.device = device
            self.holders = holders
        }
    }

    package struct Details: Codable, Equatable, Sendable {
        package var permissions: String
        package var version: String
        package var modifiedBy: String
        package var blockSize: Int?
        package var blocks: Int?
        package var symlinkTarget: String?
        /// Absolute, if the name is on this disk.
        package var localPath: String?

        package init(
            permissions: String, version: String, modifiedBy: String, blockSize: Int? = nil, blocks: Int? = nil,
            symlinkTarget: String? = nil, localPath: String? = nil
        ) {
            self.permissions = permissions
            self.version = version
            self.modifiedBy = modifiedBy
            self.blockSize = blockSize
            self.blocks = blocks
            self.symlinkTarget = symlinkTarget
            self.localPath = localPath
        }
    }

    package init(
        kind: Kind, folder: String, path: String, size: Int64, modified: String?, state: State, selected: Selected,
        holders: [String] = [], files: Int64? = nil, directories: Int64? = nil, waiting: String? = nil,
        details: Details? = nil
    ) {
        self.kind = kind
        self.folder = folder
        self.path = path
        self.size = size
        self.modified = modified
        self.state = state
        self.selected = selected
        self.holders = holders
        self.files = files
        self.directories = directories
        self.waiting = waiting
        self.details = details
    }

    /// Says why it is not fetched now.
    package mutating func wait(for cause: Cause, _ message: Phrase) {
        (waitsFor, waiting) = (cause, message.english)
        waitingText = cause == .policy || cause == .other ? message.unlessVerbatim : nil
    }

    enum CodingKeys: String, CodingKey {
        case kind = "type", folder, path, size, modified, state, selected, holders, files, directories, waiting, details
        case selectedFiles, selectedBytes, presentFiles, presentBytes, waitsFor, waitingText, short, isAvailable =
            "available"
        case other, choices, isSelectedBelow = "selectedBelow", isLeftOutBelow = "leftOutBelow"
    }
}

/// Which devices have a file's global version.
package struct Whereabouts: Codable, Equatable, Sendable {
    package struct Holder: Codable, Equatable, Sendable {
        package var id: String
        package var name: String
        package var isConnected: Bool
        /// RFC 3339; nil if never seen.
        package var lastSeen: String?

        package init(id: String, name: String, isConnected: Bool, lastSeen: String?) {
            self.id = id
            self.name = name
            self.isConnected = isConnected
            self.lastSeen = lastSeen
        }

        enum CodingKeys: String, CodingKey { case id, name, isConnected = "connected", lastSeen }
    }

    /// What a device has of a file, or of the files in a directory.
    package struct Device: Codable, Equatable, Sendable {
        /// A word of what it has said of the name. An open set: a client takes one that it does not know for `nothing`.
        package enum Holding: String, Codable, CaseIterable, Sendable {
            /// The newest version, whole; of a directory, all files in it.
            case complete
            /// Some of the files of a directory; on this device also some blocks of a file.
            case partly
            /// A version that the newest one has seen.
            case older
            /// A version that the newest one has not seen.
            case other
            case deleted
            /// It knows the newest version and does not keep it.
            case notKept = "not-kept"
            /// It has not said anything of the name.
            case nothing
            /// It has not told yet what it has of the folder.
            case unknown

            /// Reads a word; an unknown one is `nothing`.
            ///
            /// - Throws: `DecodingError` for what is not text.
            package init(from decoder: any Decoder) throws {
                self = Holding(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .nothing
            }
        }

        package var id: String
        package var name: String
        package var isThis: Bool
        package var isConnected: Bool
        /// RFC 3339; nil if never seen, and of this device.
        package var lastSeen: String?
        package var has: Holding
        /// Of what it has, where that is another version: bytes and RFC 3339.
        package var size: Int64?
        package var modified: String?
        /// Of a directory: how many files it has in their newest versions, and how many bytes.
        package var files: Int64?
        package var bytes: Int64?

        package init(
            id: String, name: String, isThis: Bool, isConnected: Bool, lastSeen: String?, has: Holding,
            size: Int64? = nil, modified: String? = nil, files: Int64? = nil, bytes: Int64? = nil
        ) {
            self.id = id
            self.name = name
            self.isThis = isThis
            self.isConnected = isConnected
            self.lastSeen = lastSeen
            self.has = has
            self.size = size
            self.modified = modified
            self.files = files
            self.bytes = bytes
        }

        enum CodingKeys: String, CodingKey {
            case id, name, isThis = "this", isConnected = "connected", lastSeen, has, size, modified, files, bytes
        }
    }

    package var schema = 1
    package var folder: String
    package var path: String
    /// The other devices that hold it whole in its newest version.
    package var holders: [Holder]
    /// This device, then all others that share the folder; nil from an agent that does not say.
    package var devices: [Device]?

    package init(folder: String, path: String, holders: [Holder], devices: [Device]? = nil) {
        self.folder = folder
        self.path = path
        self.holders = holders
        self.devices = devices
    }
}
