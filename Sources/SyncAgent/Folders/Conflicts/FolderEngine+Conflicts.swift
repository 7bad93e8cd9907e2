import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// Conflict copies: finding them, and settling what they stand for.
extension FolderEngine {
    /// Conflict copies that are counted and listed.
    private static let copyLimit = 10_000

    func conflicts(emit: @Sendable (Conflict) async throws -> Void) async throws {
        let place = try session.place().get()
        let copies = try await conflictCopies(place)
        activity.set(conflicts: Int64(copies.count))
        for copy in copies { try await emit(try await conflict(copy, place).shown) }
    }

    func conflictDetails(_ path: String) async throws -> [ConflictDetails] {
        let place = try session.place().get()
        var details: [ConflictDetails] = []
        for copy in try await copies(meantBy: try RelativePath(parsing: path), place) {
            let conflict = try await conflict(copy, place)
            let difference = try await TextDifference.between(
                RelativePath(conflict.shown.theirs.path), RelativePath(conflict.shown.mine.path), in: place.root,
                labels: (conflict.shown.theirs.label("theirs"), conflict.shown.mine.label("mine")),
                threads: environment.fetching.threads)
            details.append(
                ConflictDetails(
                    conflict: conflict.shown, diff: difference.text, isCut: difference.isCut,
                    remark: difference.remark))
        }
        return details
    }

    func resolveConflicts(
        _ path: String, keep: ConflictResolution.Keep
    ) async throws -> [ConflictAnswer.Outcome] {
        let path = try RelativePath(parsing: path)
        let outcomes = try await exclusively { [self] in
            let place = try await currentPlace()
            let copies = try await copies(meantBy: path, place)
            var outcomes: [ConflictAnswer.Outcome] = []
            for copy in copies {
                let conflict = try await conflict(copy, place)
                var outcome = ConflictAnswer.Outcome(conflict: conflict.shown, keep: keep)
                do {
                    guard copies.count == 1 || keep == .both || conflict.kept(keep) == .original else {
                        throw ControlError(
                            .invalidRequest,
                            "there are \(copies.count) copies of \(conflict.original.text); name the one")
                    }
                    try await resolve(conflict, keep: keep, place, &outcome)
                } catch let error as CancellationError {
                    throw error
                } catch {
                    outcome.problem = ControlError(describing: error).message
                }
                outcomes.append(outcome)
            }
            try await countConflicts(place)
            return outcomes
        }
        wakeUp()
        return outcomes
    }

    /// Counts the conflict copies for `status`.
    func countConflicts(_ place: FolderPlace) async throws {
        activity.set(conflicts: Int64(try await conflictCopies(place).count))
        session.engineChanged()
    }

    // MARK: finding

    /// A conflict, and what is where.
    struct FoundConflict: Sendable {
        var original: RelativePath
        var copy: RelativePath
        var mine: ConflictSide
        var shown: Conflict

        /// The side that stays; nil for both.
        func kept(_ keep: ConflictResolution.Keep) -> ConflictSide? {
            switch keep {
            case .both: nil
            case .mine: mine
            case .theirs: mine == .original ? .copy : .original
            }
        }
    }

    /// The conflict copies on this disk: those that the index knows, and those beside files that are selected by name, which
    /// are not selected themselves.
    private func conflictCopies(_ place: FolderPlace) async throws -> [RelativePath] {
        let known = try await index.search(".sync-conflict-", in: folder, limit: Self.copyLimit).entries
        var copies = Set(
            known.lazy.filter {
                $0.local?.status != nil && !$0.isDirectory && ConflictName.original(of: $0.path) != nil
            }
            .compactMap { RelativePath($0.path) })
        // An ignore file that cannot be read any more halts the folder; here it only says where to look.
        let selected = (try? place.ignoreFile()).map { SelectionEditor($0, include: place.readIncluded).list() } ?? []
        let parents = Set(selected.compactMap { RelativePath($0) }.map(\.parent))
        let root = place.root
        copies.formUnion(
            try await onDisk {
                var found: Set<RelativePath> = []
                for parent in parents { found.formUnion(try Self.copies(in: parent, root)) }
                return found
            })
        return copies.sorted()
    }

    private static func copies(in directory: RelativePath?, _ root: RootDirectory) throws -> [RelativePath] {
        let entries: [DirectoryEntry]
        do {
            entries = try root.list(directory)
        } catch {
            guard error.isAbsence || error.code == .notADirectory else { throw error }
            return []
        }
        return entries.compactMap { entry in
            guard entry.type == .regular, let name = entry.name, ConflictName.original(of: name) != nil else {
                return nil
            }
            return try? directory?.appending(name) ?? RelativePath(parsing: name)
        }
    }

    /// The copy that is named, or all copies of the file that is.
    private func copies(meantBy path: RelativePath, _ place: FolderPlace) async throws -> [RelativePath] {
        let root = place.root
        let copies = try await onDisk { () throws -> [RelativePath] in
            if ConflictName.original(of: path.text) != nil {
                return try root.status(of: path)?.type == .regular ? [path] : []
            }
            return try Self.copies(in: path.parent, root).filter {
                ConflictName.original(of: $0.text)?.utf8.elementsEqual(path.text.utf8) ?? false
            }
        }
        guard !copies.isEmpty else {
            throw ControlError(
                .noSuchPath,
                "there is no conflict of \(folder):\(path.text) on this disk; `synctrain conflicts list` shows those "
                    + "there are", path: path.text)
        }
        return copies.sorted()
    }

