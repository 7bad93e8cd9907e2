import BlockExchange
import FileAccess
import IndexStore
import Names
import Reconciliation
import Selection

/// The selection follows what other devices rename. docs/decisions/renames.md gives the reasons.
struct ElsewhereRenames: Sendable {
    let folder: FolderContext

    /// Files below one selected directory that are looked for elsewhere.
    private static let lostFileLimit = 10_000
    private static let partLimit = 1000
    /// Files that a renamed directory has under its old name because they were changed meanwhile.
    private static let restLimit = 100

    /// What is here and deleted elsewhere, with the line that it belongs to.
    private typealias Lost = (line: String, facts: NameFacts)

    /// What other devices still have below a selected directory after they have deleted something in it.
    private struct Rest {
        /// Nil if there are too many.
        var files: [String]?
        /// Whether the directory itself is deleted elsewhere: else part of it may have been moved.
        var isDirectoryDeleted: Bool
    }

    /// Before what others deleted is deleted here: gives the lines of what they have renamed to its new name. True if the
    /// selection changed.
    ///
    /// - parameter names: what is to be pulled; nil for everything.
    func follow(_ names: [String]?, _ work: inout FolderWork) async throws -> Bool {
        guard folder.rules.kind != .sendOnly, folder.selection.leavesOutTheRest else { return false }
        let lines = try await linesInQuestion(names)
        guard !lines.isEmpty else { return false }
        let (lost, rests) = try await deletedElsewhere(lines)
        guard !lost.isEmpty else { return false }
        let files = lost.filter { $0.facts.local?.file.kind == .file }
        let candidates = try await folder.index.store.filesLike(files.map(\.facts.name), in: folder.id)
        var (copies, sightings): ([NameKey: [String]], [NameKey: Sighting]) = ([:], [:])
        var counts: [NameKey: Int64] = [:]
        for (_, facts) in files {
            guard let deletion = facts.global, let content = facts.local?.file else { continue }
            for candidate in candidates where candidate.local?.status == nil {
                guard let added = candidate.global, RenameElsewhere.isRename(deletion, of: content, to: added) else {
                    continue
                }
                copies[facts.name, default: []].append(candidate.name)
                sightings[candidate.name] = sighting(of: candidate.name, isDirectory: false)
                for directory in Self.directories(above: candidate.name) { counts[directory, default: 0] += 1 }
            }
        }
        var parts: Set<NameKey> = []
        for (line, rest) in rests.map({ ($0.key.text, $0.value) }) {
            let deletions = files.compactMap { NameKey($0.line) == NameKey(line) ? $0.facts.global : nil }
            if let moved = try await newNames(of: rest.files, below: line, copies, deletions) {
                for directory in moved.flatMap(Self.directories) { counts[directory, default: 0] += 1 }
            } else if !rest.isDirectoryDeleted {
                parts.insert(line)
                for name in (lines[line] ?? []).map(\.name) {
                    for place in copies[name] ?? [] { Self.noteMovedPart(of: line, name, to: place, &work) }
                }
            }
        }
        let before = work.memory.movedParts
        for (directory, count) in counts.map({ ($0.key.text, $0.value) }) {
            guard let found = try await folder.index.global(directory) else { continue }
            var there = sighting(of: directory, isDirectory: true)
            let parts = before.values.reduce(0) { $0 + ($1[directory] ?? 0) }
            if there.obstacle == nil, found.below.files > count + parts {
                there.obstacle = "it contains other files, too"
            }
            sightings[directory] = there
        }
        let whole = lost.filter { !parts.contains($0.line) }
        let relocation = Relocation(
            lost: whole.map {
                PlacedItem(elsewhere: $0.facts.name, isDirectory: $0.facts.local?.file.kind == .directory)
            },
            lines: Set(lines.keys), sightings: Array(sightings.values), copies: copies)
        for held in relocation.held where lines[held.from] != nil {
            folder.logger.notice(
                "another device has renamed \(held.from) to \(held.to), which is not selected here: \(held.obstacle ?? "")"
            )
        }
        return try await write(relocation, &work)
    }

