import BlockExchange
import FileAccess
import IndexStore
import Names
import Reconciliation
import Selection

/// Gives what is on this disk another name for a program. What it replaces may be on this disk or not: the new content succeeds it.
package struct RenameNameStep: FolderStep {
    let from: RelativePath
    let to: RelativePath
    let keepsOther: Bool
    /// Whether a version is the one that the program knows under the new name.
    let isMeant: @Sendable (FileInfo) -> Bool

    package init(
        from: RelativePath, to: RelativePath, keepsOther: Bool, isMeant: @escaping @Sendable (FileInfo) -> Bool
    ) {
        self.from = from
        self.to = to
        self.keepsOther = keepsOther
        self.isMeant = isMeant
    }

    /// - Throws: `ProgramRefusal`; `IgnoreError` where a line of `.stignore` excludes the new name; `FileAccessError`;
    ///   `FolderHalt` while deletions are held back.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        let (root, from, to, keepsOther) = (folder.root, from, to, keepsOther)
        let (source, target) = try await folder.onDisk { (try root.status(of: from), try root.status(of: to)) }
        guard let source else { throw ProgramRefusal.absent }
        let facts = try await folder.index.facts(to.text)
        try await check(source, target, facts, folder)
        // Before anything changes: what is refused has to be as it was. What takes another's place is no deletion.
        try folder.requireNoDeletionHalt()
        let hadLine = folder.hasLineWhileSpace(from.text)
        let claimed = try await folder.selectingWhileSpace(to.text, &work)
        try await claimed.noteBase(of: to.text, facts, isOnDisk: target != nil, isMeant: isMeant, &work)
        try await folder.onDisk {
            if let parent = to.parent { try root.createDirectories(parent, durability: .deferred) }
            // A directory takes the place of an empty one, as rename(2) has it.
            if let target, target.type == .directory { try root.removeForProgram(to, isDirectory: true) }
            try root.rename(from, to: to, replacing: keepsOther ? .nothing : .anything, durability: .deferred)
        }
        try await claimed.tellRemoval(of: from.text, &work)
        // Both at once, so that they are announced as one; while the old name's line is there, so that its end is told.
        _ = try await ScanStep(
            paths: [from, to], reported: [Relocation.Move(from: from.text, to: to.text)], judged: from.text
        ).run(claimed, &work)
        guard hadLine else { return }
        let reread = try await claimed.reread(&work)
        _ = try await reread.droppingLine(of: from.text, &work)
    }

    private func check(
        _ source: FileAccess.FileStatus, _ target: FileAccess.FileStatus?, _ facts: NameFacts?, _ folder: FolderContext
    ) async throws {
        let other = try await folder.index.global(to.text)
        let isShared = other.map { ($0.isPresent || $0.isDirectory) && !$0.isHereByIndex } ?? false
        let exists = target != nil || isShared
        if keepsOther, exists { throw ProgramRefusal.exists }
        let isOntoDirectory = target.map { $0.type == .directory } ?? (other?.isDirectory ?? false)
        if source.type == .directory {
            guard !to.isBelow(from) else { throw FileAccessError(.failed, .rename, path: to.text) }
            if exists, !isOntoDirectory { throw ProgramRefusal.notADirectory }
            if exists, try await holdsSomethingAbsent(to, folder) { throw ProgramRefusal.notEmpty }
            guard try await !holdsSomethingAbsent(from, folder) else { throw ProgramRefusal.absent }
        } else if exists, isOntoDirectory {
            throw ProgramRefusal.isADirectory
        }
    }

    /// Whether others have something in the directory that is not on this disk.
    private func holdsSomethingAbsent(_ directory: RelativePath, _ folder: FolderContext) async throws -> Bool {
        var holds = false
        try await folder.index.eachDescendant(of: directory.text) { page in
            if page.contains(where: { $0.isPresent && ($0.local?.status == nil || $0.local?.file.isDeleted == true) }) {
                holds = true
            }
        }
        return holds
    }
}
