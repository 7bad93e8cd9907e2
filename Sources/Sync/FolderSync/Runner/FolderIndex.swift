import AgentContext
import BlockExchange
import IndexStore
import Names
import Reconciliation
import Selection

/// The index of one folder, as its steps read and change it.
package struct FolderIndex: Sendable {
    /// Names that one page of a walk through the index has.
    static let pageLimit = 1000

    package let store: IndexStore
    package let folder: FolderID
    package let localDevice: ShortID
    package let announcements: AnnouncementFeed
    private let changes: FolderChangeFeed
    package let now: @Sendable () -> WallTime
    private let selection: Selection

    init(
        store: IndexStore, folder: FolderID, localDevice: ShortID, announcements: AnnouncementFeed,
        changes: FolderChangeFeed, now: @escaping @Sendable () -> WallTime, selection: Selection
    ) {
        self.store = store
        self.folder = folder
        self.localDevice = localDevice
        self.announcements = announcements
        self.changes = changes
        self.now = now
        self.selection = selection
    }

    package func with(_ selection: Selection) -> FolderIndex {
        FolderIndex(
            store: store, folder: folder, localDevice: localDevice, announcements: announcements, changes: changes,
            now: now, selection: selection)
    }

    // MARK: reading

    /// What is known of these names, in their order.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func facts(_ names: [String]) async throws -> [NameFacts] {
        try await store.facts(in: folder, names: names)
    }

    /// What is known of one name.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func facts(_ name: String) async throws -> NameFacts? { try await facts([name]).first }

    /// The entry of a name; nil if no device ever had it.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func global(_ name: String) async throws -> GlobalEntry? { try await store.global(folder, name) }

    /// Names at and below `path` that any device has, in pages; the name itself is not among them.
    func eachDescendant(of path: String, _ body: ([GlobalEntry]) async throws -> Void) async throws {
        var after: String?
        while true {
            let page = try await store.descendants(folder, of: path, after: after, limit: Self.pageLimit)
            try await body(page)
            guard page.count == Self.pageLimit, let last = page.last else { return }
            after = last.path
        }
    }

    /// Of these names, what this device has not as it should.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func needed(_ names: [String]) async throws -> [NeededEntry] {
        try await store.needed(in: folder, names: names, isKept: { !selection.isLeftOut($0) })
    }

    /// A page of everything that this device has not as it should.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func needed(after cursor: String?, limit: Int = pageLimit) async throws -> (
        entries: [NeededEntry], next: String?
    ) {
        let page = try await store.needed(
            in: folder, after: cursor, limit: limit, isKept: { !selection.isLeftOut($0) },
            mayContain: { selection.mayContainSelected($0) })
        return (page.entries, page.next)
    }

    /// Hands everything that this device has not as it should to `body`, page by page.
    ///
    /// - Throws: `IndexStoreError`; what `body` throws; `CancellationError`.
    package func eachNeeded(_ body: ([NeededEntry]) async throws -> Void) async throws {
        var cursor: String?
        repeat {
            let page = try await needed(after: cursor)
            try await body(page.entries)
            cursor = page.next
        } while cursor != nil
    }

    /// How much is needed: of `names`, or of everything for nil.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func neededTotals(_ names: [String]? = nil) async throws -> NeededTotals {
        if let names { return NeededTotals(try await needed(names)) }
        return try await store.neededTotals(
            in: folder, isKept: { !selection.isLeftOut($0) }, mayContain: { selection.mayContainSelected($0) })
    }

    /// `file` with its block list, from what this device or another announces; nil if nobody has it any more.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func withBlocks(_ file: FileInfo) async throws -> FileInfo? {
        guard file.kind == .file, !file.isDeleted, file.blocks.isEmpty, file.blocksHash != nil else { return file }
        var file = file
        if let global = try await store.file(folder, file.name), global.blocksHash == file.blocksHash {
            (file.blocks, file.blockSize) = (global.blocks, global.blockSize)
            return file
        }
        if let own = try await store.local(folder, file.name)?.file, own.blocksHash == file.blocksHash {
            (file.blocks, file.blockSize) = (own.blocks, own.blockSize)
            return file
        }
        return nil
    }

    // MARK: changing

    /// Writes changes of what this device has, in one transaction, and tells the devices that the folder is shared with.
    ///
    /// - Parameters:
    ///   - placed: names of which it was noted what is about to be put there, and for which that is over.
    ///   - work: told what is needed now, what is to be logged, and whether conflict copies came or went.
    /// - Throws: `IndexStoreError`; `CancellationError`. The changes may be written; then nobody has been told.
    package func apply(_ changes: [LocalChange], placed: Set<NameKey> = [], _ work: inout FolderWork) async throws {
        guard !changes.isEmpty || !placed.isEmpty else { return }
        let made = placed.isEmpty ? namesChangedHere(changes) : []
        let (result, log) = try await ChangeNotes.noting(made, in: store, folder, at: now().seconds) {
            try await store.applyLocal(
                in: folder, changes, placed: placed.map(\.text), isIgnored: { selection.isLeftOut($0) })
        }
        announcements.changed()
        self.changes.changed(result, names: changes.map(\.name))
        work.effects.changes += log
        if changes.contains(where: { ConflictName.isCopy($0.name) }) { work.effects.touchesConflicts = true }
        // A change made here seldom leaves something to get, and a pull of everything looks at all that is selected.
        guard result.changedCount > 0 else { return }
        work.effects.mayUnblockPull = true
        work.effects.pull.add(try await needed(changes.map(\.name)).map(\.path))
    }

    /// Brings what this device announces in line with the selection.
    ///
    /// - Parameter place: only this name, what is below it and the directories above it; empty for all.
    /// - Throws: `IndexStoreError`; `CancellationError`. The next call does the rest.
    package func reselect(at place: String = "") async throws {
        let selection = selection
        try await store.reselect(folder, at: place, isIgnored: { selection.isLeftOut($0) })
        announcements.changed()
    }

    /// Names that this device changed itself, in contrast to those that it took over.
    private func namesChangedHere(_ changes: [LocalChange]) -> [String] {
        changes.compactMap { change in
            guard case .set(let entry) = change, entry.file.modifiedBy == localDevice else { return nil }
            return entry.file.name
        }
    }
}

extension FolderWork {
    /// Notes for `synctrain log` what this device did with names.
    package mutating func log(_ kind: RecordedChange.Kind, _ names: [String], _ index: FolderIndex) {
        let time = index.now().seconds
        guard names.count <= ChangeNotes.nameLimit else {
            effects.changes.append(
                RecordedChange(time: time, kind: .many, name: "", device: index.localDevice, count: Int64(names.count)))
            return
        }
        effects.changes += names.map { RecordedChange(time: time, kind: kind, name: $0, device: index.localDevice) }
    }
}
