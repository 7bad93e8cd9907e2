import BlockExchange
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// The selection follows what other devices rename. docs/decisions/renames.md gives the reasons.
struct ElsewhereRenames: Sendable {
    let folder: FolderContext

    /// Files below one selected directory that are looked for elsewhere.
    private static let lostFileLimit = 10_000
    private static let partLimit = 1000

    /// Before what others deleted is deleted here: gives the lines of what they have renamed to its new name. True if the
    /// selection changed.
    ///
    /// - parameter names: what is to be pulled; nil for everything.
    func follow(_ names: [String]?, _ work: inout FolderWork) async throws -> Bool {
        guard folder.rules.kind != .sendOnly, folder.selection.leavesOutTheRest else { return false }
        let lines = try await linesInQuestion(names)
        guard !lines.isEmpty else { return false }
        let lost = try await deletedElsewhere(lines)
        guard !lost.isEmpty else { return false }
        let files = lost.filter { $0.facts.local?.file.kind == .file }
        let candidates = try await folder.index.store.filesLike(files.map(\.facts.name), in: folder.id)
        var (copies, sightings): ([String: [String]], [String: Sighting]) = ([:], [:])
        var counts: [String: Int64] = [:]
        for (line, facts, isPart) in files {
            guard let deletion = facts.global, let content = facts.local?.file else { continue }
            for candidate in candidates where candidate.local?.status == nil {
                guard let added = candidate.global, RenameElsewhere.isRename(deletion, of: content, to: added) else {
                    continue
                }
                if isPart { Self.noteMovedPart(of: line, facts.name, to: candidate.name, &work) }
                copies[facts.name, default: []].append(candidate.name)
                sightings[candidate.name] = sighting(of: candidate.name, isDirectory: false)
                for directory in Self.directories(above: candidate.name) { counts[directory, default: 0] += 1 }
            }
        }
        let before = work.memory.movedParts
        for (directory, count) in counts {
            guard let found = try await folder.index.global(directory) else { continue }
            var there = sighting(of: directory, isDirectory: true)
            let parts = before.values.reduce(0) { $0 + ($1[directory] ?? 0) }
            if there.obstacle == nil, found.below.files > count + parts {
                there.obstacle = "it contains other files, too"
            }
            sightings[directory] = there
        }
        let whole = lost.filter { !$0.isPart }
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
    private func linesInQuestion(_ names: [String]?) async throws -> [String: [NameFacts]] {
        var lines: [String: [NameFacts]] = [:]
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
        for line in folder.place.moved { lines.removeValue(forKey: line) }
        return lines
    }

    /// Part of a directory was moved: the rest may follow with the next announcement. What was seen before is remembered
    /// as long as the process lives.
    private static func noteMovedPart(
        of directory: String, _ name: String, to place: String, _ work: inout FolderWork
    ) {
        let rest = name.dropFirst(directory.count)
        guard place.count > rest.count, place.hasSuffix(rest) else { return }
        guard work.memory.movedParts[directory] != nil || work.memory.movedParts.count < partLimit else { return }
        work.memory.movedParts[directory, default: [:]][String(place.dropLast(rest.count)), default: 0] += 1
    }

    /// Of selected paths, and of what is below them, what is here and deleted elsewhere, with the line it belongs to; and
    /// whether that line stands for something that is still there.
    private func deletedElsewhere(
        _ lines: [String: [NameFacts]]
    ) async throws -> [(line: String, facts: NameFacts, isPart: Bool)] {
        func isLost(_ facts: NameFacts) -> Bool {
            guard let global = facts.global, let local = facts.local else { return false }
            return global.isDeleted && local.status != nil && !local.file.isDeleted && local.flags.isEmpty
        }
        var lost: [(line: String, facts: NameFacts, isPart: Bool)] = []
        let paths = lines.keys.sorted()
        for start in stride(from: 0, to: paths.count, by: FolderIndex.pageLimit) {
            for line in try await folder.index.facts(
                Array(paths[start..<min(start + FolderIndex.pageLimit, paths.count)]))
            {
                guard line.local?.file.kind == .directory, line.local?.status != nil else {
                    if isLost(line) { lost.append((line.name, line, false)) }
                    continue
                }
                let deleted = (lines[line.name] ?? []).filter(isLost)
                // The directory itself is announced as deleted after what was in it.
                guard isLost(line) || !deleted.isEmpty else { continue }
                let below = try await folder.index.global(line.name)?.below
                guard isLost(line) || below?.files == 0 else {
                    lost += deleted.map { (line.name, $0, true) }
                    continue
                }
                lost.append((line.name, line, false))
                var cursor: String?
                repeat {
                    let page = try await folder.index.store.localDescendants(
                        of: folder.id, below: line.name, after: cursor, limit: FolderIndex.pageLimit)
                    lost += try await folder.index.facts(page.entries.map(\.path)).filter(isLost).map {
                        (line.name, $0, false)
                    }
                    cursor = page.next
                } while cursor != nil && lost.count < Self.lostFileLimit
            }
        }
        return lost
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
