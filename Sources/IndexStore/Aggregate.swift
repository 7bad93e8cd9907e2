import BlockExchange

/// How much there is of a folder or below a directory.
public struct Aggregate: Equatable, Sendable {
    /// Files and symbolic links.
    public var files: Int64
    public var directories: Int64
    public var bytes: Int64

    public init(files: Int64 = 0, directories: Int64 = 0, bytes: Int64 = 0) {
        self.files = files
        self.directories = directories
        self.bytes = bytes
    }

    public static let zero = Aggregate()

    /// What `file` adds to the directories above it: nothing if it is deleted or nobody vouches for it.
    init(of file: FileInfo) {
        self.init()
        guard !file.isDeleted, !file.isInvalid else { return }
        switch file.kind {
        case .directory: directories = 1
        case .file: (files, bytes) = (1, max(0, file.size))
        case .symlink, .symlinkToFile, .symlinkToDirectory: files = 1
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
        left.directories &+= right.directories
        left.bytes &+= right.bytes
    }

    static func -= (left: inout Aggregate, right: Aggregate) {
        left.files &-= right.files
        left.directories &-= right.directories
        left.bytes &-= right.bytes
    }
}
