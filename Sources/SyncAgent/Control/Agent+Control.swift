import AgentConfiguration
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import NIOCore

/// What clients ask of the agent. Everything that goes wrong is a `ControlError` when it leaves.
extension Agent {
    // MARK: status

    public func status() async throws -> AgentStatus {
        try await answering {
            var folders: [FolderStatus] = []
            for folder in self.folders.all {
                var status = await FolderStatusReading(folder: folder, index: index).status()
                await addOutlook(of: folder, to: &status)
                if status.state == "idle", transfers.isFetching(folder.id) { status.state = "fetching" }
                folders.append(status)
            }
            return AgentStatus(
                device: localDevice.description, name: configuration.withLock { $0.name },
                version: AgentVersion.current, startedAt: startedAt.rfc3339,
                listening: listeningAddresses.map(\.description), http: setup.web?.address(), folders: folders,
                devices: devices.all.map(\.status), transfers: transfers.all,
                bluetooth: setup.radio?.status(), policies: policies.status,
                problems: [discovery?.problem, setup.web?.problem()].compactMap { $0 } + thumbnails.problems,
                pending: try await pendingDevices().count + pendingFolders().count)
        }
    }

    public func events(emit: @Sendable (AgentEvent) async throws -> Void) async throws {
        try await events(after: nil, begin: { _ in }, emit: emit)
    }

    public func events(
        after id: String?, begin: @Sendable (_ id: String) async throws -> Void,
        emit: @Sendable (AgentEvent) async throws -> Void
    ) async throws {
        let beginning = events.listen(after: id)
        var last = (beginning.missed.first?.number ?? beginning.last + 1) - 1
        try await begin(events.id(last))
        if beginning.hasGap { try await emit(gap(before: last)) }
        for missed in beginning.missed {
            try await emit(missed.event)
            last = missed.number
        }
        for await next in beginning.stream {
            if next.number > last + 1 { try await emit(gap(before: next.number - 1)) }
            try await emit(next.event)
            last = next.number
        }
    }

    private func gap(before number: Int) -> AgentEvent {
        var event = AgentEvent(
            type: "gap", time: events.now.rfc3339, message: "Events were lost: reload everything.")
        event.id = events.id(number)
        return event
    }

    /// Tells everyone who listens of a job.
    public func announce(_ job: ControlAPI.Job) { events.post("job", job: job) }

    // MARK: devices and folders

    public func addDevice(_ settings: DeviceSettings) async throws {
        try await reconfigure {
            try configuration.withLock { $0 }.edits(adding: settings, localDevice: localDevice)
        }
        if let id = try? DeviceID(parsing: settings.id) {
            try await answering { try await index.forgetPending(id) }
            await devices.device(id)?.seek()
        }
    }

    public func renameDevice(_ reference: String, to name: String) async throws {
        try await reconfigure { [.renameDevice(try device(reference), name: name)] }
    }

    public func removeDevice(_ reference: String) async throws {
        try await reconfigure { [.removeDevice(try device(reference))] }
    }

    public func pendingDevices() async throws -> [ControlAPI.PendingDevice] {
        try await answering {
            let known = Set(devices.all.map(\.id.description))
            return try await pending.devices().filter { !known.contains($0.id) }
        }
    }

    public func addFolder(_ settings: FolderSettings) async throws {
        try await reconfigure {
            var settings = settings
            settings.path = try setup.places.expanded(settings.path)
            let configuration = configuration.withLock { $0 }
            let edits = try configuration.edits(adding: settings)
            for case .addFolder(let folder) in edits {
                try FolderPreparation.prepare(folder, others: configuration.folders, places: setup.places)
            }
            return edits
        }
        try await answering {
            try await index.forgetPending(FolderID(settings.id))
            try await index.setDeclined(FolderID(settings.id), false)
        }
    }

    public func setFolderPaused(_ id: String, _ isPaused: Bool) async throws {
        try await reconfigure { [.setFolderPaused(try folder(id).id, isPaused)] }
    }

    public func setFolderBluetooth(_ change: FolderBluetoothChange) async throws {
        try await reconfigure { try configuration.withLock { $0 }.edits(applying: change) }
    }

    public func setDeviceBluetooth(_ change: DeviceBluetoothChange) async throws {
        try await reconfigure { try configuration.withLock { $0 }.edits(applying: change) }
    }

    public func removeFolder(_ id: String) async throws {
        let id = try await answering { try folder(id).id }
        // No admin's offer brings back what the user has removed.
        try await answering { try await index.setDeclined(id, true) }
        try await reconfigure { [.removeFolder(id)] }
    }

    public func pendingFolders() async throws -> [ControlAPI.PendingFolder] {
        try await answering {
            let known = Set(folders.all.map(\.id.rawValue))
            return try await pending.folders().filter { !known.contains($0.id) }
        }
    }

