/// Two versions of a file, neither of which was made of the other: one bears the file's name, the other is the conflict
/// copy beside it.
package struct Conflict: ControlLine, Equatable, Sendable {
    package struct Version: Codable, Equatable, Sendable {
        /// Relative to the folder's root.
        package var path: String
        /// The id of the device that made it, or the first seven characters of one that is not known.
        package var device: String
        /// What the device is called; empty if it is not known.
        package var name: String
        /// Bytes; nil if nothing is there: deleted, or not on this disk.
        package var size: Int64?
        /// RFC 3339; nil if nothing is there.
        package var modified: String?

        package init(path: String, device: String, name: String, size: Int64? = nil, modified: String? = nil) {
            self.path = path
            self.device = device
            self.name = name
            self.size = size
            self.modified = modified
        }
    }

    package var type = "conflict"
    package var folder: String
    /// The file's name, relative to the folder's root.
    package var path: String
    /// The conflict copy's.
    package var copy: String
    /// What this device had; on a device that had neither, what bears the file's name.
    package var mine: Version
    package var theirs: Version

    package init(folder: String, path: String, copy: String, mine: Version, theirs: Version) {
        self.folder = folder
        self.path = path
        self.copy = copy
        self.mine = mine
        self.theirs = theirs
    }
}

/// A conflict and how its two versions differ.
package struct ConflictDetails: Codable, Equatable, Sendable {
    package var schema = 1
    package var conflict: Conflict
    /// As diff(1) says it, from theirs to mine; nil where there is none.
    package var diff: String?
    /// Whether there is more of it.
    package var isCut: Bool
    /// Why the diff is missing, as a sentence in English; `remarkText` has the template for other languages.
    package private(set) var remark: String?
    package private(set) var remarkText: Phrase?

    package init(conflict: Conflict, diff: String? = nil, isCut: Bool = false, remark: Phrase? = nil) {
        self.conflict = conflict
        self.diff = diff
        self.isCut = isCut
        self.remark = remark?.english
        remarkText = remark?.unlessVerbatim
    }

    package var remarkPhrase: Phrase? { remarkText ?? remark.map { "\($0)" } }

    enum CodingKeys: String, CodingKey { case schema, conflict, diff, isCut = "cut", remark, remarkText }
}

/// The conflicts of a file, or of a directory and all below it.
package struct ConflictList: Codable, Equatable, Sendable {
    package var schema = 1
    package var conflicts: [ConflictDetails]

    package init(conflicts: [ConflictDetails]) { self.conflicts = conflicts }
}

/// How to settle conflicts.
package struct ConflictResolution: Codable, Equatable, Sendable, CheckedRequest {
    package enum Keep: String, Codable, Sendable, CaseIterable { case mine, theirs, both }

    /// Conflict copies, or the files that they are copies of; at most `ControlLimits.paths`.
    package var paths: [PathReference]
    package var keep: Keep

    package init(paths: [PathReference], keep: Keep) {
        self.paths = paths
        self.keep = keep
    }

    func check() throws(ControlError) {
        guard !paths.isEmpty else {
            throw ControlError(
                .invalidRequest, "Give at least one conflict; see `synctrain conflicts resolve --help`.")
        }
        try PathReference.check(paths)
    }
}

/// What became of conflicts.
package struct ConflictAnswer: Codable, Equatable, Sendable {
    package struct Outcome: Codable, Equatable, Sendable {
        package var conflict: Conflict
        package var keep: ConflictResolution.Keep
        /// The new name of the copy, where both are kept.
        package var renamed: String?
        /// Where in the archive what was not kept is, absolute; nil where it is gone, or both are kept.
        package var archived: String?
        /// Why nothing was done, as a sentence; nil if it was.
        package var problem: String?

        package init(
            conflict: Conflict, keep: ConflictResolution.Keep, renamed: String? = nil, archived: String? = nil,
            problem: String? = nil
        ) {
            self.conflict = conflict
            self.keep = keep
            self.renamed = renamed
            self.archived = archived
            self.problem = problem
        }
    }

    package var schema = 1
    package var outcomes: [Outcome]

    package init(outcomes: [Outcome]) { self.outcomes = outcomes }
}
