import ControlAPI
import Fetching
import FileAccess
import FolderSync
import IndexStore
import SyncDecisions

/// Says how full the disks are that the agent uses.
struct DiskRequests: RequestGroup {
    let finder: FolderFinder
    let index: IndexStore
    let transfers: TransferRegistry
    let fetching: FetchEnvironment
    let cache: BlockCache

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.space) {
            var folders: [DiskUse.Folder] = []
            for folder in finder.all {
                if let found = try await read(folder) { folders.append(found) }
            }
            let (directory, bytes) = (cache.directory, Int64(clamping: cache.byteCount))
            let disk = try await fetching.threads.runIfActive { DiskUse.Disk(at: directory) }
            return DiskUse.report(folders, cache: disk.map { ($0, bytes) })
        }
    }

    /// Nil if the folder's root cannot be opened or its file system does not report its size; `status` reports the cause as the
    /// folder's error.
    private func read(_ folder: Folder) async throws -> DiskUse.Folder? {
        guard let place = try? folder.boards.places.current.get() else { return nil }
        let asked = try await fetching.threads.runIfActive { () -> (disk: UInt64, space: FreeSpace)? in
            guard let space = try? place.root.freeSpace(), let status = try? place.root.status() else { return nil }
            return (status.device, space)
        }
        guard let (number, space) = asked else { return nil }
        let sums = try await RootSums(of: folder, in: index)
        let stored = EntryFacts(folder, place, fetching, transfers).downloads(below: "").bytes
        return DiskUse.Folder(
            id: folder.id.rawValue,
            disk: DiskUse.Disk(number: number, total: space.total, free: space.available),
            freeAboveFloor: space.free(above: folder.configuration),
            here: try await index.totals(of: folder.id).local.bytes.addingClamped(stored),
            selected: sums.selected.bytes, present: sums.present.bytes.addingClamped(stored))
    }
}

extension DiskUse.Disk {
    /// The file system that contains the path; nil if it cannot be read.
    fileprivate init?(at path: String) {
        guard let space = FreeSpace(at: path), let root = try? RootDirectory(path: path),
            let status = try? root.status()
        else {
            return nil
        }
        self.init(number: status.device, total: space.total, free: space.available)
    }
}
