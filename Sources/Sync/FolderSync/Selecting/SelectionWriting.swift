import FileAccess
import IndexStore
import Selection

extension FolderContext {
    /// Replaces the folder's `.stignore`, and brings the index in line with it before anyone asks for its totals. Gives
    /// the folder with the selection that it has then.
    func writing(_ file: IgnoreFile, _ work: inout FolderWork) async throws -> FolderContext {
        let root = root
        try await onDisk {
            let staged = try root.stage(try RelativePath(parsing: FolderPlace.ignoreFile), resuming: false)
            try staged.write(file.bytes, at: 0)
            _ = try staged.commit(replacing: .anything, permissions: nil, modified: nil)
        }
        let changed = try await reread(&work)
        work.effects.counts.need = try await changed.index.neededTotals()
        work.effects.scansEverything = true
        work.effects.events.append(("selection-changed", nil))
        return changed
    }

    /// The folder with the selection that its `.stignore` has now. Throws `FolderHalt` if there is none.
    func reread(_ work: inout FolderWork) async throws -> FolderContext {
        let (place, settings) = (place, settings)
        let now = try await onDisk { place.reread(settings) }.get()
        work.effects.place = now
        let folder = with(now)
        try await folder.applySelection(&work)
        return folder
    }

    /// Brings the index's announcements in line with the selection, if they are not.
    func applySelection(_ work: inout FolderWork) async throws {
        let applied = work.memory.appliedSelection
        guard applied != selection else { return }
        logger.debug("the selection changed")
        try await index.reselect()
        work.memory.appliedSelection = selection
        // Something that is selected from now on may be on this disk already.
        if applied != nil { work.effects.scansEverything = true }
        work.effects.selectionChanged = true
    }

    /// An editor of the selection as `.stignore` has it now.
    func selectionEditor() throws -> SelectionEditor {
        SelectionEditor(try place.ignoreFile(), include: place.readIncluded)
    }
}
