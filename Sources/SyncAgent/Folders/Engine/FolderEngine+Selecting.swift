import AgentConfiguration
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Selection

/// Changes of the folder's selection.
extension FolderEngine {
    private static let pageLimit = 1000

    func select(_ paths: [String], whileSpace: Bool, isDryRun: Bool) async throws -> SelectionOutcome {
        try await exclusively {
            try await self.change(paths, isDryRun: isDryRun) { try $0.selecting(paths, whileSpace: whileSpace) }.outcome
        }
    }

    func deselect(_ paths: [String], _ local: LocalFiles, isDryRun: Bool) async throws -> SelectionOutcome {
        try await exclusively { try await self.deselectInStep(paths, local, isDryRun: isDryRun) }
    }

    func deselectInStep(_ paths: [String], _ local: LocalFiles, isDryRun: Bool) async throws -> SelectionOutcome {
        // What a folder that has halted says of its files may be wrong.
        if local != .keep, isHaltedOverDeletions, let halt = activity.snapshot.halt { throw halt }
        let change = try await change(paths, isSelecting: false, isDryRun: isDryRun) {
            try $0.deselecting(paths)
        }
        guard local != .keep else { return change.outcome }
        var outcome = change.outcome
        var place = change.place
        if !isDryRun {
            place = try await currentPlace()
            // Were the index to forget that these names are not kept, a file that is gone could pass for deleted.
            try await index.makeDurable()
        }
        var freeing = SpaceFreeing(
            engine: self, place: place, selection: isDryRun ? change.selection : place.selection,
            isForced: local == .force, isDryRun: isDryRun)
        try await freeing.free(Self.topmost(paths))
        outcome.freeing = freeing.outcome
        outcome.cost.extraneousFiles = freeing.outcome.stayingFiles
        outcome.cost.extraneousBytes = freeing.outcome.stayingBytes
        return outcome
    }

    /// A selection that was edited, and what it was edited in.
    struct Change: Sendable {
        var outcome: SelectionOutcome
        var place: FolderPlace
        var selection: Selection
    }

    /// Edits the ignore file, within a step of its own.
    func change(
        _ paths: [String], isSelecting: Bool = true, isDryRun: Bool, by body: (SelectionEditor) throws -> SelectionEdit
    ) async throws -> Change {
        let place = try session.place().get()
        let edit = try body(SelectionEditor(try place.ignoreFile(), include: place.readIncluded))
        let new = try Selection(edit.file, include: place.readIncluded)
        var outcome = SelectionOutcome(
            folder: folder.rawValue, mode: session.configuration.mode.rawValue, isDryRun: isDryRun,
            added: edit.added, removed: edit.removed)
        for path in paths {
            let found = try await index.global(folder, path)
            let exists = found.map { $0.isPresent || $0.below != .zero } ?? false
            outcome.paths.append(
                SelectionOutcome.Path(
                    path: path, exists: exists, kind: exists ? found.flatMap(Self.kind) : nil,
                    selected: Entry.Selected(new.selectedState(of: path)),
                    isException: Self.isException(path, isSelecting: isSelecting, in: new)))
        }
        outcome.cost = try await cost(of: Self.topmost(paths), from: place.selection, to: new)
        if !isDryRun, edit.isChange { try await write(edit.file, to: place) }
        return Change(outcome: outcome, place: place, selection: new)
    }

    func convert(to mode: FolderConfiguration.Mode, isDryRun: Bool) async throws -> SelectionOutcome {
        try await exclusively { [self] in
            let place = try session.placeToConvert()
            let editor = SelectionEditor(try place.ignoreFile(), include: place.readIncluded)
            let edit = try mode == .selective ? editor.convertedToSelective() : editor.convertedToFull()
            let new = try Selection(edit.file, include: place.readIncluded)
            var outcome = SelectionOutcome(
                folder: folder.rawValue, mode: mode.rawValue, isDryRun: isDryRun, added: edit.added,
                removed: edit.removed)
            outcome.cost = try await cost(of: [""], from: place.selection, to: new)
            if !isDryRun, edit.isChange { try await write(edit.file, to: place) }
            return outcome
        }
    }

