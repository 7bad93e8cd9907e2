import BlockExchange
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// The selection follows what other devices rename. docs/decisions/renames.md gives the reasons.
extension FolderEngine {
    private static let factsLimit = 1000
    /// Files below one selected directory that are looked for elsewhere.
    private static let lostFileLimit = 10_000
    private static let partLimit = 1000

    /// Before what others deleted is deleted here: gives the lines of what they have renamed to its new name. True if the
    /// selection changed.
    ///
    /// - parameter names: what is to be pulled; nil for everything.
    func followElsewhere(_ names: [String]?) async throws -> Bool {
        guard rules.kind != .sendOnly else { return false }
        let place = try await currentPlace()
        guard place.selection.leavesOutTheRest else { return false }
        let lines = try await linesInQuestion(names, place)
        guard !lines.isEmpty else { return false }
        let lost = try await deletedElsewhere(lines)
        guard !lost.isEmpty else { return false }
        let files = lost.filter { $0.facts.local?.file.kind == .file }
        let candidates = try await index.filesLike(files.map(\.facts.name), in: folder)
        var (copies, sightings): ([String: [String]], [String: Sighting]) = ([:], [:])
        var counts: [String: Int64] = [:]
        for (line, facts, isPart) in files {
            guard let deletion = facts.global, let content = facts.local?.file else { continue }
            for candidate in candidates where candidate.local?.status == nil {
                guard let added = candidate.global, RenameElsewhere.isRename(deletion, of: content, to: added) else {
                    continue
                }
                if isPart { noteMovedPart(of: line, facts.name, to: candidate.name) }
                copies[facts.name, default: []].append(candidate.name)
                sightings[candidate.name] = sighting(of: candidate.name, isDirectory: false, place)
                for directory in Self.directories(above: candidate.name) { counts[directory, default: 0] += 1 }
            }
        }
        let before = state.withLock { $0.movedParts }
        for (directory, count) in counts {
            guard let found = try await index.global(folder, directory) else { continue }
            var there = sighting(of: directory, isDirectory: true, place)
            let parts = before.values.reduce(0) { $0 + ($1[directory] ?? 0) }
            if there.obstacle == nil, found.below.files > count + parts {
                there.obstacle = "more is in it than was moved there"
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
            logger.notice(
                "another device has renamed \(held.from) to \(held.to), which is not selected here: \(held.obstacle ?? "")"
            )
        }
        return try await followOthers(relocation, place)
    }

    /// The selected paths that `names` are, or lie below and are deleted, with those; of all names, all selected paths.
    private func linesInQuestion(_ names: [String]?, _ place: FolderPlace) async throws -> [String: [NameFacts]] {
        var lines: [String: [NameFacts]] = [:]
        if let names {
            for facts in try await facts(names) where facts.global?.isDeleted ?? false {
                var path = RelativePath(facts.name)
                while let line = path, place.selection.selectedState(of: line.text) == .implicit { path = line.parent }
                guard let path, place.selection.selectedState(of: path.text) == .explicit else { continue }
                lines[path.text, default: []].append(facts)
            }
        } else {
            for line in SelectionEditor(try place.ignoreFile(), include: place.readIncluded).list() { lines[line] = [] }
        }
        for line in place.moved { lines.removeValue(forKey: line) }
        return lines
    }

    /// Part of a directory was moved: the rest may follow with the next announcement. What was seen before is remembered
    /// as long as the process lives.
    private func noteMovedPart(of directory: String, _ name: String, to place: String) {
        let rest = name.dropFirst(directory.count)
        guard place.count > rest.count, place.hasSuffix(rest) else { return }
        state.withLock { state in
            guard state.movedParts[directory] != nil || state.movedParts.count < Self.partLimit else { return }
            state.movedParts[directory, default: [:]][String(place.dropLast(rest.count)), default: 0] += 1
        }
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
        for start in stride(from: 0, to: paths.count, by: Self.factsLimit) {
            for line in try await facts(Array(paths[start..<min(start + Self.factsLimit, paths.count)])) {
                guard line.local?.file.kind == .directory, line.local?.status != nil else {
                    if isLost(line) { lost.append((line.name, line, false)) }
                    continue
                }
                let deleted = (lines[line.name] ?? []).filter(isLost)
                // The directory itself is announced as deleted after what was in it.
                guard isLost(line) || !deleted.isEmpty else { continue }
                let below = try await index.global(folder, line.name)?.below
                guard isLost(line) || below?.files == 0 else {
                    lost += deleted.map { (line.name, $0, true) }
                    continue
                }
                lost.append((line.name, line, false))
                var cursor: String?
                repeat {
                    let page = try await index.localDescendants(
                        of: folder, below: line.name, after: cursor, limit: Self.factsLimit)
                    lost += try await facts(page.entries.map(\.path)).filter(isLost).map { (line.name, $0, false) }
                    cursor = page.next
                } while cursor != nil && lost.count < Self.lostFileLimit
            }
        }
        return lost
    }

    private func sighting(of path: String, isDirectory: Bool, _ place: FolderPlace) -> Sighting {
        let explanation = place.selection.explain(path)
        let isKept = !explanation.decision.isIgnored
        let obstacle =
            isKept || explanation.pattern?.matchesEverything == true
            ? nil : "the line “\(explanation.pattern?.text ?? "")” leaves that out"
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

    private func followOthers(_ relocation: Relocation, _ place: FolderPlace) async throws -> Bool {
        let editor = SelectionEditor(try place.ignoreFile(), include: place.readIncluded)
        var edits = relocation.joined.map { SelectionMove(from: $0.from, to: nil) }
        for move in relocation.follows {
            let edit = SelectionMove(from: move.from, to: move.to)
            do throws(IgnoreError) {
                _ = try editor.following([edit])
                edits.append(edit)
            } catch {
                logger.notice("no line can follow \(move.from) to \(move.to): \(error.message)")
            }
        }
        let edit = try editor.following(edits)
        guard !edits.isEmpty, edit.file != editor.file else { return false }
        try await write(edit.file, to: place)
        tell(edits)
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
