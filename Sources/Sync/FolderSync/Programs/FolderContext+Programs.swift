import FileAccess
import IndexStore
import Selection

extension FolderContext {
    /// The folder with a name selected for as long as there is space, if nothing selects it yet. Nothing else is looked at on the
    /// disk for that: what has the name is the caller's.
    ///
    /// - Throws: `IgnoreError` where a line that is not the editor's own excludes it; `FolderError.selectionChanged`.
    func selectingWhileSpace(_ path: String, _ work: inout FolderWork) async throws -> FolderContext {
        guard selection.isLeftOut(path) else { return self }
        if let grown = try await growingSelection(by: path, &work) { return grown }
        return try await changingSelection(of: path, isSelecting: true, &work) {
            try $0.selecting([path], whileSpace: true)
        }
    }

    /// The same where that comes to two new lines in `.stignore`; nil where it does not. Costs the same however many lines there are.
    private func growingSelection(by path: String, _ work: inout FolderWork) async throws -> FolderContext? {
        // The index has to be in line with what is added to.
        guard work.memory.appliedSelection == selection else { return nil }
        let place = place
        guard let grown = try await onDisk({ try place.growing(by: path) }) else { return nil }
        work.effects.place = grown
        let folder = with(grown)
        // Nobody else's name is concerned. Nor are watches: what is in a directory that the rest's rule excludes is watched already.
        try await folder.index.reselect(at: path)
        work.memory.appliedSelection = grown.selection
        work.effects.touchesNeed = true
        work.effects.events.append(("selection-changed", nil))
        work.effects.rescan(path)
        return folder
    }

    /// Throws `IgnoreError` where a line that is not the editor's own excludes a name, so that it could not be selected.
    package func requireSelectable(_ path: String) throws {
        guard selection.isLeftOut(path) else { return }
        _ = try selectionEditor().selecting([path], whileSpace: true)
    }

    /// The folder without the line that selected a name for as long as there was space, if it has one of its own.
    func droppingLine(of path: String, _ work: inout FolderWork) async throws -> FolderContext {
        guard hasLineWhileSpace(path) else { return self }
        return try await changingSelection(of: path, isSelecting: false, &work) { try $0.deselecting([path]) }
    }

    /// Whether a name is selected for as long as there is space, by a line of its own.
    package func hasLineWhileSpace(_ path: String) -> Bool {
        guard place.whileSpace.contains(path) else { return false }
        guard let parent = RelativePath(path)?.parent else { return true }
        return !place.whileSpace.contains(parent.text)
    }

    private func changingSelection(
        of path: String, isSelecting: Bool, _ work: inout FolderWork,
        _ edit: @escaping @Sendable (SelectionEditor) throws -> SelectionEdit
    ) async throws -> FolderContext {
        let wasAll = work.effects.scansEverything
        let step = SelectionChangeStep(paths: [path], isSelecting: isSelecting, isDryRun: false, edit: edit)
        let changed = try await step.run(self, &work).folder
        work.effects.scansEverything = wasAll
        work.effects.rescan(path)
        return changed
    }
}
