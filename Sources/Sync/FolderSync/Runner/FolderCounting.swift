import BlockExchange
import FileAccess
import FolderScanner
import IndexStore
import Reconciliation
import Selection
import SyncDecisions
import Synchronization

/// Counts what is on this disk and not selected.
struct CountExtraneousStep: FolderStep {
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        let started = folder.tools.time.monotonic()
        work.effects.counts.extraneous = try await folder.countExtraneous()
        work.effects.extraneousCost = folder.tools.time.monotonic() - started
    }
}

/// Counts what is needed, where no pull does.
struct CountNeedStep: FolderStep {
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        let started = folder.tools.time.monotonic()
        let need = try await folder.index.neededTotals()
        work.effects.counts.need = need
        work.effects.counts.lacks = need.items == .zero ? [] : try await folder.lacks()
        work.effects.needCost = folder.tools.time.monotonic() - started
    }
}

/// Counts of a folder that `status` shows.
extension FolderContext {
    /// So much of what is needed is looked at, and so many different sets of holders are told apart.
    private static let lackNameLimit = 500
    private static let lackLimit = 20

    /// Files and links on this disk that are not selected and that nobody fetched there on purpose, as `ExtraneousListing` has
    /// them; nil if the disk cannot be read.
    func countExtraneous() async throws -> Int64? {
        let scanner = FolderScanner(
            root: root, selection: selection, known: NothingKnown(), options: scanOptions)
        let count = Mutex<Int64>(0)
        do {
            try await scanner.extraneous { batch in
                let found = try await self.extraneous(among: batch.entries)
                let files = found.count { $0.status.type != .directory }
                count.withLock { $0 &+= Int64(files) }
            }
        } catch is ScanError {
            return nil
        }
        return count.withLock { $0 }
    }

    /// Those that people are to look at: not what they want left alone, nor what they fetched there on purpose, unless others have
    /// another version by now.
    func extraneous(among found: [ExtraneousEntry]) async throws -> [ExtraneousEntry] {
        let found = found.filter { !place.leftAlone.contains($0.name) }
        let notes = try await index.store.fetched(
            found.filter { $0.status.type != .directory }.map(\.name), in: id)
        let fetched = found.filter { notes[$0.name] == FetchedFile(name: $0.name, $0.status) }
        var downloaded: Set<String> = []
        for (entry, facts) in zip(fetched, try await index.facts(fetched.map(\.name)))
        where !entry.status.isFormer(of: facts.global) {
            downloaded.insert(entry.name)
        }
        var left: [ExtraneousEntry] = []
        for entry in found {
            if entry.status.type == .directory {
                // What else is in it is listed by its own name.
                if try await !index.store.fetched(in: id, below: entry.name, limit: 1).isEmpty { continue }
            } else if downloaded.contains(entry.name) {
                continue
            }
            left.append(entry)
        }
        return left
    }

    /// Takes back the notes of fetched files that are gone, changed or selected.
    func forgetFetched() async throws {
        var cursor: String?
        repeat {
            let notes = try await index.store.fetched(in: id, after: cursor, limit: FolderIndex.pageLimit)
            let stale = try await onDisk { [root, selection] in
                notes.filter { note in
                    guard selection.isLeftOut(note.name), let path = RelativePath(note.name) else { return true }
                    // What cannot be looked at may be as it was.
                    guard case .success(let status) = Result(catching: { try root.status(of: path) }) else {
                        return false
                    }
                    return status.map { FetchedFile(name: note.name, $0) } != note
                }
            }
            if !stale.isEmpty { try await index.store.forgetFetched(stale, in: id) }
            cursor = notes.count < FolderIndex.pageLimit ? nil : notes.last?.name
        } while cursor != nil
    }

    /// On which devices the needed files are whole.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func lacks() async throws -> [FolderOutlook.Lack] { try await lacking(naming: 0).lacks }

    /// On which devices the needed files are whole, and the names of so many of the first of them.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func lacking(naming nameLimit: Int) async throws -> (lacks: [FolderOutlook.Lack], names: [String]) {
        var lacks: [FolderOutlook.Lack] = []
        var names: [String] = []
        var seen = 0
        var cursor: String?
        repeat {
            let page = try await index.needed(after: cursor, limit: Self.lackNameLimit - seen)
            seen += page.entries.count
            for entry in page.entries
            where entry.file.kind != .directory && !entry.file.isDeleted && !entry.lacksOnlyVersion {
                if names.count < nameLimit { names.append(entry.file.name) }
                let size = entry.file.kind == .file ? max(0, entry.file.size) : 0
                if let known = lacks.firstIndex(where: { $0.holders == entry.holders }) {
                    lacks[known].files += 1
                    lacks[known].bytes &+= size
                } else if lacks.count < Self.lackLimit {
                    lacks.append(FolderOutlook.Lack(holders: entry.holders, files: 1, bytes: size))
                }
            }
            cursor = page.next
        } while cursor != nil && seen < Self.lackNameLimit
        return (lacks, names)
    }
}
