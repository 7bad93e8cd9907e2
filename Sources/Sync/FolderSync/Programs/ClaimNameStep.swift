import BlockExchange
import FileAccess
import IndexStore
import Reconciliation

/// Makes a name the folder's to which a program is about to write, or under which it makes something: selects it for as long as
/// there is space, notes what the write starts from, and makes what is to be made.
///
/// In this order, so that a death in between, or a scan, takes nothing for what it is not: a name that is selected and missing
/// comes again; a version that is noted and not on the disk is forgotten by the next scan.
package struct ClaimNameStep: FolderStep {
    package enum Making: Sendable {
        /// What is there is written to.
        case nothing
        case file(permissions: UInt32)
        case directory(permissions: UInt32)
        case symlink(target: [UInt8])
    }

    let path: RelativePath
    let making: Making
    /// Whether a version is the one that the program knows.
    let isMeant: @Sendable (FileInfo) -> Bool

    package init(path: RelativePath, making: Making, isMeant: @escaping @Sendable (FileInfo) -> Bool) {
        self.path = path
        self.making = making
        self.isMeant = isMeant
    }

    /// - Throws: `IgnoreError` where a line of `.stignore` excludes the name; `FileAccessError`, `exists` among them.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        let (root, path) = (folder.root, path)
        let isOnDisk = try await folder.onDisk { try root.status(of: path) } != nil
        let facts = try await folder.index.facts(path.text)
        let wasLeftOut = folder.selection.isLeftOut(path.text)
        let folder = try await folder.selectingWhileSpace(path.text, &work)
        try await folder.noteBase(of: path.text, facts, isOnDisk: isOnDisk, isMeant: isMeant, &work)
        switch making {
        case .nothing:
            // What was not selected and is what others have is their version again before it is written to.
            if wasLeftOut { _ = try await ScanStep(paths: [path], isRequested: true).run(folder, &work) }
        case .file(let permissions):
            try await folder.onDisk {
                if let parent = path.parent { try root.createDirectories(parent, durability: .deferred) }
                _ = try root.open(writing: path, creating: permissions)
            }
        case .directory(let permissions):
            try await folder.onDisk { try root.makeDirectory(path, permissions: permissions) }
        case .symlink(let target):
            try await folder.onDisk {
                if let parent = path.parent { try root.createDirectories(parent, durability: .deferred) }
                try root.createSymlink(path, target: target, durability: .deferred)
            }
        }
        if isOnDisk { return }
        work.effects.rescan(path.text)
    }
}

extension FolderContext {
    /// Announces that a name is gone of which a program's write was noted and not scanned yet. To a scan, nothing was there.
    func tellRemoval(of name: String, _ work: inout FolderWork) async throws {
        guard let facts = try await index.facts(name), facts.local?.isNotedForWriting == true,
            let global = facts.global, !global.isDeleted, !global.isInvalid
        else { return }
        let deletion = LocalChanges.deletingEverywhere(
            global, local: facts.localVersion, rules: rules, unixSeconds: now)
        try await index.apply([.set(LocalEntry(deletion, nil))], &work)
    }

    /// Notes in the index what is about to be replaced under a name by what a program wrote.
    func noteBase(
        of name: String, _ facts: NameFacts?, isOnDisk: Bool, isMeant: (FileInfo) -> Bool, _ work: inout FolderWork
    ) async throws {
        let base = WriteBase(
            isOnDisk: isOnDisk, local: facts?.localVersion, global: facts?.global,
            isMeant: facts?.global.map(isMeant) ?? false)
        guard case .announced(let file) = base, !selection.isLeftOut(name) else { return }
        try await index.apply([.set(LocalEntry(LocalChanges.succeeding(file), .unknown))], &work)
    }
}
