import AgentConfiguration
import AgentContext
import BlockExchange
import FileAccess
import IndexStore
import Names
import Phrases
import Reconciliation
import Selection
import SyncDecisions

/// What a step is lent: what the folder remembers between steps, and an account of what is to follow from this one.
package struct FolderWork: Sendable {
    package var memory = FolderMemory()
    var effects = FolderEffects()
}

/// What steps remember for the next ones. Only steps read and change it, one at a time.
package struct FolderMemory: Sendable {
    /// The selection that the index's announcements are in line with.
    var appliedSelection: Selection?
    var deletionGuard = DeletionGuard()
    /// Deletions that would halt the folder are taken for meant, once.
    var confirmsDeletions = false
    var incomingGuard = IncomingGuard()
    /// Deletions by other devices that are not carried out; nil for none.
    var heldDeletions: HeldDeletions?
    /// Deletions by other devices that a person has confirmed, until they are carried out; nil until the index was asked.
    var confirmedDeletions: ConfirmedDeletions?
    /// Two files with one name to the disk, of which one is to get another name.
    var clashes = KnownClashes()
    /// Where disks were mounted below the root when it was scanned last; nil before the first time.
    var mounts: Set<String>?
    /// Where a disk was mounted and is not any more.
    var vanishedMounts = VanishedNames()
    /// Temporary files that may be of use to a fetch yet.
    var temporaries: Set<RelativePath> = []
    /// The settings that `PrepareArchiveStep` has seen.
    var preparedArchive: FolderVersions?
    /// A group may be half in its place: `SettleGroupsStep` ends that.
    var hasUnsettledGroups = true
    /// Names of which nothing is announced until their user says what is to become of what was there, and where that is.
    var heldNames: [NameKey: String] = [:]
    /// How many files of selected directories other devices have moved to which directories so far.
    var movedParts: [String: [String: Int64]] = [:]
    /// Whether a scan of everything has found that all deletions are announced that were made while the folder only received.
    var hasNoUnsentDeletions = false
    /// Conflicts that the folder's command is to decide.
    var undecided: Set<UndecidedConflict> = []
    /// What was to be freed and could not be.
    var stuck = StuckNames()
    /// Deletions made here that a change made elsewhere wins over, as they are planned; with the version that wins.
    var contestedDeletions: [NameKey: VersionVector] = [:]

    /// More temporary files than this are not remembered.
    static let temporaryLimit = 10_000

    package mutating func note(_ temporaries: some Sequence<RelativePath>) {
        for path in temporaries where self.temporaries.count < Self.temporaryLimit { self.temporaries.insert(path) }
    }
}

/// What is to follow from a step.
package struct FolderEffects: Sendable {
    /// What is to be pulled.
    package enum Pull: Sendable {
        case none
        case names(Set<NameKey>)
        case everything

        package mutating func add(_ names: some Sequence<String>) {
            switch self {
            case .everything: return
            case .none:
                let names = Set(names: names)
                if !names.isEmpty { self = .names(names) }
            case .names(let known): self = .names(known.union(names.map { NameKey($0) }))
            }
        }
    }

    /// To be scanned soon; nil within `scansEverything`.
    package var rescans: Set<RelativePath> = []
    var scansEverything = false
    /// To be scanned at the given times, when they are expected to be at rest.
    package var laterScans: [(paths: Set<RelativePath>, due: MonotonicTime)] = []
    /// Names are gone there: to be scanned again at the given time, together with what others may follow.
    package var goneScans: (paths: [RelativePath], due: MonotonicTime)?
    /// Not on the disk what a plan took them for.
    var doubted: Set<RelativePath> = []
    package var pull = Pull.none
    /// The own index changed in a way that may let a failed pull succeed.
    var mayUnblockPull = false
    package var problems = ProblemJournal()
    /// Counts of `status` that the step has found again; nil for those it has not looked at.
    package var counts = FolderCounts()
    /// Names that are not selected came, went or changed.
    var touchesExtraneous = false
    /// They were counted, which took so long.
    var extraneousCost: Duration?
    /// Other names are needed than before, and no pull is to count them.
    var touchesNeed = false
    /// They were counted, which took so long.
    var needCost: Duration?
    /// Conflict copies came or went.
    var touchesConflicts = false
    /// The halt that the folder was in is over.
    var endsHalt = false
    /// The selection was read again.
    package var place: FolderPlace?
    /// Other directories are to be watched.
    package var selectionChanged = false
    /// Where a disk was mounted below the root since the last scan, or is not any more.
    var changedMounts: Set<RelativePath> = []
    /// For `synctrain log`.
    package var changes: [RecordedChange] = []
    package var events: [(type: String, message: String?)] = []

    package mutating func rescan(_ name: String) { if let path = RelativePath(name) { rescans.insert(path) } }
    mutating func doubt(_ name: String) { if let path = RelativePath(name) { doubted.insert(path) } }
}

/// What `status` shows, as far as a step has found it out; nil for what it has not.
package struct FolderCounts: Sendable {
    package var need: NeededTotals?
    package var extraneous: Int64?
    package var conflicts: Int64?
    /// Deletions that a halt holds back.
    var heldDeletions: Int64?
    package var lacks: [FolderOutlook.Lack]?
    package var isShortOfSpace: Bool?
    /// When the scan of the whole folder ended.
    package var lastScan: WallTime?
}

/// What is said of names that something is wrong with, in the order in which it was said.
package struct ProblemJournal: Sendable {
    package enum Entry: Sendable {
        /// A scan found this.
        case found(Phrase, at: String)
        /// A pull could not do this.
        case undone(Phrase, at: String)
        /// All problems of the name are over.
        case clear(String)
        /// What scans found of these names and all below them is found out again; nil for everything. What pulls could not
        /// do stays: a scan ends none of it.
        case forgetFound(below: [RelativePath]?)
    }

    package private(set) var entries: [Entry] = []

    mutating func noteFound(_ message: Phrase, at path: String) { entries.append(.found(message, at: path)) }
    mutating func noteUndone(_ message: Phrase, at path: String) { entries.append(.undone(message, at: path)) }
    package mutating func clear(_ path: String) { entries.append(.clear(path)) }
    mutating func forgetFound(below paths: [RelativePath]?) { entries.append(.forgetFound(below: paths)) }
}
