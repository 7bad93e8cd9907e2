import AgentConfiguration
import Arithmetic
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection
import SyncDecisions

/// Selects paths. On return the totals of `status` are those of the new selection.
package struct SelectStep: FolderStep {
    package let paths: [String]
    /// Only as long as there is space.
    package var whileSpace = false
    package var isDryRun = false

    package init(paths: [String], whileSpace: Bool = false, isDryRun: Bool = false) {
        self.paths = paths
        self.whileSpace = whileSpace
        self.isDryRun = isDryRun
    }

    /// - Throws: `IgnoreError` where the ignore file cannot say that.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> SelectionOutcome {
        let change = SelectionChangeStep(paths: paths, isSelecting: true, isDryRun: isDryRun) { [paths, whileSpace] in
            try $0.selecting(paths, whileSpace: whileSpace)
        }
        return try await change.run(folder, &work).outcome
    }
}

/// Deselects paths, and frees the space of what is not selected any more.
package struct DeselectStep: FolderStep {
    package let paths: [String]
    /// What becomes of the files on this disk.
    package let local: LocalFiles
    package var isDryRun = false
    /// For paths that nobody named: what cannot go after all is selected again, with the marks that it had.
    package var reselectsWhatStays = false

    package init(paths: [String], local: LocalFiles, isDryRun: Bool = false) {
        self.paths = paths
        self.local = local
        self.isDryRun = isDryRun
    }

    /// Frees files that nobody named. Since they were chosen, another device may have been promised one, or its user has changed it.
    static func freeing(chosen paths: [String]) -> DeselectStep {
        var step = DeselectStep(paths: paths, local: .free)
        step.reselectsWhatStays = true
        return step
    }

    /// - Throws: `IgnoreError` where the ignore file cannot say that; `FolderHalt` while deletions are held back.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> SelectionOutcome {
        if local != .keep { try folder.requireNoDeletionHalt() }
        let change = SelectionChangeStep(paths: paths, isSelecting: false, isDryRun: isDryRun) { [paths] in
            try $0.deselecting(paths)
        }
        let marked = Set(reselectsWhatStays ? try folder.place.ignoreFile().paths(marked: .whileSpace) : [])
        let changed = try await change.run(folder, &work)
        guard local != .keep else { return changed.outcome }
        // Were the index to forget that these names are not selected, a file that is gone could pass for deleted.
        if !isDryRun { try await folder.index.store.makeDurable() }
        var freeing = SpaceFreeing(
            folder: changed.folder, selection: changed.selection, isForced: local == .force, isDryRun: isDryRun,
            work: work)
        do {
            defer { work = freeing.work }
            try await freeing.free(PathSet.topmost(paths))
        }
        var outcome = changed.outcome
        outcome.freeing = freeing.outcome
        outcome.cost.extraneousFiles = freeing.outcome.stayingFiles
        outcome.cost.extraneousBytes = freeing.outcome.stayingBytes
        if reselectsWhatStays, !isDryRun, !freeing.stayed.isEmpty {
            // What was promised is tried again as soon as that ends.
            let stuck = freeing.stayed.filter { $0.reason != .promised }.map(\.name)
            work.memory.stuck.note(stuck, at: folder.tools.time.monotonic())
            try await reselect(freeing.stayed.map(\.name), marked: marked, &outcome, changed.folder, &work)
        }
        return outcome
    }

    /// Takes back what was written about `names`; those of `marked` get their mark back.
    private func reselect(
        _ names: [String], marked: Set<String>, _ outcome: inout SelectionOutcome, _ folder: FolderContext,
        _ work: inout FolderWork
    ) async throws {
        var folder = folder
        for whileSpace in [false, true] {
            let names = names.filter { marked.contains($0) == whileSpace }
            guard !names.isEmpty else { continue }
            let step = SelectionChangeStep(paths: names, isSelecting: true, isDryRun: false) {
                try $0.selecting(names, whileSpace: whileSpace)
            }
            let back = try await step.run(folder, &work)
            outcome.added.removeAll(where: back.outcome.removed.contains)
            outcome.removed.removeAll(where: back.outcome.added.contains)
            folder = back.folder
        }
        (outcome.cost.extraneousFiles, outcome.cost.extraneousBytes) = (0, 0)
        outcome.freeing?.keepStaying { $0.reason == Freeing.Reason.failed.rawValue }
        work.effects.counts.extraneous = try await folder.countExtraneous()
    }
}

/// Edits the ignore file, and says what that costs.
struct SelectionChangeStep: FolderStep {
    let paths: [String]
    let isSelecting: Bool
    let isDryRun: Bool
    let edit: @Sendable (SelectionEditor) throws -> SelectionEdit

