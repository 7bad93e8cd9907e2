import AgentContext
import Arithmetic
import BlockExchange
import ControlAPI
import Fetching
import FolderSync
import IndexStore
import PeerLinks
import SyncDecisions

/// Says whether what is selected is here.
struct ReadyRequests: RequestGroup {
    let finder: FolderFinder
    let configuration: RunningConfiguration
    let devices: DeviceRegistry
    let index: IndexStore
    let transfers: TransferRegistry
    let fetching: FetchEnvironment

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.ready) { query in
            var folders: [Readiness.Folder] = []
            // The folders before one take their share of the disk, whether they are asked for or not.
            _ = try finder.chosen(query.folder)
            for folder in finder.all { folders.append(try await read(folder)) }
            var answer = Readiness.answer(folders)
            if let id = query.folder { answer.folders.removeAll { $0.id != id } }
            return answer
        }
    }

    private func read(_ folder: Folder) async throws -> Readiness.Folder {
        var status = await FolderStatusReading(folder: folder, index: index).status()
        let outlook = FolderOutlookReading(localDevice: configuration.localDevice, devices: devices, index: index)
        var sums = try await RootSums(of: folder, in: index)
        if folder.configuration.kind != .sendReceive, sums.selected != sums.present,
            let context = try? folder.runner.reading()
        {
            // What a folder of one direction does not take, or was changed in it, is not missing, as `status` has it.
            let need = folder.configuration.kind == .sendOnly ? .zero : try await context.index.neededTotals().items
            sums.selected = sums.present
            sums.selected += need
        }
        let place = try? folder.boards.places.current.get()
        let facts = EntryFacts(folder, place, fetching, transfers)
        let damaged = try await facts.damaged(below: "", index)
        sums.present -= damaged.sum
        // A pull says which devices are missing once it has ended, and one that waits for a device may take long. Before the first
        // one, `need` is not counted, but the sums of the index are. A halted folder cannot be read: `status` says why it has halted.
        let hasAll = status.need.isZero && sums.selected.asTotals == sums.present.asTotals
        let lacking =
            hasAll ? nil : try await (try? folder.runner.reading())?.lacking(naming: ReadyAnswer.Folder.nameLimit)
        await outlook.add(to: &status, of: folder, lacks: lacking?.lacks)
        var ready = Readiness.Folder(
            id: folder.id.rawValue, label: folder.configuration.label, selected: sums.selected.asTotals,
            present: sums.present.asTotals)
        ready.storedBytes = facts.downloads(below: "").bytes
        if let place, let free = try await facts.free() {
            let disk = try await fetching.threads.runIfActive { try? place.root.status().device }
            if let disk { ready.space = (disk, free) }
        }
        ready.bytesPerSecond = facts.connected.isEmpty ? nil : transfers.bytesPerSecond(of: folder.id)
        ready.isPaused = folder.configuration.isPaused
        ready.isUncertain =
            status.copy == .unknown || status.isIncomplete
            || status.condition.isFailure
                && status.condition != .lowSpace
            || status.condition == .receivingIndex
        ready.waits = status.waits
        ready.completeUntil = folder.boards.status.snapshot.completeness?.end.map { WallTime(seconds: $0).rfc3339 }
        let names = (lacking?.names ?? []).filter { !InternalContent.contains($0) } + damaged.paths
        ready.missingNames = Array(names.prefix(ReadyAnswer.Folder.nameLimit))
        return ready
    }
}
