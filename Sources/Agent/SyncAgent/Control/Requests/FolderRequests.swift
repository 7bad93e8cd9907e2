import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import FileAccess
import FolderSync
import PeerLinks
import Selection

/// The verbs of folders: each path goes to the folder that it is in.
struct FolderRequests: RequestGroup {
    let finder: FolderFinder
    let entries: EntrySource
    let configuration: RunningConfiguration
    let devices: DeviceRegistry
    let places: AgentPlaces

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.perform) { try await perform($0) }
        table.on(Endpoints.scan) { try await scan($0) }
        table.on(Endpoints.scrub) { try await scrub($0, emit: $1) }
        table.on(Endpoints.refused) { id, emit in
            try await finder.each(id) {
                try await RefusedReading(folder: try $0.runner.reading()).list(emit: emit)
            }
        }
        table.on(Endpoints.settleRefused) { try await settleRefused($0) }
        table.on(Endpoints.extraneous) { try await extraneous(folder: $0, emit: $1) }
        table.on(Endpoints.resolve) { try await resolve($0) }
        table.on(Endpoints.remove) { try await remove($0) }
        table.on(Endpoints.free) { try await free($0) }
        table.on(Endpoints.needs) { try await needs(folder: $0, emit: $1) }
    }

    private func perform(_ action: FolderAction) async throws -> FolderActionOutcome {
        let folder = try finder.folder(action.folder)
        return try await folder.namingErrors {
            try await perform(action.action, in: folder.runner, isDryRun: action.isDryRun)
        }
    }

    private func perform(
        _ action: FolderAction.Kind, in runner: FolderRunner, isDryRun: Bool
    ) async throws -> FolderActionOutcome {
        switch action {
        case .override: try await runner.perform(OverrideStep(isDryRun: isDryRun))
        case .revert: try await runner.revert(isDryRun: isDryRun)
        case .confirm: try await runner.confirm(isDryRun: isDryRun)
        case .repair: try await runner.repair(isDryRun: isDryRun)
        }
    }

    /// What is at `paths`; every folder that is not paused for none.
    private func parts(of paths: [PathReference]) throws -> [FolderFinder.Part] {
        guard paths.isEmpty else { return try finder.parts(of: paths.map(finder.naming)) }
        return finder.all.filter { !$0.configuration.isPaused }.map { FolderFinder.Part(folder: $0, paths: [""]) }
    }

    private func scrub(
        _ request: ScrubRequest, emit: @Sendable (ScrubEvent) async throws -> Void
    ) async throws {
        for part in try parts(of: request.paths) {
            for path in PathSet.topmost(part.paths) {
                try await part.folder.namingErrors {
                    try await part.folder.runner.scrub(below: path, isRepairing: request.isRepairing, emit: emit)
                }
            }
        }
    }

    private func scan(_ request: ScanRequest) async throws -> ScanSummary {
        let parts = try parts(of: request.paths)
        var found: [ScanSummary.Folder] = []
        for part in parts {
            found.append(
                try await part.folder.namingErrors { try await scan(part) })
        }
        return ScanSummary(folders: found)
    }

    private func scan(_ part: FolderFinder.Part) async throws -> ScanSummary.Folder {
        let paths = part.paths.contains("") ? nil : try part.paths.map { try RelativePath(parsing: $0) }
        let summary = try await part.folder.runner.perform(ScanStep(paths: paths, isRequested: true))
        part.folder.boards.inbox.pullEverything()
        return summary
    }

    private func extraneous(folder: String?, emit: @Sendable (Entry) async throws -> Void) async throws {
        let names = configuration.deviceNames
        try await finder.each(folder) { folder in
            let count = try await ExtraneousListing(folder: try folder.runner.reading()).list { entry in
                var entry = entry
                if let device = entry.other?.modifiedBy { entry.other?.device = names[device] }
                try await emit(entry)
            }
            folder.boards.status.set(extraneous: count)
        }
    }

    private func resolve(_ resolution: ExtraneousResolution) async throws -> ResolutionAnswer {
        let parts = try finder.parts(of: resolution.paths)
        for part in parts { try Self.refuseRoot(part, Phrase("settle what is in it one by one")) }
        let directory = try resolution.directory.map { try places.expanded($0) }
        return ResolutionAnswer(
            folders: try await finder.perform(parts, isDryRun: resolution.isDryRun) { part, isDryRun in
                try await part.folder.runner.perform(
                    ResolveExtraneousStep(
                        paths: part.paths, action: resolution.action, directory: directory, isDryRun: isDryRun))
            })
    }

    private func remove(_ request: RemovalRequest) async throws -> RemovalAnswer {
        let parts = try finder.parts(of: request.paths)
        for part in parts { try Self.refuseRoot(part, Phrase("name what is in it")) }
        var outcomes = try await finder.perform(parts, isDryRun: request.isDryRun) { part, isDryRun in
            try await part.folder.runner.perform(DeleteEverywhereStep(paths: part.paths, isDryRun: isDryRun))
        }
        for number in outcomes.indices {
            for place in outcomes[number].holders.indices {
                guard let id = try? DeviceID(parsing: outcomes[number].holders[place].id) else { continue }
                let state = devices.device(id)?.state
                outcomes[number].holders[place].name = state?.name ?? ""
                outcomes[number].holders[place].isConnected = state?.session != nil
            }
        }
        return RemovalAnswer(folders: outcomes)
    }

    private func free(_ request: SpaceRequest) async throws -> SpaceAnswer {
        guard request.until >= 0, (request.unusedFor ?? 0) >= 0 else {
            throw ControlError(.invalidRequest, "size and age must be at least 0")
        }
        let chosen = try finder.chosen(request.folder)
        var answers: [SpaceAnswer.Folder] = []
        for folder in chosen where request.folder != nil || !folder.configuration.isPaused {
            answers.append(
                try await folder.namingErrors {
                    try await folder.runner.free(
                        FreeStep(
                            until: request.until, unusedFor: request.unusedFor, isDryRun: request.isDryRun))
                })
        }
        return SpaceAnswer(folders: answers)
    }

    private static func refuseRoot(_ part: FolderFinder.Part, _ remedy: Phrase) throws(ControlError) {
        guard part.paths.contains("") else { return }
        throw ControlError(
            .invalidRequest, "`\(part.folder.id):` is a whole folder; \(remedy)", path: "\(part.folder.id):")
    }

    private func needs(folder: String?, emit: @Sendable (Entry) async throws -> Void) async throws {
        try await finder.each(folder) { folder in
            let context = try folder.runner.reading()
            let reader = entries.reader(folder)
            try await context.index.eachNeeded { page in
                for needed in page where !needed.file.isDeleted && !needed.isChangedHere {
                    guard let entry = try await context.index.global(needed.path), entry.isPresent else { continue }
                    try await emit(try await reader.entry(entry))
                }
            }
        }
    }

    private func settleRefused(_ request: RefusalRequest) async throws -> RefusalAnswer {
        let devices = try request.device.map { [try configuration.current.device($0).id] as Set<DeviceID> }
        let parts = try finder.parts(of: request.paths.map(finder.naming))
        return RefusalAnswer(
            folders: try await finder.perform(parts, isDryRun: request.isDryRun) { part, isDryRun in
                try await part.folder.runner.perform(
                    SettleRefusedStep(paths: part.paths, action: request.action, devices: devices, isDryRun: isDryRun))
            })
    }
}