    func selection(emit: @Sendable (SelectedPath) async throws -> Void) async throws {
        let place = try session.place().get()
        for path in SelectionEditor(try place.ignoreFile(), include: place.readIncluded).list() {
            let found = try await index.global(folder, path)
            let exists = found.map { $0.isPresent || $0.below != .zero } ?? false
            try await emit(
                SelectedPath(
                    folder: folder.rawValue, path: path, exists: exists, kind: exists ? found.flatMap(Self.kind) : nil))
        }
    }

    func explain(_ path: String) async throws -> ExplainedPath {
        let explanation = try session.place().get().selection.explain(path)
        let found = try await index.global(folder, path)
        let reason: ExplainedPath.Reason =
            switch explanation.decision.reason {
            case .pattern: .line
            case .noPattern: .noLine
            case .root: .root
            case .internalName: .internalName
            case .temporaryName: .temporaryName
            }
        return ExplainedPath(
            folder: folder.rawValue, path: path, selected: Entry.Selected(explanation.selected), reason: reason,
            line: explanation.pattern.map { ExplainedPath.Line(text: $0.text, file: $0.file, number: $0.line) },
            matchedPath: explanation.matchedPath, isParentOfSelected: explanation.isParentOfSelected,
            isDeletable: explanation.decision.isDeletable,
            exists: found.map { $0.isPresent || $0.below != .zero } ?? false)
    }

    // MARK: -

    /// Replaces the folder's `.stignore`, and brings the index in line with it before anyone asks for its totals.
    func write(_ file: IgnoreFile, to place: FolderPlace) async throws {
        try await environment.fetching.threads.runIfActive {
            guard let path = RelativePath(FolderPlace.ignoreFile) else { return }
            let staged = try place.root.stage(path, resuming: false)
            try staged.write(file.bytes, at: 0)
            _ = try staged.commit(replacing: .anything, permissions: nil, modified: nil)
        }
        _ = try await currentPlace()
        try await countNeed()
        scanEverythingSoon()
        environment.events.post("selection-changed", folder: folder)
    }

    /// What a change of the selection means for the files at and below `paths`, none of which lies below another.
    private func cost(
        of paths: [String], from old: Selection, to new: Selection
    ) async throws -> SelectionOutcome.Cost {
        var cost = SelectionOutcome.Cost()
        func count(_ entry: GlobalEntry) {
            guard !entry.isDirectory else { return }
            let (was, will) = (!old.isLeftOut(entry.path), !new.isLeftOut(entry.path))
            guard was != will else { return }
            let local = entry.local.flatMap { $0.status == nil || $0.file.isDeleted ? nil : $0.file.size }
            if let local {
                if will {
                    cost.adoptedFiles += 1
                    cost.adoptedBytes &+= local
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
            if !path.isEmpty, let entry = try await index.global(folder, path) { count(entry) }
            var after: String?
            while true {
                let page = try await index.descendants(folder, of: path, after: after, limit: Self.pageLimit)
                for entry in page { count(entry) }
                guard page.count == Self.pageLimit, let last = page.last else { break }
                after = last.path
            }
        }
        return cost
    }

    private static func kind(_ entry: GlobalEntry) -> Entry.Kind? {
        if entry.isDirectory { return .directory }
        return entry.file.map { $0.kind.isSymlink ? .symlink : .file }
    }

    /// Whether a directory above the path says the opposite of what the path's own line says.
    private static func isException(_ path: String, isSelecting: Bool, in selection: Selection) -> Bool {
        guard let parent = RelativePath(path)?.parent?.text else { return false }
        return isSelecting
            ? selection.selectedState(of: path) == .explicit && isExcludedByName(parent, in: selection)
            : !selection.isIgnored(parent)
    }

    /// Whether a rooted line without `!` leaves the directory out, and not only the rest's rule.
    private static func isExcludedByName(_ directory: String, in selection: Selection) -> Bool {
        let explanation = selection.explain(directory)
        return explanation.decision.isIgnored && explanation.pattern?.matchesEverything == false
    }

    static func topmost(_ paths: [String]) -> [String] {
        let all = Set(paths)
        return all.filter { path in
            var parent = RelativePath(path)?.parent
            while let directory = parent {
                if all.contains(directory.text) { return false }
                parent = directory.parent
            }
            return true
        }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

extension Entry.Selected {
    init(_ state: SelectedState) {
        self =
            switch state {
            case .explicit: .explicit
            case .implicit: .implicit
            case .no: .no
            }
    }
}
