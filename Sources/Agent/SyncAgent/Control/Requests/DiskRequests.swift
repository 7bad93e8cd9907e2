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

    /// Nil where the folder's place cannot be opened, or its disk does not say how full it is.
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
    /// The disk of a path; nil if there is no such path.
    fileprivate init?(at path: String) {
        guard let space = FreeSpace(at: path), let root = try? RootDirectory(path: path),
            let status = try? root.status()
        else {
            return nil
        }
        self.init(number: status.device, total: space.total, free: space.available)
    }
}