    /// The selected paths that `names` are, or lie below and are deleted, with those; of all names, all selected paths.
    private func linesInQuestion(_ names: [String]?) async throws -> [NameKey: [NameFacts]] {
        var lines: [NameKey: [NameFacts]] = [:]
        if let names {
            for facts in try await folder.index.facts(names) where facts.global?.isDeleted ?? false {
                var path = RelativePath(facts.name)
                while let line = path, folder.selection.selectedState(of: line.text) == .implicit { path = line.parent }
                guard let path, folder.selection.selectedState(of: path.text) == .explicit else { continue }
                lines[path.text, default: []].append(facts)
            }
        } else {
            for line in try folder.selectionEditor().list() { lines[line] = [] }
        }
        for line in folder.place.moved { lines.removeValue(forKey: NameKey(line)) }
        return lines
    }

    /// Part of a directory was moved: the rest may follow with the next announcement. What was seen before is remembered
    /// as long as the process lives.
    private static func noteMovedPart(
        of directory: String, _ name: String, to place: String, _ work: inout FolderWork
    ) {
        guard let new = place.without(suffix: name.behind(directory)), !new.isEmpty else { return }
        guard work.memory.movedParts[directory] != nil || work.memory.movedParts.count < partLimit else { return }
        work.memory.movedParts[directory, default: [:]][String(new), default: 0] += 1
    }

    /// Where files of a renamed directory are that were changed under their old names meanwhile; nil if one of them is nowhere.
    ///
    /// - Parameters:
    ///   - copies: where the others are that were deleted.
    ///   - deletions: these deletions.
    private func newNames(
        of files: [String]?, below directory: String, _ copies: [NameKey: [String]], _ deletions: [FileInfo]
    ) async throws -> [String]? {
        guard let files, let target = Self.target(of: directory, copies) else { return nil }
        let places = files.map { target + $0.behind(directory) }
        for (edited, added) in zip(try await folder.index.facts(files), try await folder.index.facts(places)) {
            guard let edited = edited.global, let added = added.global,
                deletions.contains(where: { RenameElsewhere.isRename(beside: $0, of: edited, to: added) })
            else { return nil }
        }
        return places
    }

    /// The directory that has most of what was below another, under the same names.
    private static func target(of directory: String, _ copies: [NameKey: [String]]) -> String? {
        var votes: [NameKey: Int] = [:]
        for (name, places) in copies where name.text.isBelow(directory) {
            for place in places {
                guard let new = place.without(suffix: name.text.behind(directory)), !new.isEmpty else { continue }
                votes[String(new), default: 0] += 1
            }
        }
        return votes.max { ($0.value, $1.key.text) < ($1.value, $0.key.text) }?.key.text
    }

    /// Of selected paths, and of what is below them, what is here and deleted elsewhere; and what the others still have below
    /// the selected directories among them.
    private func deletedElsewhere(
        _ lines: [NameKey: [NameFacts]]
    ) async throws -> (lost: [Lost], rests: [NameKey: Rest]) {
        func isLost(_ facts: NameFacts) -> Bool {
            guard let global = facts.global, let local = facts.local else { return false }
            return global.isDeleted && local.status != nil && !local.file.isDeleted && local.flags.isEmpty
        }
        var (lost, rests): ([Lost], [NameKey: Rest]) = ([], [:])
        let paths = lines.keys.map(\.text).sorted()
        for start in stride(from: 0, to: paths.count, by: FolderIndex.pageLimit) {
            for line in try await folder.index.facts(
                Array(paths[start..<min(start + FolderIndex.pageLimit, paths.count)]))
            {
                guard line.local?.file.kind == .directory, line.local?.status != nil else {
                    if isLost(line) { lost.append((line.name, line)) }
                    continue
                }
                let deleted = (lines[line.name] ?? []).filter(isLost)
                // The directory itself is announced as deleted after what was in it.
                guard isLost(line) || !deleted.isEmpty else { continue }
                let rest = try await rest(below: line.name, isDirectoryDeleted: isLost(line))
                if let rest { rests[line.name] = rest }
                guard rest?.files != nil || rest?.isDirectoryDeleted ?? true else {
                    lost += deleted.map { (line.name, $0) }
                    continue
                }
                lost.append((line.name, line))
                var cursor: String?
                repeat {
                    let page = try await folder.index.store.localDescendants(
                        of: folder.id, below: line.name, after: cursor, limit: FolderIndex.pageLimit)
                    lost += try await folder.index.facts(page.entries.map(\.path)).filter(isLost).map {
                        (line.name, $0)
                    }
                    cursor = page.next
                } while cursor != nil && lost.count < Self.lostFileLimit
            }
        }
        return (lost, rests)
    }

