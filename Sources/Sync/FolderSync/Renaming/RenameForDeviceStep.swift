import BlockExchange
import FileAccess
import FolderScanner
import IndexStore
import Names
import Reconciliation
import Selection
import SyncDecisions

/// Renames what another device asks to have renamed: on this disk, then in the index, without reading any content again. Cut off in
/// between, the next scan finds the new names, and announces them as it does what was renamed by hand.
struct RenameForDeviceStep: FolderStep {
    let request: RenameRequest
    let from: RelativePath
    let to: RelativePath
    /// When it is too late to begin.
    let deadline: MonotonicTime

    /// - Throws: `IndexStoreError`, `FileAccessError`, `CancellationError`; then nothing was renamed.
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> RenameAnswer.Outcome {
        if let objection = RenameRule.objection(standing(folder)) { return objection }
        guard let names = try await RenameTree.names(at: from, in: folder) else {
            return try await folder.index.global(from.text)?.isPresent == true ? .tooMany : .changed
        }
        // Taken before anything is looked at: who opens one for writing meanwhile waits, and finds it under its new name or not.
        let paths = names.map(\.path)
        let refused = folder.writing.place(paths)
        defer { folder.writing.placed(paths.lazy.filter { !refused.contains($0) }) }
        guard let tree = try await RenameTree(at: from, in: folder), tree.names == names else { return .changed }
        var source = RenameRule.Source(nameCount: tree.nameCount, digest: tree.digest)
        (source.isWhole, source.isOpen) = (tree.isWhole, tree.isOpen || !refused.isEmpty)
        source.isKept = isKept(paths, folder)
        if let objection = RenameRule.objection(to: request, source, try await target(folder)) { return objection }

        let (root, from, to) = (folder.root, from, to)
        try await folder.onDisk {
            guard let status = try root.status(of: from) else {
                throw FileAccessError(.notFound, .rename, path: from.text)
            }
            try root.rename(from, to: to, replacing: .nothing, expecting: status)
        }
        do {
            try await announce(names, folder, &work)
        } catch {
            folder.logger.warning("\(to) is announced by the next scan: \(error)")
            work.effects.rescans.formUnion([from, to])
        }
        return .done
    }

    private func standing(_ folder: FolderContext) -> RenameRule.Standing {
        var standing = RenameRule.Standing()
        standing.mayChange = folder.rules.kind == .sendReceive
        standing.isReady = folder.deletionHalt == nil
        standing.isInTime = folder.tools.time.monotonic() <= deadline
        standing.areNamesGood =
            [from, to].allSatisfy {
                !$0.isInternal && $0.internalTwin == nil && !$0.isTemporary && !InternalContent.contains($0.text)
            } && from != to && !to.isBelow(from) && !from.isBelow(to) && NormalForm.isComposed(to.text)
        return standing
    }

    private func target(_ folder: FolderContext) async throws -> RenameRule.Target {
        let other = try await folder.index.global(to.text)
        let (root, to) = (folder.root, to)
        var target = try await folder.onDisk {
            var target = RenameRule.Target()
            target.isTaken = try root.status(of: to) != nil || root.twin(of: to) != nil
            target.hasDirectory =
                try root.obstacle(above: to) == nil
                && (to.parent.map { try root.status(of: $0)?.type == .directory } ?? true)
            return target
        }
        if let other, other.isPresent || other.isDirectory { target.isTaken = true }
        return target
    }

    /// Whether the selection has all names as it had them. A line that names one of them would have to follow: that is the user's to
    /// do here.
    private func isKept(_ paths: [String], _ folder: FolderContext) -> Bool {
        let selection = folder.selection
        let isSelective = selection.leavesOutTheRest
        return paths.allSatisfy { path in
            guard let new = newName(of: path) else { return false }
            return !selection.isLeftOut(path) && !selection.isLeftOut(new)
                && !(isSelective && selection.selectedState(of: path) == .explicit)
        }
    }

