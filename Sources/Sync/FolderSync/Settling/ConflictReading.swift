import AgentContext
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// Finds conflict copies on this disk, and says what they stand for. Reads only; needs no turn.
package struct ConflictReading: Sendable {
    package let folder: FolderContext

    package init(folder: FolderContext) {
        self.folder = folder
    }

    /// Lists the conflicts, by the names of their copies.
    ///
    /// - Throws: as `copies` and `conflict`.
    package func list() async throws -> [Conflict] {
        var conflicts: [Conflict] = []
        for copy in try await copies() { conflicts.append(try await conflict(copy).shown) }
        return conflicts
    }

    /// The conflicts of a file, or the one of a copy, each with a text diff. Throws `FolderError.noConflict`.
    package func details(_ path: String) async throws -> [ConflictDetails] {
        var details: [ConflictDetails] = []
        for copy in try await copies(meantBy: try RelativePath(parsing: path)) {
            let conflict = try await conflict(copy)
            let difference = try await TextDifference.between(
                RelativePath(conflict.shown.theirs.path), RelativePath(conflict.shown.mine.path), in: folder.root,
                labels: (conflict.shown.theirs.label("theirs"), conflict.shown.mine.label("mine")),
                threads: folder.tools.threads)
            details.append(
                ConflictDetails(
                    conflict: conflict.shown, diff: difference.text, isCut: difference.isCut,
                    remark: difference.remark))
        }
        return details
    }

    /// The conflict copies on this disk: those that the index knows, and those beside files that are selected by name, which
    /// are not selected themselves.
    ///
    /// - Throws: `IndexStoreError`; `FileAccessError`; `CancellationError`.
    package func copies() async throws -> [RelativePath] {
        let known = try await folder.index.store.conflictCopies(in: folder.id)
        var copies = Set(known.lazy.compactMap { RelativePath($0) }.filter { original(of: $0) != nil })
        // An ignore file that cannot be read any more halts the folder; here it only says where to look.
        let selected = (try? folder.selectionEditor().list()) ?? []
        let parents = Set(selected.compactMap { RelativePath($0) }.map(\.parent))
        copies.formUnion(
            try await folder.onDisk {
                var found: Set<RelativePath> = []
                for parent in parents { found.formUnion(try listedCopies(in: parent)) }
                return found
            })
        return copies.sorted()
    }

    /// Blocks its thread.
    private func listedCopies(in directory: RelativePath?) throws -> [RelativePath] {
        let entries: [DirectoryEntry]
        do {
            entries = try folder.root.list(directory)
        } catch {
            guard error.isAbsence else { throw error }
            return []
        }
        return entries.compactMap { entry in
            guard entry.type == .regular, let name = entry.name,
                let path = try? directory?.appending(name) ?? RelativePath(parsing: name), original(of: path) != nil
            else { return nil }
            return path
        }
    }

    /// The file that `copy` is a conflict copy of, by its name. Nil if it is none, and for names that are never synced: another
    /// device chooses the name of its file, and must not reach `.stignore` by it.
    private func original(of copy: RelativePath, among siblings: Set<String> = []) -> RelativePath? {
        guard let original = ConflictName.original(of: copy.text, among: siblings).flatMap({ RelativePath($0) }),
            !folder.isReserved(original)
        else { return nil }
        return original
    }

    /// The copy that is named, or all copies of the file that is.
    ///
    /// - Throws: `FolderError.noConflict` if there is none; `FileAccessError`; `CancellationError`.
    package func copies(meantBy path: RelativePath) async throws -> [RelativePath] {
        let root = folder.root
        let isCopy = original(of: path) != nil
        var copies = try await folder.onDisk { () throws -> [RelativePath] in
            guard isCopy else { return try listedCopies(in: path.parent) }
            return try root.status(of: path)?.type == .regular ? [path] : []
        }
        if !isCopy {
            let siblings = try await siblings(of: copies, in: path.parent)
            copies.removeAll { original(of: $0, among: siblings) != path }
        }
        guard !copies.isEmpty else {
            throw FolderError.noConflict(path.text)
        }
        return copies.sorted()
    }

    /// The paths of what is in a directory, on this disk or on others; none if they do not count for these copies.
    private func siblings(of copies: [RelativePath], in directory: RelativePath?) async throws -> Set<String> {
        guard copies.contains(where: { ConflictName.mayBeCut($0.text) }) else { return [] }
        return try await folder.names(in: directory)
    }

    /// The conflict that `copy` is one side of, with what is known of both sides.
    ///
    /// - Throws: `RelativePathError` if the name of the original is not a path, as of `..sync-conflict-…`;
    ///   `IndexStoreError`; `FileAccessError`; `CancellationError`.
    package func conflict(_ copy: RelativePath) async throws -> FoundConflict {
        let winner = ConflictName.winner(of: copy.text) ?? ""
        let siblings = try await siblings(of: [copy], in: copy.parent)
        let original = try RelativePath(
            parsing: ConflictName.original(of: copy.text, among: siblings) ?? copy.text)
        let facts = try await folder.index.facts([original.text, copy.text])
        let author = facts[1].local?.file.modifiedBy ?? facts[1].global?.modifiedBy
        let side = ConflictSide.mine(
            winner: winner, author: author, device: folder.tools.localDevice.shortID)
        let root = folder.root
        let (first, second) = try await folder.onDisk { (try root.status(of: original), try root.status(of: copy)) }
        // Since the copy was made, others may have changed what won. Who deleted it did not write it.
        let latest = facts[0].local?.file ?? facts[0].global
        let writer = latest.flatMap { $0.isDeleted ? nil : $0.modifiedBy.description } ?? winner
        let won = version(original, by: writer, first)
        let lost = version(copy, by: author?.description ?? "", second)
        return FoundConflict(
            original: original, copy: copy, mine: side,
            shown: Conflict(
                folder: folder.id.rawValue, path: original.text, copy: copy.text, mine: side == .original ? won : lost,
                theirs: side == .original ? lost : won))
    }

    package func version(
        _ path: RelativePath, by device: String, _ status: FileAccess.FileStatus?
    ) -> Conflict.Version {
        let known = folder.tools.knownDevices().first { $0.id.shortID.description == device }
        return Conflict.Version(
            path: path.text, device: known?.id.description ?? device, name: known?.name ?? "",
            size: status.map { $0.type == .regular ? $0.size : 0 },
            modified: status.map {
                WallTime(seconds: $0.modified.seconds, nanoseconds: $0.modified.nanoseconds).rfc3339
            })
    }
}

/// A conflict, and what is where.
package struct FoundConflict: Sendable {
    package var original: RelativePath
    package var copy: RelativePath
    package var mine: ConflictSide
    package var shown: Conflict

    /// The side that stays; nil for both.
    package func kept(_ keep: ConflictResolution.Keep) -> ConflictSide? {
        switch keep {
        case .both: nil
        case .mine: mine
        case .theirs: mine == .original ? .copy : .original
        }
    }
}

extension Conflict.Version {
    /// What the device is called in names of files.
    var ordinaryLabel: String { name.isEmpty ? device.isEmpty ? "other" : String(device.prefix(7)) : name }

    fileprivate func label(_ side: String) -> String { "\(side) (\(ordinaryLabel)): \(path)" }
}
