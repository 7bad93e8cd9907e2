import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import FolderSync
import IndexStore
import Names
import Reconciliation
import Selection

/// Puts together what the index, the selection and this disk say of the names of a folder.
struct EntryReader: Sendable {
    let folder: Folder
    let index: IndexStore
    /// Nil when the folder's place cannot be opened: then the index alone speaks.
    let place: FolderPlace?
    let fetching: FetchEnvironment
    private let facts: EntryFacts

    init(
        folder: Folder, index: IndexStore, place: FolderPlace?, fetching: FetchEnvironment, transfers: TransferRegistry
    ) {
        (self.folder, self.index, self.place, self.fetching) = (folder, index, place, fetching)
        facts = EntryFacts(folder, place, fetching, transfers)
    }

    var threads: any DiskThreads { fetching.threads }

    /// The entry at `path`, with details; the folder's root for an empty path.
    func stat(_ path: String) async throws -> Entry {
        let found = try await index.global(folder.id, path)
        let parent = RelativePath(path)?.parent
        let names = try await namesOnDisk(in: parent, orNil: path.isEmpty)
        let name = RelativePath(path)?.name
        let isOnDisk = path.isEmpty || name.map { names[$0] != nil } ?? false
        if let found, found.isPresent || found.isDirectory && (path.isEmpty || found.below != .zero) {
            var entry = try await entry(found, names)
            let file = found.isPresent ? try await index.file(folder.id, path) : nil
            entry.details = details(file, path: path, isOnDisk: isOnDisk)
            return entry
        }
        if isOnDisk, let entry = try await localEntry(path, names) { return entry }
        if let file = found?.file, file.isDeleted {
            throw ControlError(
                .gone, "\(path) was deleted in the folder \(folder.id); `synctrain log` shows when and where",
                path: path
            )
        }
        throw ControlError(
            .noSuchPath, "\(folder.id):\(path): not found; `synctrain search` finds names", path: path)
    }

    /// What is in the directory at `path`, or the entry itself for a file or link.
    func list(
        _ path: String, isRecursive: Bool, order: EntryOrder, emit: @Sendable (Entry) async throws -> Void
    ) async throws {
        let root = try await stat(path)
        guard root.kind == .directory else {
            var plain = root
            plain.details = nil
            return try await emit(plain)
        }
        if isRecursive { return try await emitTree(path, order, emit: emit) }
        for entry in order.sorted(try await entries(in: path)) { try await emit(entry) }
    }

    /// All below `directory`, each directory before what is in it.
    private func emitTree(
        _ directory: String, _ order: EntryOrder, emit: @Sendable (Entry) async throws -> Void
    ) async throws {
        var stack: [[Entry]] = [order.sorted(try await entries(in: directory)).reversed()]
        while !stack.isEmpty {
            try Task.checkCancellation()
            guard let entry = stack[stack.count - 1].popLast() else {
                stack.removeLast()
                continue
            }
            try await emit(entry)
            guard entry.kind == .directory else { continue }
            stack.append(order.sorted(try await entries(in: entry.path)).reversed())
        }
    }

    /// What the index and the disk have in a directory, by name.
    private func entries(in directory: String) async throws -> [Entry] {
        let children = try await index.children(folder.id, of: directory)
        var names = try await namesOnDisk(in: RelativePath(directory), orNil: false)
        var entries: [Entry] = []
        entries.reserveCapacity(children.count)
        for child in children {
            let name = String(child.name)
            if !directory.isEmpty || !InternalContent.contains(name) { entries.append(try await entry(child, names)) }
            names[name] = nil
        }
        if directory.isEmpty { names[InternalContent.directory] = nil }
        guard !names.isEmpty else { return entries }
        for name in names.keys.map(\.text) {
            let path = directory.isEmpty ? name : directory + "/" + name
            if let entry = try await localEntry(path, names) { entries.append(entry) }
        }
        return entries.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    }

    /// The names in a directory on this disk, without Syncthing's own; none if it is not here.
    func namesOnDisk(in directory: RelativePath?, orNil isRoot: Bool) async throws -> [NameKey: FileType] {
        guard let place, !isRoot else { return [:] }
        return try await threads.runIfActive {
            let list: [DirectoryEntry]
            do {
                // On a disk that does not distinguish `A` and `a`, what is there may be another directory's.
                if let directory, try place.root.twin(of: directory) != nil { return [:] }
                list = try place.root.list(directory)
            } catch let error as FileAccessError where error.isAbsence {
                return [:]
            }
            var names: [NameKey: FileType] = [:]
            for entry in list {
                guard let name = entry.name else { continue }
                if directory == nil, let path = RelativePath(name) {
                    if path.isInternal || place.root.traits.foldsNames && path.internalTwin != nil { continue }
                }
                names[name] = entry.type
            }
            return names
        }
    }

