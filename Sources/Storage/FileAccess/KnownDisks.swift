import CLinux
import Glibc
import Synchronization

/// What is known of the disks at and below a root: other disks may be mounted there, and directories of an ordinary disk may fold
/// case by themselves (`chattr +F`).
final class KnownDisks: Sendable {
    private struct Key: Hashable {
        var device: UInt64
        var foldsCase: Bool
    }

    private struct State {
        /// Nil until the disk at the root was asked: until then all counts as one ordinary disk.
        var root: DiskTraits?
        var traits: [Key: DiskTraits] = [:]
        /// What differs from the directory above, by its path.
        var places: [String: DiskTraits] = [:]
        var questions = 0
    }

    private let state = Mutex(State())
    /// The names for which files are being put together, where two may have one temporary file.
    let claims = FoldedClaims()

    /// That of the disk at the root, if it was asked.
    var root: DiskTraits? { state.withLock { $0.root } }

    /// Where another disk begins, or one like it.
    var places: [String: DiskTraits] { state.withLock { $0.places } }

    /// What is known of the disk that `path` is on; of the root's where nothing else is known.
    func traits(at path: String) -> DiskTraits { state.withLock { Self.traits(at: path, $0) } }

    private static func traits(at path: String, _ state: State) -> DiskTraits {
        let root = state.root ?? DiskTraits()
        guard !state.places.isEmpty else { return root }
        var above = path[...]
        while true {
            if let found = state.places[String(above)] { return found }
            guard let slash = above.utf8.lastIndex(of: UInt8(ascii: "/")) else { return root }
            above = above[..<slash]
        }
    }

    /// Asks the disk at the root.
    ///
    /// - Parameter marker: the name, in small letters, of something there.
    /// - Throws: as `DiskQuestion.ask`.
    func learnRoot(_ directory: Descriptor, rootPath: String, marker: String) throws(FileAccessError) {
        guard root?.isGuess ?? true else { return }
        let (key, kind) = try key(of: directory, path: rootPath)
        let question = DiskQuestion(directory: directory, path: rootPath, kind: kind, number: nextNumber())
        let traits = try question.ask(marker: marker)
        state.withLock { state in
            state.root = traits
            if !traits.isGuess { state.traits[key] = traits }
        }
    }

    /// What the disk of a directory is like; asks it when it is met for the first time.
    ///
    /// - Throws: as `DiskQuestion.ask`.
    func traits(of directory: Descriptor, at path: RelativePath) throws(FileAccessError) -> DiskTraits {
        guard root != nil else { return DiskTraits() }
        let (key, kind) = try key(of: directory, path: path.text)
        let traits: DiskTraits
        if let known = state.withLock({ $0.traits[key] }) {
            traits = known
        } else {
            traits = try DiskQuestion(directory: directory, path: path.text, kind: kind, number: nextNumber())
                .ask(marker: nil)
        }
        state.withLock { state in
            if !traits.isGuess { state.traits[key] = traits }
            if Self.traits(at: path.text, state) != traits {
                state.places[path.text] = traits
            }
        }
        return traits
    }

    private func key(of directory: Descriptor, path: String) throws(FileAccessError) -> (Key, DirectoryKind) {
        let device = UInt64(try directory.rawStatus().orThrow(.inspect, path: path).st_dev)
        let kind = directory.interposer?.kind(of: directory.number) ?? DirectoryKind(of: directory.number)
        return (Key(device: device, foldsCase: kind.foldsCase), kind)
    }

    private func nextNumber() -> Int {
        state.withLock { state in
            state.questions &+= 1
            return state.questions
        }
    }
}

/// The targets of files that are being put together on a disk that folds names: of two that differ in case alone, both would be
/// written to one temporary file.
final class FoldedClaims: Sendable {
    private let paths = Mutex<Set<String>>([])

    /// False if somebody has it.
    func take(_ path: String) -> Bool { paths.withLock { $0.insert(path.foldingCase).inserted } }

    func giveBack(_ path: String) { paths.withLock { _ = $0.remove(path.foldingCase) } }
}

/// What the kernel says of a directory.
package struct DirectoryKind: Equatable, Sendable {
    /// Whether its file system is one of those whose names are bytes and that keep permissions and times.
    package var isOrdinary: Bool
    /// Whether it folds case although its file system does not: `chattr +F`.
    package var foldsCase: Bool
    /// Whether it is a share of a Windows machine or of Samba, which gives names that Windows has devices for other ones.
    package var isShare: Bool

    package init(isOrdinary: Bool, foldsCase: Bool, isShare: Bool = false) {
        self.isOrdinary = isOrdinary
        self.foldsCase = foldsCase
        self.isShare = isShare
    }

    init(of directory: CInt) {
        let type = clinux_file_system_type(directory)
        isOrdinary = Self.ordinary.contains(type)
        isShare = Self.shares.contains(type)
        foldsCase = isOrdinary && clinux_folds_case(directory) != 0
    }

    /// statfs(2): ext2 to ext4, btrfs, XFS, tmpfs, F2FS, overlayfs, bcachefs.
    private static let ordinary: Set<UInt32> = [
        0xEF53, 0x9123_683E, 0x5846_5342, 0x0102_1994, 0xF2F5_2010, 0x794C_7630, 0xCA45_1A4E,
    ]

    /// The same: cifs by its versions.
    private static let shares: Set<UInt32> = [0xFF53_4D42, 0xFE53_4D42, 0x517B]
}
