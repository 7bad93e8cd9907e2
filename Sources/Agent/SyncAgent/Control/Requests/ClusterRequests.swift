import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import FolderSync
import IndexStore
import PeerLinks

/// Says which device has what.
struct ClusterRequests: RequestGroup {
    private static let needPageLimit = 1000

    let finder: FolderFinder
    let entries: EntrySource
    let configuration: RunningConfiguration
    let devices: DeviceRegistry
    let index: IndexStore

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.whereis) { try await whereis($0) }
        table.on(Endpoints.remoteNeeds) { try await needs(ofDevice: $0.device, folder: $0.folder, emit: $1) }
        table.on(Endpoints.completion) { try await completion(folder: $0.folder, device: $0.device) }
    }

    private func whereis(_ path: PathReference) async throws -> Whereabouts {
        let (folder, path) = try finder.resolve(path)
        guard let found = try await index.global(folder.id, path), found.isPresent || found.isDirectory else {
            throw ControlError(.noSuchPath, "\(folder.id):\(path): not found", path: path)
        }
        let known = try await index.announcers(of: folder.id)
        let places =
            found.isDirectory
            ? try await directoryPlaces(folder, found, known) : try await filePlaces(folder, found, known)
        let holders = places.filter { !$0.isThis && $0.has == .complete }.map {
            Whereabouts.Holder(id: $0.id, name: $0.name, isConnected: $0.isConnected, lastSeen: $0.lastSeen)
        }
        return Whereabouts(folder: folder.id.rawValue, path: path, holders: holders, devices: places)
    }

    private func place(_ id: DeviceID, _ has: Whereabouts.Device.Holding) -> Whereabouts.Device {
        let state = devices.device(id)?.state
        let isThis = id == configuration.localDevice
        return Whereabouts.Device(
            id: id.description, name: isThis ? configuration.current.name : state?.name ?? "", isThis: isThis,
            isConnected: isThis || state?.session != nil, lastSeen: isThis ? nil : state?.lastSeen?.rfc3339, has: has)
    }

    private func filePlaces(
        _ folder: Folder, _ found: GlobalEntry, _ known: Set<DeviceID>
    ) async throws -> [Whereabouts.Device] {
        guard let winner = found.file else { return [] }
        let state = try await entries.reader(folder).entry(found).state
        var here = place(configuration.localDevice, .nothing)
        if let local = found.local, local.status != nil, !local.file.isDeleted {
            here.describe(local.file, against: winner)
            // What is not selected takes the version of each winner, whatever it is.
            if local.flags.contains(.ignored), found.isLocalCurrent, !found.isHere { here.has = .other }
        } else if state == .partial || state == .downloading {
            here.has = .partly
        }
        var standings: [DeviceID: FileInfo] = [:]
        for standing in try await index.standings(in: folder.id, of: found.path) {
            standings[standing.device] = standing.file
        }
        return [here]
            + folder.configuration.devices.filter { $0 != configuration.localDevice }.map { id in
                guard let file = standings[id] else { return place(id, known.contains(id) ? .nothing : .unknown) }
                var other = place(id, file.isInvalid ? .notKept : file.isDeleted ? .deleted : .complete)
                if !file.isInvalid, !file.isDeleted { other.describe(file, against: winner) }
                return other
            }
    }

    private func directoryPlaces(
        _ folder: Folder, _ found: GlobalEntry, _ known: Set<DeviceID>
    ) async throws -> [Whereabouts.Device] {
        // Who has an empty directory shows in nothing but the directory itself.
        let completion = try await index.completion(
            of: folder.id, below: found.path, includesItself: found.isPresent && found.below.count == 0)
        func place(_ id: DeviceID, _ part: DeviceCompletion?) -> Whereabouts.Device {
            guard let part else { return self.place(id, known.contains(id) ? .nothing : .unknown) }
            var place = self.place(id, .init(part, of: completion, isThis: id == configuration.localDevice))
            place.files = part.held.fileCount
            place.bytes = part.held.bytes
            return place
        }
        return [place(configuration.localDevice, completion.here)]
            + folder.configuration.devices.filter { $0 != configuration.localDevice }.map {
                place($0, completion.devices[$0])
            }
    }

    private func needs(
        ofDevice reference: String, folder id: String?, emit: @Sendable (Entry) async throws -> Void
    ) async throws {
        let device = try configuration.current.device(reference).id
        let asked = try finder.chosen(id)
        let shared = asked.filter { $0.exchange.isConfigured(for: device) }
        guard !shared.isEmpty else {
            throw ControlError(
                .noSuchFolder,
                "\(id.map { "\($0)" } ?? Phrase("No folder")): not shared with \(reference); "
                    + "`synctrain folder list` shows the folders", path: id)
        }
        for folder in shared {
            guard try await index.announcers(of: folder.id).contains(device) else {
                throw ControlError(
                    .failed,
                    "\(reference) has not reported its index of \(folder.id) yet; try again once it has connected",
                    isRetryable: true, path: folder.id.rawValue)
            }
            let reader = entries.reader(folder)
            var cursor: String?
            repeat {
                let page = try await index.needed(
                    by: device, in: folder.id, after: cursor, limit: Self.needPageLimit)
                for entry in page.entries where entry.isPresent { try await emit(try await reader.entry(entry)) }
                cursor = page.next
            } while cursor != nil
        }
    }

    private func completion(folder id: String?, device reference: String?) async throws -> CompletionAnswer {
        let only = try reference.map {
            try $0 == "this" ? configuration.localDevice : configuration.current.device($0).id
        }
        var answers: [CompletionAnswer.Folder] = []
        for folder in try finder.chosen(id) {
            var known = try await index.completion(of: folder.id)
            known.subtract(
                try await index.completion(of: folder.id, below: InternalContent.directory, includesItself: true))
            let shared = folder.configuration.devices.filter { $0 != configuration.localDevice }
            var rows = [here(folder, known)]
            rows += shared.map { row($0, known, known.devices[$0]) }
            answers.append(
                CompletionAnswer.Folder(
                    folder: folder.id.rawValue, global: known.global.asTotals,
                    devices: rows.filter { only == nil || $0.id == only?.description }))
        }
        return CompletionAnswer(folders: answers)
    }

    /// This device wants what it has and what it still needs.
    private func here(_ folder: Folder, _ known: FolderCompletion) -> CompletionAnswer.Device {
        let need = folder.boards.status.snapshot.need
        var (held, missing) = (known.here.held.asTotals, need.items.asTotals)
        missing.deletions = need.deletions
        held.deletions = nil
        let rest = known.missing(of: DeviceCompletion(held: known.here.held, notKept: need.items)).asTotals
        let notKept = FolderStatus.Totals(
            files: max(0, rest.files), directories: max(0, rest.directories), bytes: max(0, rest.bytes))
        return CompletionAnswer.Device(
            id: configuration.localDevice.description, name: configuration.current.name, isThis: true,
            isConnected: true,
            hasIndex: true, held: held, missing: missing, notKept: notKept)
    }

    private func row(
        _ id: DeviceID, _ known: FolderCompletion, _ part: DeviceCompletion?
    ) -> CompletionAnswer.Device {
        let state = devices.device(id)?.state
        let device = part ?? DeviceCompletion()
        var missing = known.missing(of: device).asTotals
        missing.deletions = device.deletions
        return CompletionAnswer.Device(
            id: id.description, name: state?.name ?? "", isThis: false, isConnected: state?.session != nil,
            hasIndex: part != nil, held: device.held.asTotals, missing: missing, notKept: device.notKept.asTotals)
    }
}

extension Whereabouts.Device.Holding {
    /// What a device has of a directory.
    init(_ part: DeviceCompletion, of completion: FolderCompletion, isThis: Bool) {
        // The index knows the directories on this disk only if they are selected.
        if isThis, part.held.fileCount > 0, part.held.fileCount == completion.global.fileCount {
            self = .complete
        } else if part.held.count == 0, part.notKept.count == completion.global.count, part.notKept.count > 0 {
            self = .notKept
        } else if completion.missing(of: part).count == 0, part.notKept.count == 0 {
            self = .complete
        } else {
            self = part.held.count > 0 ? .partly : .nothing
        }
    }
}

extension Whereabouts.Device {
    /// Says how a version that is there whole stands to the winner.
    fileprivate mutating func describe(_ file: FileInfo, against winner: FileInfo) {
        switch file.version.compare(winner.version) {
        case .equal:
            has = .complete
            return
        case .lesser: has = .older
        case .greater, .concurrentGreater, .concurrentLesser: has = .other
        }
        size = file.kind == .file ? file.size : 0
        modified = WallTime(seconds: file.modifiedSeconds, nanoseconds: file.modifiedNanoseconds).rfc3339
    }
}