    /// Nil if that is no path.
    private func newName(of path: String) -> String? {
        guard let rest = String(path.utf8.dropFirst(from.text.utf8.count)) else { return nil }
        return RelativePath(to.text + rest)?.text
    }

    // MARK: the index

    private static let chunkLimit = 100

    /// Says in the index what was renamed: new names, each file's before the end of its old one, then the ends of directories.
    private func announce(_ names: [RenameTree.Name], _ folder: FolderContext, _ work: inout FolderWork) async throws {
        for start in stride(from: 0, to: names.count, by: Self.chunkLimit) {
            try await announce(chunk: names[start..<min(start + Self.chunkLimit, names.count)], folder, &work)
        }
        let directories = names.filter(\.isDirectory).map(\.path).reversed() as [String]
        for start in stride(from: 0, to: directories.count, by: FolderIndex.pageLimit) {
            let part = Array(directories[start..<min(start + FolderIndex.pageLimit, directories.count)])
            let changes = try await folder.index.facts(part).compactMap { end(of: $0, folder) }
            try await folder.index.apply(changes.map { .set(LocalEntry($0.version, nil)) }, &work)
        }
    }

    private func announce(
        chunk: ArraySlice<RenameTree.Name>, _ folder: FolderContext, _ work: inout FolderWork
    ) async throws {
        let pairs = chunk.compactMap { name in newName(of: name.path).map { (old: name, new: $0) } }
        let olds = pairs.map(\.old.path)
        let facts = try await folder.index.facts(olds + pairs.map(\.new))
        let files = try await folder.index.store.files(folder.id, olds)
        let root = folder.root
        let sights = try await folder.onDisk {
            try pairs.map { pair in try RelativePath(pair.new).flatMap { try root.status(of: $0) } }
        }
        var changes: [AnnouncementOrder.Change] = []
        var statuses: [String: IndexedStatus] = [:]
        for (position, pair) in pairs.enumerated() {
            let (old, new) = (facts[position], facts[position + pairs.count])
            guard let file = files[position], let status = sights[position],
                let item = item(old, file, status, folder.rules.attributes),
                case .set(let version) = update(new, .item(item), folder)
            else {
                // Other than it was a moment ago: a scan says what it is.
                work.effects.rescan(old.name)
                work.effects.rescan(new.name)
                continue
            }
            statuses[new.name] = IndexedStatus(status)
            changes.append(AnnouncementOrder.Change(previous: new.localVersion, version: version))
            if !pair.old.isDirectory, let end = end(of: old, folder) { changes.append(end) }
        }
        let entries = AnnouncementOrder(changes).versions.map { version in
            LocalChange.set(LocalEntry(version, statuses[version.file.name]))
        }
        try await folder.index.apply(entries, &work)
    }

    /// What is under the new name; nil if that is not what was under the old one.
    private func item(
        _ old: NameFacts, _ file: FileInfo, _ status: FileAccess.FileStatus, _ attributes: AttributeRules
    ) -> ObservedItem? {
        guard let local = old.local, let known = KnownEntry(local, attributes: attributes),
            status.isUnchanged(since: known.status.beforeRenaming), local.file.blocksHash == file.blocksHash
        else { return nil }
        var item = ObservedItem(known, status, known.attributes)
        (item.blocks, item.blocksHash) = (file.blocks, file.blocksHash)
        return item
    }

    private func update(_ facts: NameFacts, _ seen: Observation, _ folder: FolderContext) -> LocalUpdate {
        LocalChanges.update(
            of: facts.name, observed: seen, previous: facts.localVersion, global: facts.global, rivals: facts.rivals,
            isKept: true, rules: folder.rules, unixSeconds: folder.now)
    }

    private func end(of facts: NameFacts, _ folder: FolderContext) -> AnnouncementOrder.Change? {
        guard case .set(let version) = update(facts, .missing, folder) else { return nil }
        return AnnouncementOrder.Change(previous: facts.localVersion, version: version)
    }
}