    // MARK: one entry

    /// Looks on this disk for the one name; its directory may be large.
    func entry(_ found: GlobalEntry) async throws -> Entry {
        guard !found.path.isEmpty else { return try await entry(found, [:]) }
        let prefix = String(found.path[..<found.name.startIndex])
        return try await entry(found, try await types([String(found.name)], prefix))
    }

    func entry(_ found: GlobalEntry, _ names: [NameKey: FileType]) async throws -> Entry {
        if found.isDirectory { return try await directoryEntry(found, names) }
        let selected = selected(found.path)
        guard let file = found.file else {
            throw ControlError(.noSuchPath, "\(found.path): not found", path: found.path)
        }
        var entry = Entry(
            kind: file.kind.isSymlink ? .symlink : .file, folder: folder.id.rawValue, path: found.path, size: file.size,
            modified: Self.modified(file), state: .absent, selected: selected,
            holders: found.holders.map(\.description))
        if let state = try await stateOnDisk(of: found, file, names, selected) {
            entry.state = state
            if state == .present, let damage = folder.boards.scrub.damaged(found.path) {
                take(damage, file, &entry)
                entry.isAvailable = !fetching.sessions(found.holders).isEmpty
                return entry
            }
            guard state == .modified || state == .queued else { return entry }
        }
        let isHolderConnected = !fetching.sessions(found.holders).isEmpty
        entry.isAvailable = isHolderConnected
        // A file that is fetched on purpose is on its way like one that is selected.
        let download = facts.downloads(at: found.path)
        // What was deleted here, where the folder only receives, comes back by a revert alone.
        let isDeletedHere =
            found.local?.file.isDeleted == true && NeededEntry(file: file, local: found.local).isChangedHere
        guard selected != .no && !isDeletedHere || download.count > 0 else { return entry }
        var standing = EntryStanding(
            state: .queued, selectedBytes: file.size, presentBytes: 0, downloads: download.count,
            storedBytes: download.bytes, free: try await facts.free(), isAvailable: isHolderConnected,
            rest: selected == .no ? nil : facts.rest)
        if selected != .no, file.size > 0 {
            standing.obstacle = fetching.sources(of: folder.id, found.holders, for: .kept(byteCount: file.size))
                .obstacle.map { obstacle in
                    let text = obstacle.text(folder: folder.id.rawValue)
                    return obstacle.isPolicy ? Phrase("waits: \(text)") : Phrase("waits for a network: \(text)")
                }
        }
        if entry.state != .modified { entry.state = standing.entryState }
        (entry.selectedBytes, entry.presentBytes) = (standing.selectedBytes, standing.bytesHere)
        entry.take(standing)
        return entry
    }

    /// Says of a file that the disk has damaged how much of it is whole, and what restores the rest.
    private func take(_ damage: DamagedFile, _ file: FileInfo, _ entry: inout Entry) {
        let (lost, isAll) = damage.wrongBlocks.multipliedReportingOverflow(by: Int64(file.effectiveBlockSize))
        let whole = isAll ? 0 : max(0, file.size.subtractingClamped(lost))
        entry.state = whole > 0 ? .partial : .queued
        (entry.selectedBytes, entry.presentBytes) = (file.size, whole)
        entry.wait(for: .other, ProblemText.damaged(damage, in: folder.id))
    }

