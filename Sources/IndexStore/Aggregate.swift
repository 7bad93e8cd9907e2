import BlockExchange

/// How much there is of a folder or below a directory.
public struct Aggregate: Equatable, Sendable {
    public var files: Int64
    public var symlinks: Int64
    public var directories: Int64
    public var bytes: Int64

    public init(files: Int64 = 0, symlinks: Int64 = 0, directories: Int64 = 0, bytes: Int64 = 0) {
        self.files = files
        self.symlinks = symlinks
        self.directories = directories
        self.bytes = bytes
    }

    public static let zero = Aggregate()

    /// Files, symbolic links and directories.
    public var count: Int64 { files &+ symlinks &+ directories }

    /// A row of files, symlinks, directories, bytes.
    init(_ row: borrowing RawStatement) {
        self.init(
            files: row.integer(0), symlinks: row.integer(1), directories: row.integer(2), bytes: row.integer(3))
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

    static func += (left: inout Aggregate, right: Aggregate) {
        left.files &+= right.files
        left.symlinks &+= right.symlinks
        left.directories &+= right.directories
        left.bytes &+= right.bytes
    }

    static func -= (left: inout Aggregate, right: Aggregate) {
        left.files &-= right.files
        left.symlinks &-= right.symlinks
        left.directories &-= right.directories
        left.bytes &-= right.bytes
    }
}
