import Arithmetic
import AsyncTools
import BlockExchange
import Fetching
import FileAccess
import FolderSync
import IndexStore
import Synchronization

/// What one answer says of many names and is asked for once: transfers, links and space, as they were when it was begun.
final class EntryFacts: Sendable {
    /// The devices of the folder that are connected.
    let connected: Set<DeviceID>
    /// Why the folder does nothing, if so.
    let rest: EntryStanding.Rest?
    /// The files on their way into their places, selected or fetched on purpose, with the bytes that are on this disk.
    private let stored: [String: Int64]
    /// The same of what is selected, in the order of the paths' bytes.
    private let selected: [(path: String, bytes: Int64)]
    private let folder: Folder
    private let place: FolderPlace?
    private let threads: any DiskThreads
    /// Files that the disk has damaged, in the order of their names.
    private let damaged: [DamagedFile]
    private let damagedSums = Mutex<[(path: String, sum: Aggregate)]?>(nil)
    private let space = Mutex<UInt64??>(nil)
    private let looks = Mutex(EntryFacts.lookLimit)

    /// Names of the index that one answer looks at to tell what of its directories is available. Where nobody has what is missing, a
    /// page of large directories would else look at all of it.
    private static let lookLimit = 10_000

    init(_ folder: Folder, _ place: FolderPlace?, _ fetching: FetchEnvironment, _ transfers: TransferRegistry) {
        (self.folder, self.place, threads) = (folder, place, fetching.threads)
        connected = Set(fetching.sessions(folder.configuration.devices).keys)
        rest = folder.configuration.isPaused ? .paused : folder.boards.status.snapshot.halt == nil ? nil : .halted
        damaged = folder.boards.scrub.allDamaged
        stored = transfers.stored(of: folder.id)
        selected = stored.filter { path, _ in place?.selection.isLeftOut(path) == false }.map { ($0.key, $0.value) }
    }

    /// How many names may still be looked at.
    var looksLeft: Int { looks.withLock { $0 } }

    func took(_ count: Int) { looks.withLock { $0 -= count } }

    func downloads(at path: String) -> (count: Int, bytes: Int64) { stored[path].map { (1, $0) } ?? (0, 0) }

    func downloads(below directory: String) -> (count: Int, bytes: Int64) {
        let prefix = directory + "/"
        var sum = (count: 0, bytes: Int64(0))
        for (path, bytes) in selected where directory.isEmpty || path.utf8.starts(with: prefix.utf8) {
            sum.count += 1
            sum.bytes.addClamped(bytes)
        }
        return sum
    }

    /// What the index counts as present below a directory, and the disk has damaged; with the paths.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    func damaged(below directory: String, _ index: IndexStore) async throws -> (sum: Aggregate, paths: [String]) {
        var (sum, paths) = (Aggregate.zero, [String]())
        guard !damaged.isEmpty else { return (sum, paths) }
        let prefix = directory + "/"
        for file in try await damagedSums(index)
        where directory.isEmpty
            ? !InternalContent.contains(file.path) : file.path.utf8.starts(with: prefix.utf8)
        {
            sum += file.sum
            paths.append(file.path)
        }
        return (sum, paths)
    }

    private func damagedSums(_ index: IndexStore) async throws -> [(path: String, sum: Aggregate)] {
        if let known = damagedSums.withLock({ $0 }) { return known }
        var sums: [(path: String, sum: Aggregate)] = []
        for file in damaged {
            guard let sum = try await index.global(folder.id, file.name)?.presentShare, sum != .zero else { continue }
            sums.append((file.name, sum))
        }
        return damagedSums.withLock { known in
            known = sums
            return sums
        }
    }

    /// Bytes that may be written above the folder's floor; nil if the disk does not say.
    ///
    /// - Throws: `CancellationError`.
    func free() async throws -> UInt64? {
        if let known = space.withLock({ $0 }) { return known }
        guard let place else { return nil }
        let settings = folder.configuration
        let free = try await threads.runIfActive { () -> UInt64? in
            guard let space = try? place.root.freeSpace() else { return nil }
            return space.free(above: settings)
        }
        space.withLock { $0 = .some(free) }
        return free
    }
}