    public func resetIndex(folder reference: String?) async throws {
        try await answering {
            let chosen = try reference.map { [try folder($0)] } ?? folders.all
            let configuration = configuration.withLock { $0 }
            // Without the folder the links' feeds and announcements find nothing to work on; it comes back empty, under a
            // new index id, and the peers send and ask for everything anew.
            let ids = Set(chosen.map(\.id))
            var without = configuration
            without.folders.removeAll { ids.contains($0.id) }
            try await gate.withUnits(1) {
                try await apply(without)
                try await apply(configuration)
            }
            for device in devices.all { device.session?.close(reason: "the index is being rebuilt") }
        }
    }

    // MARK: entries

    public func stat(_ path: PathReference) async throws -> Entry {
        try await answering {
            let (folder, path) = try resolve(path)
            return try await reader(folder).stat(path)
        }
    }

    public func list(
        _ path: PathReference, isRecursive: Bool, emit: @Sendable (Entry) async throws -> Void
    ) async throws {
        try await answering {
            let (folder, path) = try resolve(path)
            try await reader(folder).list(path, isRecursive: isRecursive, emit: emit)
        }
    }

    public func search(
        _ text: String, folder reference: String?, limit: Int, emit: @Sendable (Entry) async throws -> Void
    ) async throws {
        try await answering {
            guard !text.isEmpty else { throw ControlError(.invalidRequest, "enter part of a name to search for") }
            let only = try reference.map { try folder($0).id }
            let result = try await index.search(text, in: only, limit: InternalContent.limit(for: limit))
            for found in result.shown(to: text, limit: limit).entries {
                guard let folder = folders.folder(found.folder) else { continue }
                try await emit(try await reader(folder).entry(found))
            }
        }
    }

    public func entries(_ query: EntryQuery) async throws -> EntryPage {
        try await answering {
            let (folder, path) = try resolve(query.path)
            return try await reader(folder).page(of: path, query, listings, now: setup.time.monotonic)
        }
    }

    public func search(_ query: SearchQuery) async throws -> EntryPage {
        try await answering {
            guard !query.text.isEmpty else {
                throw ControlError(.invalidRequest, "enter part of a name to search for")
            }
            let key = SearchCache.Key(text: query.text, folder: try query.folder.map { try folder($0).id })
            let result: SearchResult
            if query.offset > 0, let kept = searches.result(key, now: setup.time.monotonic()) {
                result = kept
            } else {
                let limit = PageLimits.found
                result = try await index.search(query.text, in: key.folder, limit: InternalContent.limit(for: limit))
                    .shown(to: query.text, limit: limit)
                searches.keep(result, key, now: setup.time.monotonic())
            }
            var entries: [Entry] = []
            for found in result.entries.dropFirst(query.offset).prefix(query.limit) {
                guard let folder = folders.folder(found.folder) else { continue }
                entries.append(try await reader(folder).entry(found))
            }
            return EntryPage(
                entries: entries, offset: query.offset, total: result.entries.count,
                isTruncated: result.isTruncated ? true : nil)
        }
    }

    public func stop() async throws { setup.requestStop() }

    // MARK: -

    /// Runs `body` and makes what it throws a `ControlError`, or leaves it a cancellation.
    func answering<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ControlError(describing: error)
        }
    }

    /// Edits the configuration file and brings the sessions in line, one change at a time.
    func reconfigure(_ edits: () throws -> [ConfigurationEdit]) async throws {
        try await answering {
            try await gate.withUnits(1) {
                try await apply(try edited(try edits()))
            }
        }
    }

    /// The configuration file with these edits made. Throws, and changes nothing, if the file was emptied meanwhile: an edit
    /// of something else would drop all devices or folders.
    func edited(_ edits: [ConfigurationEdit]) throws(ConfigurationError) -> Configuration {
        let (file, current) = (setup.configurationFile, configuration.withLock { $0 })
        return try file.apply(edits) { (found) throws(ConfigurationError) in
            guard let loss = current.loss(in: found) else { return }
            throw ConfigurationError(
                .invalidValue,
                "it names \(loss.none) any more, and nothing was changed; restore it, or remove the \(loss.all) with "
                    + "`synctrain reload`", file: file.path)
        }
    }

    func resolve(_ path: PathReference) throws -> (folder: Folder, path: String) {
        let resolver = PathResolver(folders: folders.all.map { .init(id: $0.id, path: $0.configuration.path) })
        let (id, path) = try resolver.resolve(path)
        return (try folder(id.rawValue), path)
    }

    func reader(_ folder: Folder) -> EntryReader {
        EntryReader(folder: folder, index: index, place: try? folder.boards.places.current.get(), fetching: fetching)
    }

    func folder(_ id: String) throws(ControlError) -> Folder {
        guard let folder = folders.folder(FolderID(id)) else {
            throw ControlError(
                .noSuchFolder, "\(id): no such folder; `synctrain folder list` shows the folders", path: id)
        }
        return folder
    }

    func device(_ reference: String) throws -> DeviceID {
        try configuration.withLock { $0 }.device(reference).id
    }
}
