import AgentConfiguration
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Selection

/// What concerns several devices.
extension Agent {
    private static let needPageLimit = 1000
    /// At most one look at the paths that are waited for in this time.
    private static let waitPause: Duration = .milliseconds(100)

    // MARK: rest

    public func setPaused(_ change: PauseChange) async throws {
        try await reconfigure {
            try configuration.withLock { $0 }.edits(applying: change, now: setup.time.wall().seconds)
        }
    }

    /// Ends pauses when their time is over, until cancelled.
    func endPauses() async {
        /// A wall clock that is set anew is noticed after so long.
        let longest: Int64 = 3600
        while !Task.isCancelled {
            let now = setup.time.wall().seconds
            let (over, next) = configuration.withLock { $0.pausesOver(at: now) }
            if over.isEmpty {
                if let next {
                    let pause = min(max(1, next - now), longest)
                    await pausesChanged.wait(atMost: .seconds(pause), clock: setup.time.clock)
                } else {
                    await pausesChanged.wait()
                }
                continue
            }
            do {
                try await reconfigure { over }
            } catch {
                setup.logger.error("a pause that is over cannot be ended: \(error)")
                // The file may be mended meanwhile.
                await pausesChanged.wait(atMost: .seconds(60), clock: setup.time.clock)
            }
        }
    }

    public func transferList() async throws -> TransferList {
        transfers.list { devices.device($0)?.session?.kind.rawValue }
    }

    public func setPolicies(_ change: PolicyChange) async throws {
        policies.setIgnored(change.isIgnored, until: change.seconds.map { setup.time.wall().seconds + $0 })
        takePolicies()
    }

    /// Heeds the policies and what is known of the machine, until cancelled.
    func followPolicies() async {
        /// A wall clock that is set anew is noticed after so long.
        let longest: Int64 = 3600
        await withDiscardingTaskGroup { group in
            if let source = policies.source {
                group.addTask { for await _ in source.changes { self.policies.changed.notify() } }
            }
            while !Task.isCancelled {
                if let next = takePolicies() {
                    let pause = min(max(1, next - setup.time.wall().seconds), longest)
                    await policies.changed.wait(atMost: .seconds(pause), clock: setup.time.clock)
                } else {
                    await policies.changed.wait()
                }
            }
            group.cancelAll()
        }
    }

    /// Has all links go by the policies that hold now; gives when to look again by the clock.
    @discardableResult
    private func takePolicies() -> Int64? {
        let (isOther, next) = policies.refresh(at: setup.time.wall().seconds)
        guard isOther else { return next }
        limiters.up.limitsChanged()
        limiters.down.limitsChanged()
        let holds = policies.held.holds
        let message = holds.isEmpty ? "nothing is restricted any more" : holds.map(\.text).joined(separator: "; ")
        setup.logger.info("policies: \(message)")
        events.post("policies-changed", message: message)
        // What waited may come, and what comes has to wait.
        devices.linkChanged()
        return next
    }

    public func reload(_ request: ReloadRequest) async throws -> ReloadAnswer {
        try await answering {
            try await gate.withUnits(1) {
                let new = try setup.configurationFile.load()
                if !request.isConfirmed, let loss = configuration.withLock({ $0 }).loss(in: new) {
                    throw ControlError(
                        .confirmationNeeded,
                        "`config.toml` names \(loss.none) any more. Remove the \(loss.all) that there are? Files stay.",
                        path: setup.configurationFile.path)
                }
                try await apply(new)
                return ReloadAnswer(restart: startConfiguration.settingsForStart(otherThan: new))
            }
        }
    }

    // MARK: who has what

    public func whereis(_ path: PathReference) async throws -> Whereabouts {
        try await answering {
            let (folder, path) = try resolve(path)
            guard let found = try await index.global(folder.id, path), found.isPresent || found.isDirectory else {
                throw ControlError(.noSuchPath, "\(folder.id):\(path): not found", path: path)
            }
            let known = try await index.announcers(of: folder.id)
            let places =
                found.isDirectory
                ? try await directoryPlaces(folder, path, known) : try await filePlaces(folder, found, known)
            let holders = places.filter { !$0.isThis && $0.has == .complete }.map {
                Whereabouts.Holder(id: $0.id, name: $0.name, isConnected: $0.isConnected, lastSeen: $0.lastSeen)
            }
            return Whereabouts(folder: folder.id.rawValue, path: path, holders: holders, devices: places)
        }
    }

    private func place(_ id: DeviceID, _ has: Whereabouts.Device.Holding) -> Whereabouts.Device {
        let state = devices.device(id)?.state
        let isThis = id == localDevice
        return Whereabouts.Device(
            id: id.description, name: isThis ? configuration.withLock { $0.name } : state?.name ?? "", isThis: isThis,
            isConnected: isThis || state?.session != nil, lastSeen: isThis ? nil : state?.lastSeen?.rfc3339, has: has)
    }