    private func directoryEntry(_ found: GlobalEntry, _ names: [NameKey: FileType]) async throws -> Entry {
        let isRoot = found.path.isEmpty
        let selected = selected(found.path)
        var sums = (below: found.below, selected: found.selected, present: found.present)
        if isRoot {
            let hidden = try await InternalContent.sums(in: folder.id, index, place?.selection)
            sums.below -= hidden.below
            sums.selected -= hidden.selected
            sums.present -= hidden.present
        }
        let isOnDisk = isRoot ? place != nil : names[String(found.name)] == .directory
        // The index counts what the disk has damaged, too.
        sums.present -= try await facts.damaged(below: found.path, index).sum
        // The index hears of what goes from the disk by the next scan.
        if !isOnDisk { sums.present = .zero }
        // A folder's root is selected by the folder's mode, and is there though nothing of the folder is.
        let isSelected = isRoot ? folder.configuration.mode == .full : selected != .no
        let state = LocalState(
            selected: sums.selected, present: sums.present, isSelected: isSelected, isPresent: isOnDisk)
        let download = isOnDisk ? facts.downloads(below: found.path) : (count: 0, bytes: 0)
        var standing = EntryStanding(
            state: state, selectedBytes: sums.selected.bytes, presentBytes: sums.present.bytes,
            downloads: download.count, storedBytes: download.bytes, rest: facts.rest)
        if state != .present {
            let isNeeded = state != .absent
            standing.isAvailable = try await isAvailable(found, isSelected: isNeeded)
            if isNeeded { standing.free = try await facts.free() }
        }
        var entry = Entry(
            kind: .directory, folder: folder.id.rawValue, path: found.path, size: sums.below.bytes,
            modified: found.file.flatMap { $0.isDeleted ? nil : Self.modified($0) }, state: standing.entryState,
            selected: selected, files: sums.below.fileCount, directories: sums.below.directories)
        if state == .absent, isOnDisk, !isRoot {
            entry.state = try await isDownloaded(below: found.path) ? .downloaded : .extraneous
        }
        entry.setCounts(selected: sums.selected, present: sums.present)
        entry.presentBytes = standing.bytesHere
        entry.isAvailable = standing.isAvailable
        entry.take(standing)
        markMixed(&entry)
        return entry
    }

    /// Whether a connected device has something of the directory that is not present: of one without files, the directory itself.
    private func isAvailable(_ directory: GlobalEntry, isSelected: Bool) async throws -> Bool? {
        if directory.below.fileCount == 0, directory.isPresent {
            return directory.holders.contains(where: facts.connected.contains)
        }
        let limit = min(facts.looksLeft, IndexStore.availableLookLimit)
        let found = try await index.isAvailable(
            folder.id, below: directory.path, isSelected: isSelected, on: facts.connected, limit: limit)
        facts.took(found.looks)
        return found.isAvailable
    }

    /// How a name that is on this disk stands; nil for one that is not.
    private func stateOnDisk(
        of found: GlobalEntry, _ file: FileInfo, _ names: [NameKey: FileType], _ selected: Entry.Selected
    ) async throws -> Entry.State? {
        let name = String(found.name)
        guard let type = names[name] else { return nil }
        if ConflictName.isCopy(name) { return .conflict }
        guard let place, let path = RelativePath(found.path) else { return selected == .no ? .extraneous : .modified }
        guard let status = try await threads.runIfActive({ try place.root.status(of: path) }) else { return nil }
        guard selected != .no else {
            guard try await isDownloaded(found.path, status) else { return .extraneous }
            return status.isFormer(of: file) ? .extraneous : .downloaded
        }
        let isSame: Bool
        switch type {
        case .regular where !file.kind.isSymlink: isSame = status.isAs(file)
        case .symlink where file.kind.isSymlink:
            isSame = try await threads.runIfActive { try place.root.readSymlink(path) } == file.symlinkTarget
        default: isSame = false
        }
        // What looks like it and was not hashed yet is not present.
        if isSame { return found.isVerified ? .present : .queued }
        // A version that the newest one has seen is not changed here: the newest one is yet to come.
        if let local = found.local, local.status != nil, local.file.version.compare(file.version) == .lesser,
            type == .regular, status.isAs(local.file)
        {
            return .queued
        }
        return .modified
    }

    // MARK: what was fetched on purpose

    /// Whether somebody fetched the file there, which is not selected, and it has not changed since.
    private func isDownloaded(_ path: String, _ status: FileAccess.FileStatus) async throws -> Bool {
        try await index.fetched([path], in: folder.id)[path].map { status.isAs($0) } ?? false
    }

    /// Those of some names of a directory on this disk that were fetched there on purpose, and have not changed since, here or
    /// elsewhere.
    func downloaded(_ names: [NameKey: FileType], _ prefix: String) async throws -> [String] {
        guard let place else { return [] }
        let notes = try await index.fetched(names.keys.map { prefix + $0.text }, in: folder.id)
        guard !notes.isEmpty else { return [] }
        let facts = try await index.facts(in: folder.id, names: notes.keys.map(\.text))
        let globals = Dictionary(facts.map { (NameKey($0.name), $0.global) }, uniquingKeysWith: { first, _ in first })
        return try await threads.runIfActive {
            try names.keys.map(\.text).filter { name in
                guard let note = notes[prefix + name], let path = RelativePath(prefix + name),
                    let status = try place.root.status(of: path)
                else { return false }
                return status.isAs(note) && !status.isFormer(of: globals[prefix + name] ?? nil)
            }
        }
    }

