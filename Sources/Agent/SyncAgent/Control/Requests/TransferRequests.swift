import ControlAPI
import Fetching
import PeerLinks

/// Transfers, and what is to hasten them or hold them back.
struct TransferRequests: RequestGroup {
    let finder: FolderFinder
    let devices: DeviceRegistry
    let transfers: TransferRegistry
    let policies: PolicyFollower

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.transfers) { transfers.list { devices.device($0)?.session?.kind.rawValue } }
        table.on(Endpoints.syncNow) { try await syncNow($0) }
        table.on(Endpoints.setPolicies) { await setPolicies($0) }
    }

    private func syncNow(_ request: SyncRequest) async throws {
        let chosen = try finder.chosen(request.folder)
        for id in Set(chosen.flatMap(\.configuration.devices)) { await devices.device(id)?.seek() }
        for folder in chosen where !folder.configuration.isPaused {
            folder.runner.pullNow()
        }
    }

    private func setPolicies(_ change: PolicyChange) async {
        policies.policies.setIgnored(
            change.isIgnored, until: change.seconds.map { policies.time.wall().seconds + $0 })
        await policies.refresh()
    }
}