    private func filePlaces(
        _ folder: Folder, _ found: GlobalEntry, _ known: Set<DeviceID>
    ) async throws -> [Whereabouts.Device] {
        guard let winner = found.file else { return [] }
        let state = try await reader(folder).entry(found).state
        var here = place(localDevice, .nothing)
        if let local = found.local, local.status != nil, !local.file.isDeleted {
            here.has = found.isLocalCurrent ? .complete : .other
            here.describe(local.file, against: winner)
        } else if state == .partial {
            here.has = .partly
        }
        var standings: [DeviceID: FileInfo] = [:]
        for standing in try await index.standings(in: folder.id, of: found.path) {
            standings[standing.device] = standing.file
        }
        return [here]
            + folder.configuration.devices.filter { $0 != localDevice }.map { id in
                guard let file = standings[id] else { return place(id, known.contains(id) ? .nothing : .unknown) }
                var other = place(id, file.isInvalid ? .notKept : file.isDeleted ? .deleted : .complete)
                if !file.isInvalid, !file.isDeleted { other.describe(file, against: winner) }
                return other
            }
    }

    private func directoryPlaces(
        _ folder: Folder, _ path: String, _ known: Set<DeviceID>
    ) async throws -> [Whereabouts.Device] {
        let completion = try await index.completion(of: folder.id, below: path)
        func place(_ id: DeviceID, _ part: DeviceCompletion?) -> Whereabouts.Device {
            guard let part else { return self.place(id, known.contains(id) ? .nothing : .unknown) }
            let missing = completion.missing(of: part)
            let has: Whereabouts.Device.Holding =
                part.held.count == 0 && part.notKept.count == completion.global.count && part.notKept.count > 0
                ? .notKept
                : missing.count == 0 && part.notKept.count == 0 ? .complete : part.held.count > 0 ? .partly : .nothing
            var place = self.place(id, has)
            place.files = part.held.files &+ part.held.symlinks
            place.bytes = part.held.bytes
            return place
        }
        return [place(localDevice, completion.here)]
            + folder.configuration.devices.filter { $0 != localDevice }.map { place($0, completion.devices[$0]) }
    }

    public func needs(
        ofDevice reference: String, folder id: String?, emit: @Sendable (Entry) async throws -> Void
    ) async throws {
        try await answering {
            let device = try device(reference)
            let asked = try id.map { [try folder($0)] } ?? folders.all
            let shared = asked.filter { $0.exchange.isConfigured(for: device) }
            guard !shared.isEmpty else {
                throw ControlError(
                    .noSuchFolder,
                    "\(reference) shares \(id ?? "no folder") not with this device; "
                        + "`synctrain folder list` shows the folders", path: id)
            }
            for folder in shared {
                guard try await index.announcers(of: folder.id).contains(device) else {
                    throw ControlError(
                        .failed,
                        "\(reference) has not told yet what it has of \(folder.id); ask again when it was connected",
                        isRetryable: true, path: folder.id.rawValue)
                }
                let reader = reader(folder)
                var cursor: String?
                repeat {
                    let page = try await index.needed(
                        by: device, in: folder.id, after: cursor, limit: Self.needPageLimit)
                    for entry in page.entries where entry.isPresent { try await emit(try await reader.entry(entry)) }
                    cursor = page.next
                } while cursor != nil
            }
        }
    }

    public func completion(folder id: String?, device reference: String?) async throws -> CompletionAnswer {
        try await answering {
            let only = try reference.map { try $0 == "this" ? localDevice : device($0) }
            var answers: [CompletionAnswer.Folder] = []
            for folder in try id.map({ [try folder($0)] }) ?? folders.all {
                let known = try await index.completion(of: folder.id)
                let shared = folder.configuration.devices.filter { $0 != localDevice }
                var rows = [here(folder, known)]
                rows += shared.map { row($0, known, known.devices[$0]) }
                answers.append(
                    CompletionAnswer.Folder(
                        folder: folder.id.rawValue, global: known.global.asTotals,
                        devices: rows.filter { only == nil || $0.id == only?.description }))
            }
            return CompletionAnswer(folders: answers)
        }
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
            id: localDevice.description, name: configuration.withLock { $0.name }, isThis: true, isConnected: true,
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

    // MARK: waiting

    public func wait(_ request: WaitRequest) async throws {
        try await answering {
            let places = try request.paths.map { try resolve(namingFolders($0)) }
            let clock = setup.time.clock
            let deadline = request.seconds.map { setup.time.monotonic() + .seconds($0) }
            let news = Signal()
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                let events = events.listen().stream
                group.addTask { for await _ in events { news.notify() } }
                for folder in Dictionary(grouping: places, by: \.folder.id).compactMap(\.value.first?.folder) {
                    let changed = folder.exchange.subscribe()
                    group.addTask {
                        defer { folder.exchange.unsubscribe(changed) }
                        while !Task.isCancelled {
                            await changed.wait()
                            news.notify()
                        }
                    }
                }
                while true {
                    try Task.checkCancellation()
                    var missing: String?
                    for (folder, path) in places where missing == nil { missing = try await lack(folder, path) }
                    guard let missing else { return }
                    let left = deadline.map { $0 - setup.time.monotonic() }
                    if let left, left <= .zero {
                        throw ControlError(.timeout, "Timed out: \(missing)", isRetryable: true)
                    }
                    if let left { await news.wait(atMost: left, clock: clock) } else { await news.wait() }
                    try await clock.sleep(for: min(Self.waitPause, left ?? Self.waitPause))
                }
            }
        }
    }

