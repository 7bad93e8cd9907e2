import FileAccess
import IndexStore
import Selection

extension FolderContext {
    /// Replaces the folder's `.stignore`, and brings the index in line with it before anyone asks for its totals. Gives
    /// the folder with the selection that it has then.
    ///
    /// - Parameter edited: what the new lines were made of.
    /// - Throws: `FolderError.selectionChanged` if the file says something else by now; nothing is written then.
    func writing(_ file: IgnoreFile, over edited: IgnoreFile, _ work: inout FolderWork) async throws -> FolderContext {
        let (root, place) = (root, place)
        do {
            try await onDisk {
                let path = try RelativePath(parsing: FolderPlace.ignoreFile)
                // Taken before the file is read: a write after that is detected when the file is replaced.
                let status = try root.status(of: path)
                guard try place.ignoreFile() == edited else {
                    throw FileAccessError(.changedOnDisk, .rename, path: path.text)
                }
                let staged = try root.stage(path, resuming: false)
                do {
                    try staged.write(file.bytes, at: 0)
                    _ = try staged.commit(
                        replacing: status.map { .exactly($0) } ?? .nothing, permissions: nil, modified: nil)
                } catch {
                    try? staged.discard()
                    throw error
                }
            }
        } catch let error as FileAccessError where error.code == .changedOnDisk || error.code == .exists {
            throw FolderError.selectionChanged
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

    /// Does something with the ignore file again if somebody wrote it meanwhile, a few times.
    func withSelection<Result>(_ body: () async throws -> Result) async throws -> Result {
        for _ in 0..<3 {
            do { return try await body() } catch FolderError.selectionChanged {}
        }
        throw FolderError.selectionChanged
    }

    /// An editor of the selection as `.stignore` has it now.
    func selectionEditor() throws -> SelectionEditor {
        SelectionEditor(try place.ignoreFile(), include: place.readIncluded)
    }
}