    /// Nil if there are no files any more.
    private func rest(below directory: String, isDirectoryDeleted: Bool) async throws -> Rest? {
        let count = try await folder.index.global(directory)?.below.files ?? 0
        guard count > 0 else { return nil }
        var rest = Rest(files: nil, isDirectoryDeleted: isDirectoryDeleted)
        guard count <= Self.restLimit else { return rest }
        var files: [String] = []
        try await folder.index.eachDescendant(of: directory) { page in
            files += page.filter { $0.isPresent && $0.file?.kind == .file }.map(\.path)
        }
        rest.files = files
        return rest
    }

    private func sighting(of path: String, isDirectory: Bool) -> Sighting {
        let explanation = folder.selection.explain(path)
        let isKept = !explanation.decision.isIgnored
        let obstacle =
            isKept || explanation.pattern?.matchesEverything == true
            ? nil : "the line “\(explanation.pattern?.text ?? "")” excludes that"
        return Sighting(
            PlacedItem(elsewhere: path, isDirectory: isDirectory), isKept: isKept, obstacle: obstacle)
    }

    private static func directories(above path: String) -> [String] {
        var directories: [String] = []
        var parent = RelativePath(path)?.parent
        while let directory = parent {
            directories.append(directory.text)
            parent = directory.parent
        }
        return directories
    }

    private func write(_ relocation: Relocation, _ work: inout FolderWork) async throws -> Bool {
        let editor = try folder.selectionEditor()
        var edits = relocation.joined.map { SelectionMove(from: $0.from, to: nil) }
        for move in relocation.follows {
            let edit = SelectionMove(from: move.from, to: move.to)
            do throws(IgnoreError) {
                _ = try editor.following([edit])
                edits.append(edit)
            } catch {
                folder.logger.notice("the selection cannot follow \(move.from) to \(move.to): \(error.message)")
            }
        }
        let edit = try editor.following(edits)
        guard !edits.isEmpty, edit.file != editor.file else { return false }
        do {
            _ = try await folder.writing(edit.file, over: editor.file, &work)
        } catch FolderError.selectionChanged {
            // Decided again with the selection that is written now.
            work.effects.scansEverything = true
            return false
        }
        folder.noteFollowed(edits, &work)
        return true
    }
}

extension PlacedItem {
    /// What another device has: nothing is known of it but its name and its contents.
    fileprivate init(elsewhere path: String, isDirectory: Bool) {
        // No number and size: only `copies` says what is the same.
        self.init(
            path: path, kind: isDirectory ? .directory : .file, inode: 0, size: 0,
            modified: DiskTime(seconds: 0, nanoseconds: 0))
    }
}

/// Has the selection follow what other devices have renamed. True if it changed.
struct FollowElsewhereStep: FolderStep {
    /// What is to be pulled; nil for everything.
    let names: [String]?

    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> Bool {
        try await ElsewhereRenames(folder: folder).follow(names, &work)
    }
}
