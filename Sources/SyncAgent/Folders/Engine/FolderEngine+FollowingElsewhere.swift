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

    /// Before what others deleted is deleted here: gives the lines of what they have renamed to its new name. True if the
    /// selection changed.
    ///
    /// - parameter names: what is to be pulled; nil for everything.
    func followElsewhere(_ names: [String]?) async throws -> Bool {
        guard rules.kind != .sendOnly else { return false }
        let place = try await currentPlace()
        guard place.selection.leavesOutTheRest else { return false }
        var explicit: [String]
        if let names {
            explicit = names.filter { place.selection.selectedState(of: $0) == .explicit }
            guard !explicit.isEmpty else { return false }
        } else {
            explicit = SelectionEditor(try place.ignoreFile(), include: place.readIncluded).list()
        }
        let marked = Set(place.moved)
        explicit.removeAll { marked.contains($0) }
        let lost = try await deletedElsewhere(explicit)
        guard !lost.isEmpty else { return false }
        let files = lost.filter { $0.local?.file.kind == .file }
        let candidates = try await index.filesLike(files.map(\.name), in: folder)
        var (copies, sightings): ([String: [String]], [String: Sighting]) = ([:], [:])
        var count: [String: Int64] = [:]
        for facts in files {
            guard let deletion = facts.global, let content = facts.local?.file else { continue }
            for candidate in candidates where candidate.local?.status == nil {
                guard let added = candidate.global, RenameElsewhere.isRename(deletion, of: content, to: added) else {
                    continue
                }
                copies[facts.name, default: []].append(candidate.name)
                sightings[candidate.name] = sighting(of: candidate.name, isDirectory: false, place)
                for directory in Self.directories(above: candidate.name) { count[directory, default: 0] += 1 }
            }
        }
        for (directory, files) in count {
            guard let found = try await index.global(folder, directory) else { continue }
            var there = sighting(of: directory, isDirectory: true, place)
            if there.obstacle == nil, found.below.files > files {
                there.obstacle = "more is in it than was moved there"
            }
            sightings[directory] = there
        }
        let relocation = Relocation(
            lost: lost.map { PlacedItem(elsewhere: $0.name, isDirectory: $0.local?.file.kind == .directory) },
            lines: Set(explicit), sightings: sightings.values.sorted { $0.item.path < $1.item.path }, copies: copies)
        for held in relocation.held where explicit.contains(held.from) {
            logger.notice(
                "another device has renamed \(held.from) to \(held.to), which is not selected here: \(held.obstacle ?? "")"
            )
        }
        return try await followOthers(relocation, place)
    }

    /// Of selected paths, and of what is below them, what is here and deleted elsewhere.
    private func deletedElsewhere(_ paths: [String]) async throws -> [NameFacts] {
        func isLost(_ facts: NameFacts) -> Bool {
            guard let global = facts.global, let local = facts.local else { return false }
            return global.isDeleted && local.status != nil && !local.file.isDeleted && local.flags.isEmpty
        }
        var lost: [NameFacts] = []
        for start in stride(from: 0, to: paths.count, by: Self.factsLimit) {
            lost += try await facts(Array(paths[start..<min(start + Self.factsLimit, paths.count)])).filter(isLost)
        }
        for directory in lost where directory.local?.file.kind == .directory {
            var cursor: String?
            repeat {
                let page = try await index.localDescendants(
                    of: folder, below: directory.name, after: cursor, limit: Self.factsLimit)
                lost += try await facts(page.entries.map(\.path)).filter(isLost)
                cursor = page.next
            } while cursor != nil && lost.count < Self.lostFileLimit
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