    struct Change: Sendable {
        var outcome: SelectionOutcome
        /// With the new selection, unless this was a dry run.
        var folder: FolderContext
        /// As edited, also after a dry run.
        var selection: Selection
    }

    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> Change {
        do {
            return try await folder.withSelection { try await change(folder, &work) }
        } catch let error as FileAccessError where error.code == .noSpace {
            // The disk's own error advises to deselect files.
            throw FolderError.noSpace(FolderPlace.ignoreFile)
        }
    }

    private func change(_ folder: FolderContext, _ work: inout FolderWork) async throws -> Change {
        let editor = try folder.selectionEditor()
        let edit = try edit(editor)
        let new = try Selection(edit.file, include: folder.place.readIncluded)
        var outcome = SelectionOutcome(
            folder: folder.id.rawValue, mode: folder.settings.mode.rawValue, isDryRun: isDryRun, added: edit.added,
            removed: edit.removed)
        for path in paths {
            let found = try await folder.index.global(path)
            outcome.paths.append(
                SelectionOutcome.Path(
                    path: path, exists: found.exists, kind: found.kind,
                    selected: Entry.Selected(new.selectedState(of: path)),
                    isException: Self.isException(path, isSelecting: isSelecting, in: new)))
        }
        let (cost, unchanged) = try await folder.cost(of: PathSet.topmost(paths), to: new)
        outcome.cost = cost
        if !isSelecting, unchanged > 0 { outcome.stillSelected = unchanged }
        if isSelecting { outcome.short = try await folder.short(after: outcome.cost) }
        let changed =
            !isDryRun && edit.isChange ? try await folder.writing(edit.file, over: editor.file, &work) : folder
        return Change(outcome: outcome, folder: changed, selection: new)
    }

    /// Whether a directory above the path says the opposite of what the path's own line says.
    private static func isException(_ path: String, isSelecting: Bool, in selection: Selection) -> Bool {
        guard let parent = RelativePath(path)?.parent?.text else { return false }
        return isSelecting
            ? selection.selectedState(of: path) == .explicit && isExcludedByName(parent, in: selection)
            : !selection.isIgnored(parent)
    }

    /// Whether a rooted line without `!` excludes the directory, and not only the rule for the rest.
    private static func isExcludedByName(_ directory: String, in selection: Selection) -> Bool {
        let explanation = selection.explain(directory)
        return explanation.decision.isIgnored && explanation.pattern?.matchesEverything == false
    }
}

/// Makes the ignore file one of the other mode; the configuration is the caller's.
struct ConvertStep: FolderStep {
    let mode: FolderConfiguration.Mode
    let old: FolderConfiguration.Mode
    var isDryRun = false

    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> SelectionOutcome {
        try await folder.withSelection { try await convert(folder, &work) }
    }

    private func convert(_ folder: FolderContext, _ work: inout FolderWork) async throws -> SelectionOutcome {
        let editor = try folder.selectionEditor()
        let edit = try mode == .selective ? editor.convertedToSelective() : editor.convertedToFull()
        let new = try Selection(edit.file, include: folder.place.readIncluded)
        var outcome = SelectionOutcome(
            folder: folder.id.rawValue, mode: mode.rawValue, isDryRun: isDryRun, added: edit.added,
            removed: edit.removed)
        if folder.selection.suffices(for: old) {
            outcome.cost = try await folder.cost(of: [""], to: new).cost
            outcome.short = try await folder.short(after: outcome.cost)
        } else {
            // Nothing was synced without the lines: all that is not here is fetched from now on.
            outcome.cost = try await folder.cost(of: [""], to: new) { $0.isLocalCurrent }.cost
            outcome.short = try await folder.short(missing: outcome.cost.fetchBytes)
        }
        if !isDryRun, edit.isChange {
            _ = try await folder.writing(edit.file, over: editor.file, &work)
        }
        return outcome
    }
}

extension FolderContext {
    /// How many bytes are missing on the disk for what is needed after a change that costs this; nil if it fits, or the disk does
    /// not say.
    fileprivate func short(after cost: SelectionOutcome.Cost) async throws -> Int64? {
        guard let root = try await index.global("") else { return nil }
        return try await short(
            missing: root.selected.bytes.subtractingClamped(root.present.bytes)
                .addingClamped(cost.fetchBytes).subtractingClamped(cost.sparedBytes))
    }