    func conflict(_ copy: RelativePath, _ place: FolderPlace) async throws -> FoundConflict {
        let winner = ConflictName.winner(of: copy.text) ?? ""
        let original = try RelativePath(parsing: ConflictName.original(of: copy.text) ?? copy.text)
        let facts = try await facts([original.text, copy.text])
        let author = facts[1].local?.file.modifiedBy ?? facts[1].global?.modifiedBy
        let side = ConflictSide.mine(
            winner: winner, author: author, device: environment.localDevice.shortID)
        let root = place.root
        let (first, second) = try await onDisk { (try root.status(of: original), try root.status(of: copy)) }
        // Since the copy was made, others may have changed what won.
        let writer = (facts[0].local?.file ?? facts[0].global)?.modifiedBy.description ?? winner
        let won = version(original, by: writer, first)
        let lost = version(copy, by: author?.description ?? "", second)
        return FoundConflict(
            original: original, copy: copy, mine: side,
            shown: Conflict(
                folder: folder.rawValue, path: original.text, copy: copy.text, mine: side == .original ? won : lost,
                theirs: side == .original ? lost : won))
    }

    func version(
        _ path: RelativePath, by device: String, _ status: FileAccess.FileStatus?
    ) -> Conflict.Version {
        let known = environment.knownDevices().first { $0.id.shortID.description == device }
        return Conflict.Version(
            path: path.text, device: known?.id.description ?? device, name: known?.name ?? "",
            size: status.map { $0.type == .regular ? $0.size : 0 },
            modified: status.map {
                WallTime(seconds: $0.modified.seconds, nanoseconds: $0.modified.nanoseconds).rfc3339
            })
    }

    // MARK: settling

    /// Settles one conflict as said. To be called within a turn.
    func resolve(
        _ conflict: FoundConflict, keep: ConflictResolution.Keep, _ place: FolderPlace,
        _ outcome: inout ConflictAnswer.Outcome
    ) async throws {
        let (root, original, copy) = (place.root, conflict.original, conflict.copy)
        guard let status = try await onDisk({ try root.status(of: copy) }), status.type == .regular else {
            throw ControlError(.noSuchPath, "\(copy.text) is no file any more", path: copy.text)
        }
        switch conflict.kept(keep) {
        case nil:
            let label = (conflict.mine == .copy ? conflict.shown.mine : conflict.shown.theirs).ordinaryLabel
            let name = try ordinaryName(for: copy, label: label, in: root)
            try await onDisk { try root.rename(copy, to: name, replacing: .nothing, expecting: status) }
            _ = try await look(at: [copy, name], isAsked: true)
            outcome.renamed = name.text
        case .original:
            try await affirm(original, place)
            let archived = try await onDisk { try self.archiveOrRemove(copy, expecting: status, in: root) }
            outcome.archived = try archived.flatMap { try archive(in: root)?.absolutePath($0) }
            _ = try await look(at: [copy], isAsked: true)
        case .copy:
            let archived = try await onDisk {
                try Self.takePlace(of: original, by: copy, status, in: root, archive: try self.archive(in: root))
            }
            outcome.archived = try archived.flatMap { try archive(in: root)?.absolutePath($0) }
            _ = try await look(at: [original, copy], isAsked: true)
        }
    }

    /// Announces the file as a new version, if it is here and in step with the others.
    private func affirm(_ path: RelativePath, _ place: FolderPlace) async throws {
        guard let facts = try await facts([path.text]).first, let local = facts.localVersion, let global = facts.global,
            local.isOnDisk, !global.isDeleted
        else { return }
        guard !place.selection.isLeftOut(path.text) else { return }
        guard
            let version = LocalChanges.affirming(
                local, global: global, rules: rules, unixSeconds: environment.time.wall().seconds),
            let file = try await withBlocks(version.file)
        else {
            throw ControlError(
                .busy, "\(folder):\(path.text) is not in step with the other devices yet; try again when it is",
                isRetryable: true, path: path.text)
        }
        try await apply([.set(LocalEntry(LocalVersion(file: file, isOnDisk: true), facts.local?.status))], place)
    }

    /// Puts the bytes of the copy into the place of the original, what is there into the archive, if there is one, and then
    /// removes the copy. Gives the archive's name.
    private static func takePlace(
        of original: RelativePath, by copy: RelativePath, _ status: FileAccess.FileStatus, in root: RootDirectory,
        archive: VersionArchive?
    ) throws -> RelativePath? {
        let present = try root.status(of: original)
        if let present, present.type == .directory {
            throw ControlError(
                .alreadyExists, "\(original.text) is a directory; keep both, or move it away first", path: original.text
            )
        }
        if let parent = original.parent { try root.createDirectories(parent) }
        // Not moved: a process that dies in between would leave the bytes under a name that is cleared away.
        let staged = try root.stageCopy(of: copy, for: original, in: root, expecting: status)
        let kept = try archive.replacing(
            original, present, by: staged, permissions: status.permissions & 0o777, modified: status.modified)
        try root.remove(copy, expecting: status)
        return kept
    }

    /// A free name for a copy that stays, or for one that is to be made.
    func ordinaryName(for path: RelativePath, label: String, in root: RootDirectory) throws -> RelativePath {
        try RelativePath(
            parsing: ConflictName.ordinary(for: path.text, label: label) { name in
                guard let path = RelativePath(name) else { return false }
                return (try? root.status(of: path)) ?? nil != nil
            })
    }
}

extension Conflict.Version {
    /// What the device is called in names of files.
    var ordinaryLabel: String { name.isEmpty ? device.isEmpty ? "other" : String(device.prefix(7)) : name }

    fileprivate func label(_ side: String) -> String { "\(side) (\(ordinaryLabel)): \(path)" }
}
