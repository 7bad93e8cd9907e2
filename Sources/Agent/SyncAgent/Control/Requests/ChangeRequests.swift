import AgentContext
import BlockExchange
import ControlAPI
import FolderSync
import IndexStore

/// Says what has changed in folders.
struct ChangeRequests: RequestGroup {
    let finder: FolderFinder
    let configuration: RunningConfiguration
    let index: IndexStore
    let events: EventHub
    let time: AgentTime

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.changes) { try await changes($0, emit: $1) }
    }

    private func changes(_ query: ChangeQuery, emit: @Sendable (ChangeEntry) async throws -> Void) async throws {
        let place = try query.path.map { try finder.resolve(finder.naming($0)) }
        let since = query.since.map { time.wall().seconds - $0 } ?? .min
        // Listened to before the first look, so that nothing falls between the two.
        let events = query.isFollowing ? events.listen().stream : nil
        var seen: [FolderID: Int64] = [:]
        var found = try await recorded(place, after: &seen, since: since, limit: query.limit)
        for change in found.suffix(query.limit) { try await emit(change) }
        guard let events else { return }
        for await next in events where next.event.type == "files-changed" {
            found = try await recorded(place, after: &seen, since: .min, limit: ChangeQuery.largestLimit)
            for change in found { try await emit(change) }
        }
        try Task.checkCancellation()
    }

    /// What was noted since the last time, of all folders by time.
    ///
    /// - Parameter seen: up to which number each folder's changes were asked for, shown or not.
    private func recorded(
        _ place: (folder: Folder, path: String)?, after seen: inout [FolderID: Int64], since: Int64, limit: Int
    ) async throws -> [ChangeEntry] {
        let names = configuration.deviceNames
        var found: [(time: Int64, entry: ChangeEntry)] = []
        for folder in place.map({ [$0.folder] }) ?? finder.all {
            let isInside = place.map { InternalContent.contains($0.path) } ?? false
            let newest: Int64
            let changes: [RecordedChange]
            do {
                newest = try await index.changes(in: folder.id, limit: 1).last?.number ?? 0
                // They are numbered from 1 again after `reset index`.
                let last = seen[folder.id].map { $0 > newest ? 0 : $0 } ?? 0
                changes = try await index.changes(
                    in: folder.id, below: place?.path ?? "", after: last, since: since, limit: limit,
                    isShown: { isInside || !InternalContent.contains($0) })
            } catch let error as IndexStoreError where error.code == .noSuchFolder && place == nil {
                // Removed since the folders were listed.
                continue
            }
            // What is older than `since` is not to come with the next change.
            seen[folder.id] = max(newest, changes.last?.number ?? 0)
            found += changes.map { change in
                let device = change.device?.description
                let entry = ChangeEntry(
                    folder: folder.id.rawValue, path: change.name, from: change.oldName,
                    time: WallTime(seconds: change.time).rfc3339, what: change.kind.rawValue, device: device,
                    name: device.flatMap { names[$0] }, isLocal: change.device == configuration.localDevice.shortID,
                    count: change.count)
                return (change.time, entry)
            }
        }
        // Those of one folder stay in their order, whatever the clock did.
        return place == nil ? found.sorted { $0.time < $1.time }.map(\.entry) : found.map(\.entry)
    }
}