    /// How many bytes are missing on the disk for so many that are not here; nil as in `short(after:)`.
    fileprivate func short(missing: Int64) async throws -> Int64? {
        guard let free = try? await onDisk({ try freeBytes() }) else { return nil }
        let stored = tools.transfers.stored(of: id).values.reduce(Int64(0)) { $0.addingClamped($1) }
        return SpaceRule.short(missing: missing.subtractingClamped(stored), free: free)
    }

    /// What another selection means for the files at and below `paths`, none of which lies below another.
    ///
    /// - Parameter wasSelected: nil for what the folder's selection says.
    /// - Returns: also how many of them are selected before and after.
    fileprivate func cost(
        of paths: [String], to new: Selection, from wasSelected: ((GlobalEntry) -> Bool)? = nil
    ) async throws -> (cost: SelectionOutcome.Cost, unchanged: Int64) {
        var cost = SelectionOutcome.Cost()
        var unchanged: Int64 = 0
        let old = selection
        func count(_ entry: GlobalEntry) {
            guard !entry.isDirectory else { return }
            let (was, will) = (wasSelected?(entry) ?? !old.isLeftOut(entry.path), !new.isLeftOut(entry.path))
            guard was != will else {
                if will, entry.isPresent { unchanged += 1 }  // bounded: one for each entry of the index
                return
            }
            let local = entry.local.flatMap { $0.status == nil || $0.file.isDeleted ? nil : $0.file.size }
            if let local {
                // A former version of what others have is replaced, and not kept.
                let isFormer =
                    entry.isPresent
                    && entry.local.map { $0.file.version.compare(entry.file?.version ?? $0.file.version) } == .lesser
                if will {
                    if !isFormer {
                        cost.adoptedFiles += 1
                        cost.adoptedBytes &+= local
                    }
                } else {
                    cost.extraneousFiles += 1
                    cost.extraneousBytes &+= local
                }
                if !will || entry.isLocalCurrent { return }
            }
            guard entry.isPresent, let size = entry.file?.size else { return }
            if will {
                cost.fetchFiles += 1
                cost.fetchBytes &+= size
            } else {
                cost.sparedFiles += 1
                cost.sparedBytes &+= size
            }
        }
        for path in paths {
            if !path.isEmpty, let entry = try await index.global(path) { count(entry) }
            try await index.eachDescendant(of: path) { page in for entry in page { count(entry) } }
        }
        return (cost, unchanged)
    }
}

/// What the selection says. Reads only; needs no turn.
package struct SelectionReading: Sendable {
    package let folder: FolderContext

    package init(folder: FolderContext) {
        self.folder = folder
    }

    /// Lists the paths that `.stignore` selects by name, in the order of their lines.
    ///
    /// - Throws: `FileAccessError`, `IgnoreError` or `FolderHalt` if `.stignore` cannot be read; `IndexStoreError`;
    ///   what `emit` throws; `CancellationError`.
    package func list(emit: @Sendable (SelectedPath) async throws -> Void) async throws {
        for path in try folder.selectionEditor().list() {
            let found = try await folder.index.global(path)
            try await emit(
                SelectedPath(folder: folder.id.rawValue, path: path, exists: found.exists, kind: found.kind))
        }
    }

    /// Says why a path is selected or not.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func explain(_ path: String) async throws -> ExplainedPath {
        let explanation = folder.selection.explain(path)
        let found = try await folder.index.global(path)
        let reason: ExplainedPath.Reason =
            switch explanation.decision.reason {
            case .pattern: .line
            case .noPattern: .noLine
            case .root: .root
            case .internalName: .internalName
            case .temporaryName: .temporaryName
            }
        return ExplainedPath(
            folder: folder.id.rawValue, path: path, selected: Entry.Selected(explanation.selected), reason: reason,
            line: explanation.pattern.map { ExplainedPath.Line(text: $0.text, file: $0.file, number: $0.line) },
            matchedPath: explanation.matchedPath, isParentOfSelected: explanation.isParentOfSelected,
            isDeletable: explanation.decision.isDeletable, exists: found.exists)
    }
}

extension GlobalEntry? {
    /// Whether any device has the name, or something below it.
    fileprivate var exists: Bool { map { $0.isPresent || $0.below != .zero } ?? false }

    /// Nil for what does not exist.
    fileprivate var kind: Entry.Kind? {
        guard exists, let entry = self else { return nil }
        if entry.isDirectory { return .directory }
        return entry.file.map { $0.kind.isSymlink ? .symlink : .file }
    }
}

extension Entry.Selected {
    package init(_ state: SelectedState) {
        self =
            switch state {
            case .explicit: .explicit
            case .implicit: .implicit
            case .no: .no
            }
    }
}
