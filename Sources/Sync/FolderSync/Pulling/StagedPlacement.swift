import AgentContext
import BlockExchange
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// What becomes of what a file replaces.
package enum ReplacedFate: Equatable, Sendable {
    /// It goes.
    case discarded
    /// It goes to the archive, if the folder has one.
    case archived
    /// The same, under a name that has the time in any case, so that no other version gives way.
    case archivedWithTime
    /// It is the loser of a conflict, and stays under this name.
    case conflictCopy(RelativePath)
}

/// A file that is ready to be put into its place, or one that goes together with others of its group.
package struct StagedPlacement: Sendable {
    package enum Content: Sendable {
        /// A version that a device announced, with its blocks; or what is left of one that goes. The index is told of it.
        case version(FileInfo)
        /// Something of this device's own: a scan of the place tells the index.
        case local
    }

    package var position: Int
    package var content: Content
    package var path: RelativePath
    /// Where it was staged.
    package var root: RootDirectory
    /// What was seen in its place.
    package var replacement: Replacement
    /// Nil for one that goes.
    package var commit: StagedCommit?
    package var fate: ReplacedFate
    package var group: FileGroup?
    /// What the index is to say once the file is gone; nil for one that comes.
    var removal: LocalChange?
    /// Somebody asked for it, so that it comes whether it is selected or not, and whatever won meanwhile.
    package var isRequested = false
    /// The file has another name on other devices, which goes as soon as this one is durable.
    var renaming: CaseClash.Renaming?

    /// The name under which the index knows what is wanted.
    var wantedName: String { renaming?.tombstone.name ?? path.text }

    /// Whether a file loses its place.
    var replacesFile: Bool { if case .exactly(let seen) = replacement { seen.type == .regular } else { false } }

    package var version: FileInfo? { if case .version(let file) = content { file } else { nil } }
}

/// What is placed together or not at all.
package typealias StagedUnit = [StagedPlacement]

/// What came of one file.
package enum PlacementOutcome: Sendable {
    /// It is in its place; what it replaced has this name in the archive, if it went there.
    case done(archived: RelativePath?)
    /// Another version won meanwhile; the next round has it.
    case outdated
    /// The disk is not as the plan saw it: the name is scanned.
    case changedOnDisk
    /// No device that has it is connected.
    case unavailable
    /// It may not come over the links to those that are connected.
    case waiting(LinkObstacle)
    /// Another file of its group is not available, or changed.
    case held(by: String)
    case failed(any Error)

    init(_ error: any Error) {
        if let error = error as? FileAccessError {
            switch error.code {
            // A link in the place of a directory leads outside the root, or may.
            case .changedOnDisk, .exists, .isADirectory, .notADirectory, .notFound, .outsideRoot:
                self = .changedOnDisk
            default: self = .failed(error)
            }
            return
        }
        self = .failed(error)
    }
}