    /// Whether all files that a directory has on this disk were fetched there on purpose, and have not changed since.
    private func isDownloaded(below path: String) async throws -> Bool {
        guard try await !index.fetched(in: folder.id, below: path, limit: 1).isEmpty else { return false }
        var (waiting, hasFiles) = ([path], false)
        while let directory = waiting.popLast() {
            let prefix = directory + "/"
            let names = try await namesOnDisk(in: RelativePath(directory), orNil: false)
            let files = names.filter { name, type in
                type != .directory && RelativePath(prefix + name.text)?.isTemporary == false
            }
            guard try await downloaded(files, prefix).count == files.count else { return false }
            hasFiles = hasFiles || !files.isEmpty
            waiting += names.filter { $0.value == .directory }.keys.map { prefix + $0.text }
        }
        return hasFiles
    }

    /// A name that only this disk has; nil for what is none of the user's.
    func localEntry(_ path: String, _ names: [NameKey: FileType]) async throws -> Entry? {
        guard let place, let relative = RelativePath(path), !relative.isTemporary, !relative.isInternal,
            let status = try await threads.runIfActive({ try place.root.status(of: relative) })
        else { return nil }
        let kind: Entry.Kind
        switch status.type {
        case .regular: kind = .file
        case .directory: kind = .directory
        case .symlink: kind = .symlink
        case .other: return nil
        }
        let selected = selected(path)
        let isConflict = ConflictName.isCopy(relative.name)
        var entry = Entry(
            kind: kind, folder: folder.id.rawValue, path: path, size: kind == .file ? status.size : 0,
            modified: WallTime(seconds: status.modified.seconds, nanoseconds: status.modified.nanoseconds).rfc3339,
            state: isConflict ? .conflict : selected == .no ? .extraneous : .modified, selected: selected)
        if kind == .directory { entry.setCounts(selected: .zero, present: .zero) }
        return entry
    }

    private func selected(_ path: String) -> Entry.Selected {
        guard let place, !path.isEmpty else { return .no }
        return switch place.selection.selectedState(of: path) {
        case .explicit: .explicit
        case .implicit: .implicit
        case .no: .no
        }
    }

    /// Says of a directory whether what is below it is kept in part.
    private func markMixed(_ entry: inout Entry) {
        guard let selection = place?.selection else { return }
        if entry.selected == .no {
            if selection.isParentOfSelected(entry.path) { entry.isSelectedBelow = true }
        } else if selection.isParentOfLeftOut(entry.path) {
            entry.isLeftOutBelow = true
        }
    }

    private func details(_ file: FileInfo?, path: String, isOnDisk: Bool) -> Entry.Details {
        Entry.Details(
            permissions: file.map { $0.hasNoPermissions ? "" : String($0.permissions & 0o777, radix: 8) } ?? "",
            version: file?.version.description ?? "", modifiedBy: file?.modifiedBy.description ?? "",
            blockSize: file.flatMap { $0.kind == .file ? $0.effectiveBlockSize : nil },
            blocks: file.flatMap { $0.kind == .file ? $0.blocks.count : nil },
            symlinkTarget: file.flatMap { $0.kind.isSymlink ? String(decoding: $0.symlinkTarget, as: UTF8.self) : nil },
            localPath: isOnDisk ? folder.configuration.path + (path.isEmpty ? "" : "/" + path) : nil)
    }

    private static func modified(_ file: FileInfo) -> String {
        WallTime(seconds: file.modifiedSeconds, nanoseconds: file.modifiedNanoseconds).rfc3339
    }
}

extension Entry {
    fileprivate mutating func take(_ standing: EntryStanding) {
        short = standing.short
        if let waiting = standing.waiting { wait(for: waiting.cause, waiting.message) }
    }

    fileprivate mutating func setCounts(selected: Aggregate, present: Aggregate) {
        (selectedFiles, selectedBytes) = (selected.fileCount, selected.bytes)
        (presentFiles, presentBytes) = (present.fileCount, present.bytes)
    }
}
