import BlockExchange
import FileAccess
import IndexStore
import Names
import Reconciliation

/// A conflict that the folder's command is to decide.
enum UndecidedConflict: Hashable, Sendable {
    /// By the copy.
    case content(RelativePath)
    /// A file that was deleted here and is here again, because somebody had changed it.
    case deletion(RelativePath)

    var path: RelativePath {
        switch self {
        case .content(let path), .deletion(let path): path
        }
    }
}

extension FolderWork {
    /// More conflicts than this are left as they are.
    private static let undecidedLimit = 1000

    /// A conflict copy was made here.
    mutating func noteUndecided(_ copy: RelativePath, _ rules: FolderRules) {
        guard rules.conflictPolicy == .command, rules.kind == .sendReceive else { return }
        note(.content(copy))
    }

    /// Remembers the deletions made here among names that are needed because others have changed them.
    mutating func noteContestedDeletions(_ facts: [NameFacts], _ rules: FolderRules) {
        guard rules.deletionPolicy == .command, rules.kind == .sendReceive else { return }
        for facts in facts {
            guard let local = facts.local, local.file.isDeleted, local.flags.isEmpty,
                local.file.modifiedBy == rules.device, !local.file.isRenamedAway, let global = facts.global,
                !global.isDeleted,
                global.kind == .file, local.file.version.compare(global.version).isConcurrent
            else { continue }
            memory.contestedDeletions[facts.name] = global.version
        }
    }

    /// A file was put into its place.
    mutating func noteCameBack(_ file: FileInfo) {
        guard memory.contestedDeletions.removeValue(forKey: NameKey(file.name)) == file.version,
            let path = RelativePath(file.name)
        else { return }
        note(.deletion(path))
    }

    private mutating func note(_ conflict: UndecidedConflict) {
        if memory.undecided.count < Self.undecidedLimit { memory.undecided.insert(conflict) }
    }
}

extension FolderMemory {
    /// Takes the next conflict that the command is to decide.
    mutating func takeUndecided() -> UndecidedConflict? {
        undecided.min { $0.path < $1.path }.flatMap { undecided.remove($0) }
    }
}
