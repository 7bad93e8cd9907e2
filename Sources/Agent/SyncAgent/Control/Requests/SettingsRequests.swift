import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import IndexStore
import PeerLinks

/// Changes what the configuration says: devices, folders, roles and pauses.
struct SettingsRequests: RequestGroup {
    let configuration: RunningConfiguration
    let changes: ConfigurationChanges
    let finder: FolderFinder
    let devices: DeviceRegistry
    let index: IndexStore
    let places: AgentPlaces
    let time: AgentTime

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.settings) { configuration.current.settingsDocument(since: configuration.atStart) }
        table.on(Endpoints.changeSettings, inBrowser: Configuration.checkBrowser) { try await change($0) }
        table.on(Endpoints.reload) { try await reload($0) }
        table.on(Endpoints.setPaused) { change in
            try await changes.edit { try $0.edits(applying: change, now: time.wall().seconds) }
        }
        table.on(Endpoints.resetIndex) { request in
            try await uncancelled { try await resetIndex(folder: request.folder) }
        }
        table.on(Endpoints.addDevice) { settings in try await uncancelled { try await addDevice(settings) } }
        table.on(Endpoints.renameDevice) { try await rename($0) }
        table.on(Endpoints.removeDevice) { try await removeDevice($0) }
        table.on(Endpoints.setDevice) { change in try await changes.edit { try $0.edits(applying: change) } }
        table.on(Endpoints.network) { configuration.current.networkSettings }
        table.on(Endpoints.setNetwork) { try await setNetwork($0) }
        table.on(Endpoints.ignored) { configuration.current.ignoredList }
        table.on(Endpoints.setIgnored) { change in
            try await changes.edit { try $0.edits(applying: change, localDevice: configuration.localDevice) }
        }
        table.on(Endpoints.setFolderRelays) { change in try await changes.edit { try $0.edits(applying: change) } }
        table.on(Endpoints.setDeviceBluetooth) { change in try await changes.edit { try $0.edits(applying: change) } }
        table.on(Endpoints.addFolder) { settings in try await uncancelled { try await addFolder(settings) } }
        table.on(Endpoints.setFolderPaused) { try await setPaused($0) }
        table.on(Endpoints.removeFolder) { id in try await uncancelled { try await removeFolder(id) } }
        table.on(Endpoints.setFolderBluetooth) { change in try await changes.edit { try $0.edits(applying: change) } }
        table.on(Endpoints.setFolderShared) { change in try await changes.edit { try $0.edits(applying: change) } }
        table.on(Endpoints.setFolderRole) { change in try await changes.edit { try $0.edits(applying: change) } }
    }

    private func addDevice(_ settings: DeviceSettings) async throws {
        try await changes.edit { try $0.edits(adding: settings, localDevice: configuration.localDevice) }
        if let id = try? DeviceID(parsing: settings.id) {
            try await index.forgetPending(id)
            await devices.device(id)?.seek()
        }
    }

    private func rename(_ change: DeviceRename) async throws {
        try await changes.edit { [.renameDevice(try $0.device(change.device).id, name: change.name)] }
    }

    private func removeDevice(_ reference: String) async throws -> DeviceSettings {
        var restoration = DeviceSettings(id: reference)
        try await changes.edit { configuration in
            restoration = try configuration.restoration(of: reference)
            return [.removeDevice(try configuration.device(reference).id)]
        }
        return restoration
    }

    private func addFolder(_ settings: FolderSettings) async throws {
        try await changes.edit { configuration in
            var settings = settings
            settings.path = try places.expanded(settings.path)
            let edits = try configuration.edits(adding: settings)
            for case .addFolder(let folder) in edits {
                try FolderPreparation.prepare(folder, others: configuration.folders, places: places)
            }
            return edits
        }
        try await index.forgetPending(FolderID(settings.id))
        try await index.setDeclined(FolderID(settings.id), false)
    }

    private func removeFolder(_ id: String) async throws {
        let id = try finder.folder(id).id
        // No admin's offer brings back what the user has removed.
        try await index.setDeclined(id, true)
        try await changes.edit { _ in [.removeFolder(id)] }
    }

    private func setPaused(_ change: FolderPause) async throws {
        try await changes.edit { _ in [.setFolderPaused(try finder.folder(change.folder).id, change.isPaused)] }
    }

    private func reload(_ request: ReloadRequest) async throws -> ReloadAnswer {
        let (old, new) = try await changes.inTurn { turn in
            let old = turn.current
            return (old, try await turn.reload(isConfirmed: request.isConfirmed))
        }
        return ReloadAnswer(
            restart: configuration.atStart.settingsForStart(otherThan: new), changed: old.settings(otherThan: new))
    }

    private func change(_ change: SettingsChange) async throws -> SettingsAnswer {
        guard change.folder == nil || !change.settings.contains(where: { $0.key == "mode" }) else {
            throw ControlError(
                .invalidRequest,
                "`mode` rewrites .stignore; use `synctrain folder mode \(ShellWord.quoted(change.folder ?? "")) selective|full`.",
                path: "mode")
        }
        return try await changes.inTurn { turn in
            let old = turn.current
            let edits = try old.edits(applying: change, userHome: places.userHome)
            try old.checkPage(edits, of: change, hasPassword: PasswordFile.isThere(in: places))
            try old.checkPath(edits, of: change, places: places)
            try old.checkArchive(edits, of: change)
            try await turn.edit(edits)
            return try old.answer(to: change, in: turn.current, since: configuration.atStart)
        }
    }

    private func setNetwork(_ change: NetworkChange) async throws -> ReloadAnswer {
        let old = configuration.current
        try await changes.edit { try $0.edits(applying: change) }
        let new = configuration.current
        return ReloadAnswer(
            restart: configuration.atStart.settingsForStart(otherThan: new), changed: old.settings(otherThan: new))
    }

    private func resetIndex(folder reference: String?) async throws {
        // Without the folder the links' feeds and announcements find nothing to work on; it comes back empty, under a
        // new index id, and the peers send and ask for everything again.
        let ids = Set(try finder.chosen(reference).map(\.id))
        try await changes.inTurn { turn in
            // Taken in the turn: what another request changes meanwhile must not be undone.
            let configuration = turn.current
            var without = configuration
            without.folders.removeAll { ids.contains($0.id) }
            var failure: (any Error)?
            do { try await turn.apply(without) } catch { failure = error }
            // Whatever became of their indexes, they are synced again.
            try await turn.apply(configuration)
            if let failure { throw failure }
        }
        for device in devices.all { device.session?.closeToRebuild() }
    }
}