    /// What is missing of the path; nil if it is here as the others have it. Throws what does not end by itself.
    private func lack(_ folder: Folder, _ path: String) async throws -> String? {
        let name = "\(folder.id):\(path)"
        let status = await FolderStatusReading(folder: folder, index: index).status()
        if status.condition == .paused {
            throw ControlError(
                .failed, "\(folder.id) is paused; `synctrain resume \(folder.id)` resumes it", path: name)
        }
        if status.condition.isFailure {
            throw ControlError(
                status.condition.isHalted
                    ? .folderHalted
                    : status.condition == .selectionError
                        ? .selectionUnusable : status.condition == .lowSpace ? .noSpace : .failed,
                "\(folder.id) (\(status.state)): \(status.message ?? "it does not go on; see `synctrain status`")",
                path: name)
        }
        let place = try folder.boards.places.current.get()
        let selection = place.selection
        let found = try await index.global(folder.id, path)
        let isHere = path.isEmpty || found.map { $0.isLocalCurrent && $0.local?.status != nil } ?? false
        guard path.isEmpty || !selection.isLeftOut(path) else {
            if isHere, found?.isPresent == true, found?.isDirectory == false { return nil }
            throw ControlError(
                .notKept,
                "\(name) is not selected, so it is not downloaded; select it with `synctrain select`, or download it once with "
                    + "`synctrain fetch`", path: name)
        }
        guard let found, found.isPresent || found.isDirectory else {
            return "no device has reported \(name) yet"
        }
        if found.isPresent, !isHere { return "\(name) is not present in its newest version yet" }
        guard found.isDirectory else {
            let needed = try await index.needed(
                in: folder.id, names: [path], isKept: { !selection.isLeftOut($0) })
            return needed.isEmpty ? nil : "\(name) is not present in its newest version yet"
        }
        let need = try await index.neededTotals(
            in: folder.id, below: path, isKept: { !selection.isLeftOut($0) },
            mayContain: { selection.mayContainSelected($0) })
        guard need != NeededTotals() else { return nil }
        return "\(need.items.count) names in \(name) are not present yet, and \(need.deletions) are to be deleted"
    }

    // MARK: status

    /// Says what the folder has and what it waits for.
    func addOutlook(of folder: Folder, to status: inout FolderStatus) async {
        var known: Set<DeviceID> = []
        do {
            known = try await index.announcers(of: folder.id)
        } catch {
            status.state = FolderState.error.rawValue
            status.message = "\(error)"
        }
        let settings = folder.configuration
        let peers = settings.devices.filter { $0 != localDevice }.map { id in
            let state = devices.device(id)?.state
            var peer = FolderOutlook.Peer(id: id, name: state?.name ?? "")
            peer.isConnected = state?.session != nil
            peer.isPaused = state?.isPaused ?? false
            peer.hasIndex = known.contains(id)
            // Over Bluetooth a device may keep to itself what it shares.
            if let session = state?.session, !session.information.kind.isSlow, let config = session.peerConfig {
                let shared = config.folders.first { $0.id == folder.id }
                peer.sharing = shared == nil ? .notSharing : shared?.stopReason == 0 ? .shares : .paused
            }
            if !folder.exchange.isTrusted(id) { peer.sharing = .encrypted }
            return peer
        }
        let outlook = FolderOutlook(
            folder: folder.id.rawValue, status: status,
            pausedUntil: settings.pausedUntil.map { WallTime(seconds: $0).rfc3339 }, peers: peers,
            lacks: folder.boards.status.snapshot.lacks)
        status.copy = outlook.copy
        status.waits = outlook.waits
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
