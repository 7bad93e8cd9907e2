import BlockExchange

/// How much there is of a folder or below a directory.
package struct Aggregate: Equatable, Sendable {
    package var files: Int64
    package var symlinks: Int64
    package var directories: Int64
    package var bytes: Int64

    package init(files: Int64 = 0, symlinks: Int64 = 0, directories: Int64 = 0, bytes: Int64 = 0) {
        self.files = files
        self.symlinks = symlinks
        self.directories = directories
        self.bytes = bytes
    }

    package static let zero = Aggregate()

    /// Files, symbolic links and directories.
    package var count: Int64 { fileCount &+ directories }

    /// What people see counted as files in listings: symbolic links are among them.
    package var fileCount: Int64 { files &+ symlinks }

    /// Four columns of a row, from `first` on: files, symlinks, directories, bytes.
    init(_ row: borrowing RawStatement, from first: Int32 = 0) {
        self.init(
            files: row.integer(first), symlinks: row.integer(first + 1), directories: row.integer(first + 2),
            bytes: row.integer(first + 3))
    }

    /// What `file` adds to the directories above it: nothing if it is deleted or nobody vouches for it.
    init(of file: FileInfo) {
        if file.isDeleted || file.isInvalid {
            self.init()
        } else {
            self.init(of: file.kind, size: file.size)
        }
    }

    /// What something that is there adds.
    init(of kind: FileInfo.Kind, size: Int64) {
        self.init()
        switch kind {
        case .directory: directories = 1
        case .file: (files, bytes) = (1, max(0, size))
        case .symlink, .symlinkToFile, .symlinkToDirectory: symlinks = 1
        }
    }

    /// What `file`, which is on this disk, adds to what is here: also if this device does not vouch for it.
    init(ofDisk file: FileInfo) {
        var file = file
        file.isInvalid = false
        self.init(of: file)
    }

    // Sizes come from peers: a sum that wraps is nonsense to read but is still undone exactly by its subtraction.

    package static func += (left: inout Aggregate, right: Aggregate) {
        left.files &+= right.files
        left.symlinks &+= right.symlinks
        left.directories &+= right.directories
        left.bytes &+= right.bytes
    }

    package static func -= (left: inout Aggregate, right: Aggregate) {
        left.files &-= right.files
        left.symlinks &-= right.symlinks
        left.directories &-= right.directories
        left.bytes &-= right.bytes
    }
}

/// What is kept for each directory of what is below it, and what each entry adds to that.
struct AggregateSums: Equatable {
    /// What is there for somebody.
    var below = Aggregate.zero
    /// What of that this device selects.
    var selected = Aggregate.zero
    /// What of that is on this disk in the winner's version, and was verified.
    var present = Aggregate.zero

    static let zero = AggregateSums()

    /// The columns of `aggregate` in the order of `init(_:)`.
    static let columns = """
        files, symlinks, directories, bytes, selectedFiles, selectedSymlinks, selectedDirectories, selectedBytes,
        presentFiles, presentSymlinks, presentDirectories, presentBytes
        """

    init(below: Aggregate = .zero, selected: Aggregate = .zero, present: Aggregate = .zero) {
        self.below = below
        self.selected = selected
        self.present = present
    }

    init(_ row: borrowing RawStatement) {
        self.init(below: Aggregate(row), selected: Aggregate(row, from: 4), present: Aggregate(row, from: 8))
    }

    /// The values of the columns, in their order.
    var values: [Int64] {
        [below, selected, present].flatMap { [$0.files, $0.symlinks, $0.directories, $0.bytes] }
    }

    /// What one entry adds to the directories above it: the winner if it is live, also as selected unless this device ignores
    /// it, and as present if that is what this device has, vouches for and has on its disk.
    ///
    /// - Parameters:
    ///   - mine: this device's own row.
    ///   - own: the sequence under which it announces the name.
    ///   - local: what it knows of its file; only asked of names that it has.
    init(winner: FileInfo, mine: FileInfo?, own: Int64?, local: () throws -> LocalTable.State) rethrows {
        self.init(below: Aggregate(of: winner))
        guard below != .zero else { return }
        guard let mine else {
            // Of what it has nothing of, this device announces what it ignores, and nothing else.
            if own == nil { selected = below }
            return
        }
        guard mine.isInvalid || mine.version == winner.version else {
            selected = below
            return
        }
        let local = try local()
        if mine.isInvalid {
            if !local.flags.contains(.ignored) { selected = below }
        } else {
            selected = below
            if local.isOnDisk { present = below }
        }
    }

    static func += (left: inout AggregateSums, right: AggregateSums) {
        left.below += right.below
        left.selected += right.selected
        left.present += right.present
    }

    static func -= (left: inout AggregateSums, right: AggregateSums) {
        left.below -= right.below
        left.selected -= right.selected
        left.present -= right.present
    }
}
