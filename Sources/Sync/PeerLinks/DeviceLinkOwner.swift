import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import Fetching
import FolderSync
import IndexStore
import SyncDecisions
import Transport

/// Decides for one link of a known device.
struct DeviceLinkOwner: PeerSessionOwner {
    let device: DeviceSession
    let environment: LinkEnvironment
    let kind: LinkKind
    let route: LinkRoute

    private var shared: SharedFolders {
        let (environment, device, kind, route) = (environment, device, kind, route)
        return SharedFolders(
            device: device.id, localDevice: environment.localDevice, deviceName: environment.deviceName,
            knownDevices: environment.knownDevices, folders: environment.folders,
            mayCarry: { environment.mayUse(kind, route, with: device.id, for: .index, of: $0) },
            client: { device.state.clientName }, distrust: { environment.distrust($0, device.id) },
            logger: environment.logger)
    }

    func admit(_ session: PeerSession, _ hello: Hello) async -> Bool { await device.admit(session, hello) }
    func opened(_ session: PeerSession) async { await device.opened(session) }

    func received(_ config: ClusterConfig, _ session: PeerSession) async { await device.received(config, session) }
    func found(_ finding: LinkGauge.Finding, _ session: PeerSession) async { await device.found(finding, session) }

    // MARK: indexes

    func terms() -> [FolderID: IndexExchange.Terms] { shared.terms() }
    func terms(of folder: FolderID) -> IndexExchange.Terms? { shared.terms(of: folder) }
    func clusterConfig() async throws -> ClusterConfig { try await shared.clusterConfig() }
    func exchange(of folder: FolderID) -> FolderExchange? { environment.folders.folder(folder)?.exchange }

    func facts(_ terms: [FolderID: IndexExchange.Terms]) async throws -> [FolderID: IndexExchange.Facts] {
        try await shared.facts(terms)
    }

    func heard(_ config: ClusterConfig) async {
        let isComplete = kind == .tcp
        environment.heard(config, device.id, isComplete)
        guard isComplete, !config.isSecondary else { return }
        await environment.folders.pending.offersOnly(config.folders.map(\.id), device.id)
    }

    func perform(_ action: IndexExchange.Action) async throws {
        if case .release(let folder) = action { environment.downloads.forget(device.id, folder) }
        try await storing { try await shared.perform(action) }
    }

    func store(_ batch: IndexBatch, isUnnamed: Bool) async throws {
        guard let exchange = exchange(of: batch.folder) else { return }
        await exchange.waitForFirstScan()
        guard await device.mayAnnounce(IndexInbox.byteCount(of: batch)) else { throw CancellationError() }
        try await storing {
            if isUnnamed { try await exchange.forgetIndexName(of: device.id) }
            try await exchange.apply(batch, from: device.id)
        }
        environment.downloads.announced(batch.files.map(\.name), of: batch.folder, by: device.id)
        if device.state.hasUnstoredIndex { await device.indexWasStored() }
    }

    func dropped(_ folder: FolderID) async throws {
        try await storing { try await exchange(of: folder)?.forgetIndexName(of: device.id) }
    }

    /// Runs what stores what the device says; where that cannot be, it is not asked to say it again at once. One that says too
    /// much is paused.
    private func storing<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as IndexStoreError where error.isAboutStoring {
            if let quota = DeviceQuota(error) {
                await device.exceeded(quota)
            } else {
                await device.indexWasNotStored()
            }
            throw error
        }
    }

    func couldNotRead(_ folder: FolderID, _ error: IndexStoreError) async {
        environment.logger.error(
            "what was changed on this device cannot be sent: \(error)", metadata: ["folder": "\(folder)"])
        await device.ownIndexWasNotRead()
    }

    // MARK: promises

    func answer(_ request: KeepRequest) async -> KeepAnswer {
        guard environment.mayUse(kind, route, with: device.id, for: .index, of: request.folder),
            let folder = environment.folders.folder(request.folder, sharedWith: device.id)
        else { return .refused }
        return await folder.keeping.answer(request, from: device.id)
    }

    func answer(_ request: RenameRequest) async -> RenameAnswer {
        guard environment.mayUse(kind, route, with: device.id, for: .index, of: request.folder),
            let folder = environment.folders.folder(request.folder, sharedWith: device.id)
        else { return RenameAnswer(.notAllowed) }
        return await FolderRenaming(folder).answer(request, from: device.id)
    }

    func agree(_ session: PeerSession, performed: Signal, count: @Sendable () -> Int) async {
        var progress: [FolderID: FolderKeeping.Progress] = [:]
        var subscribed: [FolderID: FolderExchange] = [:]
        defer { for folder in subscribed.values { folder.unsubscribe(performed) } }
        var pause = Self.firstAgreePause
        while !Task.isCancelled {
            let number = count()
            var isSaid = true
            for folder in environment.folders.all where folder.exchange.isShared(with: device.id) {
                if subscribed[folder.id] == nil {
                    subscribed[folder.id] = folder.exchange
                    folder.exchange.subscribe(performed)
                }
                var made = progress[folder.id] ?? FolderKeeping.Progress()
                do {
                    let isUnderstood = try await folder.keeping.agree(
                        with: device.id, exchange: number, &made
                    ) { request in try await session.keep(request) }
                    isSaid = isSaid && isUnderstood
                } catch {
                    isSaid = false
                    environment.logger.debug("promises: \(error)", metadata: ["folder": "\(folder.id)"])
                }
                progress[folder.id] = made
            }
            // A device that has just come may not have the folder open yet.
            if isSaid {
                pause = Self.firstAgreePause
                await performed.wait()
            } else {
                await performed.wait(atMost: pause, clock: environment.time.clock)
                pause = min(pause * 2, Self.longestAgreePause)
            }
        }
    }

    /// What a device did not take is said again after this, then after twice that, and so on.
    private static let firstAgreePause: Duration = .seconds(2)
    private static let longestAgreePause: Duration = .seconds(600)

    // MARK: blocks

    /// Nothing of that goes over a slow link: there is too little to gain, and too much to send.
    var downloads: DownloadBoard? { kind.isSlow ? nil : environment.downloads }

    func heard(_ progress: DownloadProgress) {
        guard let downloads, terms(of: progress.folder) == .open else { return }
        downloads.take(progress, from: device.id)
    }

    func serve(_ requests: [BlockRequest]) async -> [BlockAnswer] {
        var answers: [BlockAnswer] = []
        var rest = requests[...]
        while let first = rest.first {
            let together = Array(rest.prefix { $0.folder == first.folder })
            rest = rest.dropFirst(together.count)
            answers += await serve(together, of: first.folder)
        }
        return answers
    }

    private func serve(_ requests: [BlockRequest], of id: FolderID) async -> [BlockAnswer] {
        guard id != DeviceDropMessage.folder else {
            var answers: [BlockAnswer] = []
            for request in requests { answers.append(await environment.serveDrop(request, device.id)) }
            return answers
        }
        guard environment.mayUse(kind, route, with: device.id, for: .answer, of: id),
            let folder = environment.folders.folder(id, sharedWith: device.id)
        else { return requests.map { _ in BlockAnswer(.generic) } }
        let answers = await folder.server.serve(requests)
        environment.transfers.served(requests, answers, of: id, to: device.id)
        return answers
    }
}
