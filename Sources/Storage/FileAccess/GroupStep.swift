/// What is done at one name so that a group of files changes at once: all that must be written down before, so that
/// whoever finds it after a crash can finish or undo it (`RootDirectory.settle`).
package struct GroupStep: Hashable, Sendable {
    package let target: RelativePath
    /// The inode of what takes the place; 0 if the name is to be empty.
    package let source: UInt64
    /// A number for the status of what takes the place.
    package let sealed: UInt64
    /// The same for what was seen in the place; nil for nothing.
    package let expected: UInt64?

    package init(target: RelativePath, source: UInt64, sealed: UInt64, expected: UInt64?) {
        self.target = target
        self.source = source
        self.sealed = sealed
        self.expected = expected
    }

    /// Where what takes the place waits, and what was there is until all of the group are in their places.
    var swap: String { SwapName(target: target.name, source: source, fingerprint: expected ?? 0).text }

    /// Where what was there is on a disk that cannot swap names, and if nothing takes its place.
    var aside: String { SwapName(target: target.name, source: 0, fingerprint: expected ?? 0).text }

    var temporary: String { RelativePath.temporaryName(for: target.name) }

    /// Whether this is what takes the place, and nobody has written to it since.
    func isSealed(_ status: FileStatus?) -> Bool {
        guard source != 0, let status else { return false }
        return SwapName.fingerprint(status) == sealed
    }

    /// Whether this is what was seen in the place.
    func isExpected(_ status: FileStatus?) -> Bool {
        guard let expected, let status else { return false }
        return SwapName(target: target.name, source: source, fingerprint: expected).isExpected(status)
    }
}

/// A file of a group: what takes its place, or that it goes.
package struct GroupMember: Sendable {
    let path: RelativePath
    /// Nil for one that goes.
    let commit: StagedCommit?
    /// What was seen there; nil for nothing.
    let expected: FileStatus?

    /// - parameter commit: what it replaces is nothing or exactly something; anything is taken for nothing.
    package init(placing commit: StagedCommit) {
        path = commit.file.target
        self.commit = commit
        expected = Self.seen(commit.replacement)
    }

    /// - parameter occupant: what was seen there earlier; without it there is nothing to remove.
    package init(removing path: RelativePath, expecting occupant: Replacement) {
        self.path = path
        commit = nil
        expected = Self.seen(occupant)
    }

    private static func seen(_ occupant: Replacement) -> FileStatus? {
        if case .exactly(let seen) = occupant { seen } else { nil }
    }
}

/// A group whose contents are on the disk, under temporary names.
package struct SealedGroup: Sendable {
    let members: [GroupMember]
    let directory: Directory
    /// To be written down before the group is placed.
    package let steps: [GroupStep]
}

/// What became of a group.
package enum GroupOutcome: Sendable {
    /// All is as it was to be, and durable; with the status of each file, nil for those that went.
    case placed([FileStatus?])
    /// All is as it was before. `position` is of the member that was in the way.
    case undone(FileAccessError, position: Int)
    /// The disk let it be neither finished nor undone; `RootDirectory.settle` is to be tried again.
    case unsettled(FileAccessError)
}

/// What `RootDirectory.settle` made of a group.
package enum GroupSettlement: Sendable {
    /// All new versions are in their places.
    case finished
    /// All old versions are.
    case undone
}
