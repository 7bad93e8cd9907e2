import AgentContext
import AsyncTools
import BlockExchange
import Cryptography
import FileAccess
import NIOCore
import SyncDecisions
import Transport

/// What fetching blocks needs of the agent.
package struct FetchEnvironment: Sendable {
    /// Links to the connected devices among those given.
    package var sessions: @Sendable ([DeviceID]) -> [DeviceID: any BlockSource]
    /// What may go over a slow link; nil where nothing is in the way.
    package var slowLinkPolicy: @Sendable (FolderID, DeviceID) -> SlowLinkPolicy? = { _, _ in nil }
    package var held: @Sendable () -> HeldTransfers = { HeldTransfers() }
    /// Notified whenever a device connects or goes.
    package var linksChanged: @Sendable () -> AsyncStream<Void>
    /// Asks for the devices to be dialled now.
    package var dialNow: @Sendable ([DeviceID]) async -> Void
    /// The same, for a person who waits: they are searched for by radio, too. False if no radio reaches any of them.
    package var seek: @Sendable ([DeviceID]) async -> Bool = { _ in false }
    /// A block's verified bytes from the cache or from a file on this disk, where they may become content of the folder.
    package var localBlock: @Sendable (BlockInfo, FolderID) async -> ByteBuffer?
    /// The hashes whose blocks `localBlock` may have for the folder.
    package var blocksHere: @Sendable ([SHA256Digest], FolderID) async -> Set<SHA256Digest> = { hashes, _ in Set(hashes)
    }
    package var budget: SharedFetchBudget
    /// Where hashing and disk work is done, away from the threads that carry tasks.
    package var threads: any DiskThreads
    package var time: AgentTime
    package var settings: BlockScheduler.Settings
    /// What other devices are downloading; nil where nothing is known of that.
    package var downloads: SharedDownloads?
    /// What all that is fetched, dropped or uploaded still needs of the disks.
    package let space = SpaceReservations()
    /// How long a fetch waits for a first holder, and for one to come back when all are gone.
    package var firstHolderPatience: Duration = .seconds(5)
    /// How long it waits for a first holder that is searched for by radio: to find it and to connect takes some seconds.
    package var radioPatience: Duration = .seconds(15)
    package var lostHolderPatience: Duration = .seconds(30)

    package init(
        sessions: @escaping @Sendable ([DeviceID]) -> [DeviceID: any BlockSource],
        slowLinkPolicy: @escaping @Sendable (FolderID, DeviceID) -> SlowLinkPolicy? = { _, _ in nil },
        held: @escaping @Sendable () -> HeldTransfers = { HeldTransfers() },
        linksChanged: @escaping @Sendable () -> AsyncStream<Void>,
        dialNow: @escaping @Sendable ([DeviceID]) async -> Void,
        seek: @escaping @Sendable ([DeviceID]) async -> Bool = { _ in false },
        localBlock: @escaping @Sendable (BlockInfo, FolderID) async -> ByteBuffer?,
        blocksHere: @escaping @Sendable ([SHA256Digest], FolderID) async -> Set<SHA256Digest> = { hashes, _ in
            Set(hashes)
        }, budget: SharedFetchBudget,
        threads: any DiskThreads, time: AgentTime, settings: BlockScheduler.Settings,
        downloads: SharedDownloads? = nil, firstHolderPatience: Duration = .seconds(5),
        radioPatience: Duration = .seconds(15),
        lostHolderPatience: Duration = .seconds(30)
    ) {
        self.sessions = sessions
        self.slowLinkPolicy = slowLinkPolicy
        self.held = held
        self.linksChanged = linksChanged
        self.dialNow = dialNow
        self.seek = seek
        self.localBlock = localBlock
        self.blocksHere = blocksHere
        self.budget = budget
        self.threads = threads
        self.time = time
        self.settings = settings
        self.downloads = downloads
        self.firstHolderPatience = firstHolderPatience
        self.radioPatience = radioPatience
        self.lostHolderPatience = lostHolderPatience
    }
}

extension FetchEnvironment {
    /// Links over which something may be asked for.
    package struct Sources: Sendable {
        package var permitted: [DeviceID: any BlockSource] = [:]
        /// Why nobody may be asked though somebody is connected.
        package var obstacle: LinkObstacle?
    }

    package func sources(of folder: FolderID, _ holders: [DeviceID], for purpose: SlowLinkPolicy.Purpose) -> Sources {
        var sources = Sources()
        let held = held()
        for (id, session) in sessions(holders) {
            let slow = session.kind.isSlow ? slowLinkPolicy(folder, id)?.obstacle(to: purpose, over: session.kind) : nil
            let obstacle =
                slow.map { .slowLink($0) }
                ?? held.obstacle(to: purpose, over: session.route).map { LinkObstacle.policy($0) }
            if let obstacle { sources.obstacle = obstacle } else { sources.permitted[id] = session }
        }
        if !sources.permitted.isEmpty { sources.obstacle = nil }
        return sources
    }
}

extension FetchEnvironment {
    /// Those of the holders that a person may get files of the folder from by radio.
    func mayComeByRadio(_ holders: [DeviceID], of folder: FolderID) -> [DeviceID] {
        guard held().obstacle(to: .onDemand, over: .radio) == nil else { return [] }
        return holders.filter { slowLinkPolicy(folder, $0)?.obstacle(to: .onDemand, over: .l2cap) == nil }
    }
}

/// Whoever can be asked for blocks: a link to a device.
package protocol BlockSource: Sendable {
    /// What carries it.
    var kind: LinkKind { get }
    var route: LinkRoute { get }
    /// False once the link has ended: no request is answered any more.
    var isOpen: Bool { get }
    /// Asks for one block; bulk may wait for what a person waits for. Throws `RequestError`, or `CancellationError`.
    func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer
    /// Asks or tells the device something about promises to keep files. Throws `RequestError`, also where it takes no such
    /// requests, or `CancellationError`.
    func keep(_ request: KeepRequest) async throws -> KeepAnswer
    /// Whether the device renames things of a folder for this one.
    func takesRenames(in folder: FolderID) -> Bool
    /// Asks the device to rename something. Throws `RequestError`, `refused` where it takes no such requests, or
    /// `CancellationError`; then an answer that still comes is dropped.
    func rename(_ request: RenameRequest) async throws -> RenameAnswer
}

extension BlockSource {
    /// Refuses every request about promises.
    ///
    /// - Throws: `RequestError.linkLost`, as sources without such requests do.
    package func keep(_ request: KeepRequest) async throws -> KeepAnswer { throw RequestError.linkLost }

    package func takesRenames(in folder: FolderID) -> Bool { false }

    /// Refuses every request to rename.
    ///
    /// - Throws: `RequestError.refused`.
    package func rename(_ request: RenameRequest) async throws -> RenameAnswer { throw RequestError.refused(.generic) }
}

/// Gets blocks of one file from all devices that hold it, verified, in any order or in order.
package struct BlockFetch: Sendable {
    package let folder: FolderID
    package let file: FileInfo
    package let holders: [DeviceID]
    package let environment: FetchEnvironment
    /// What a person waits for comes over a slow link before what does not.
    package var purpose = SlowLinkPolicy.Purpose.onDemand
    /// Called with each verified block on a thread for disk work, before it is delivered; several at a time.
    package var store: (@Sendable (_ block: Int, _ bytes: ByteBuffer) throws -> Void)?
    /// Called with the size of each block that a device sent, before it is delivered.
    package var came: (@Sendable (_ byteCount: Int64, _ from: DeviceID) -> Void)?

    package init(
        folder: FolderID, file: FileInfo, holders: [DeviceID], environment: FetchEnvironment,
        purpose: SlowLinkPolicy.Purpose = .onDemand,
        store: (@Sendable (_ block: Int, _ bytes: ByteBuffer) throws -> Void)? = nil,
        came: (@Sendable (_ byteCount: Int64, _ from: DeviceID) -> Void)? = nil
    ) {
        self.folder = folder
        self.file = file
        self.holders = holders
        self.environment = environment
        self.purpose = purpose
        self.store = store
        self.came = came
    }

    private static let localLookahead = 64

    private var isBulk: Bool { purpose != .onDemand }

    /// Who can be asked now.
    fileprivate struct Asked {
        /// Links to those that have the whole file, and to those that are downloading it.
        var sessions: [DeviceID: any BlockSource]
        var whole: Set<DeviceID>
        /// Of those that are downloading it, which of the blocks that are to be fetched.
        var partial: [DeviceID: BlockSet]
        var obstacle: LinkObstacle?
        /// Others may be downloading the file, too.
        var isShared: Bool
    }

    private func asked(_ blocks: [Int], _ holders: [DeviceID]) -> Asked {
        let sources = environment.sources(of: folder, holders, for: purpose)
        let partial = environment.partialSources(of: file, in: folder, except: holders, for: purpose)
        return Asked(
            sessions: sources.permitted.merging(partial.mapValues(\.source)) { whole, _ in whole },
            whole: Set(sources.permitted.keys),
            partial: partial.mapValues { _, claimed in
                BlockSet(blocks.indices.lazy.filter { claimed.contains(blocks[$0]) })
            }, obstacle: sources.obstacle,
            isShared: !environment.sharers(of: file, in: folder, except: holders).isEmpty)
    }

    /// The same with the links that there are now.
    private func refreshed(_ asked: Asked, _ holders: [DeviceID]) -> Asked {
        var asked = asked
        let sources = environment.sources(of: folder, holders, for: purpose)
        (asked.sessions, asked.obstacle) = (sources.permitted, sources.obstacle)
        guard !asked.partial.isEmpty else { return asked }
        let partial = environment.sources(of: folder, asked.partial.keys.sorted(), for: purpose)
        asked.sessions.merge(partial.permitted) { whole, _ in whole }
        return asked
    }

    private enum Outcome: Sendable {
        case block(BlockScheduler.Assignment, ByteBuffer, at: MonotonicTime)
        case failed(BlockScheduler.Assignment, BlockScheduler.Failure)
        /// The block came, and this disk could not take it.
        case notStored(any Error)
        case linksChanged
        /// Devices have said which blocks of files they have.
        case downloadsChanged
        case timer
        /// The patience of this loss of all holders, counted from 1, is over.
        case gaveUp(loss: Int)
    }

    /// Delivers every block of `blocks` (indexes into the file's) once, as it comes. `deliver` is called by one task at
    /// a time. Throws `FetchError` when nobody is left to ask, what `deliver` and `store` throw, `CancellationError`.
    package func run(
        _ blocks: [Int], deliver: (_ block: Int, _ bytes: ByteBuffer, _ from: DeviceID?) async throws -> Void
    ) async throws {
        try await run(blocks, horizon: blocks.count) { block, bytes, holder, _ in
            try await deliver(block, bytes, holder)
            return blocks.count
        }
    }

    /// Delivers every block of `blocks` in their order, with no more kept or under way than `readAhead` lets. The reader wants the next
    /// one when `deliver` returns.
    ///
    /// - Throws: `FetchError` when nobody is left to ask; what `deliver` and `store` throw; `CancellationError`.
    package func runInOrder(
        _ blocks: [Int], readAhead: ReadAhead, deliver: (_ block: Int, _ bytes: ByteBuffer) async throws -> Void
    ) async throws {
        let now = environment.time.monotonic
        var wantedAt = now()
        try await runAhead(blocks, readAhead: readAhead) { block, bytes in
            let since = wantedAt
            try await deliver(block, bytes)
            wantedAt = now()
            return since
        }
    }

    /// The same for a reader that takes blocks ahead of what it wants: `deliver` says since when it waits for the block, nil if it does
    /// not.
    ///
    /// - Throws: `FetchError` when nobody is left to ask; what `deliver` and `store` throw; `CancellationError`.
    package func runAhead(
        _ blocks: [Int], readAhead: ReadAhead,
        deliver: (_ block: Int, _ bytes: ByteBuffer) async throws -> MonotonicTime?
    ) async throws {
        var readAhead = readAhead
        var waiting: [Int: ByteBuffer] = [:]
        var position = 0
        let places = Dictionary(blocks.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        try await run(blocks, horizon: readAhead.window) { block, bytes, holder, arrival in
            guard let place = places[block] else { return 0 }
            waiting[place] = bytes
            while let bytes = waiting.removeValue(forKey: position) {
                let wantedAt = try await deliver(blocks[position], bytes)
                if place == position, holder != nil, let wantedAt { readAhead.came(at: arrival, wantedAt: wantedAt) }
                position += 1
            }
            return position + readAhead.window
        }
    }

    /// Asks for the first `horizon` of the blocks. `deliver` gets where a block came from, nil for this disk, and when, and
    /// returns how many of the blocks, from the first on, may be asked for from then on; it only ever grows.
    private func run(
        _ blocks: [Int], horizon first: Int,
        deliver: (Int, ByteBuffer, DeviceID?, MonotonicTime) async throws -> Int
    ) async throws {
        var scheduler = BlockScheduler(
            blockSizes: blocks.map { Int(file.blocks[$0].size) }, settings: environment.settings)
        let now = environment.time.monotonic
        var isTimerSet = false
        var isGivingUp = false
        var lossCount = 0
        var hadHolder = false
        var lastRefusal: BlockScheduler.Failure?
        var nextLocal = 0
        var horizon = first
        var holders = holders
        var asked = asked(blocks, holders)

        try await withThrowingTaskGroup(of: Outcome.self) { group in
            defer { group.cancelAll() }
            let changes = environment.linksChanged()
            group.addTask { await Self.next(changes, .linksChanged) }
            let downloads = file.blocks.count > PartialFile.unreportedBlockCount ? environment.downloads : nil
            let downloadChanges = downloads?.board.changes()
            if let downloadChanges { group.addTask { await Self.next(downloadChanges, .downloadsChanged) } }
            scheduler.setHolders(asked)

            while !scheduler.isComplete {
                // What is on this disk costs no network: it is looked for in the blocks' order, a little ahead of the
                // requests.
                while nextLocal < min(horizon, blocks.count, scheduler.cursor + Self.localLookahead) {
                    if let bytes = try await localBytes(of: nextLocal, blocks, &scheduler) {
                        horizon = max(horizon, try await deliver(blocks[nextLocal], bytes, nil, now()))
                    }
                    nextLocal += 1
                    scheduler.horizon = nextLocal
                }
                guard !scheduler.isComplete else { break }

                scheduler.partialHorizon = horizon
                asked = refreshed(asked, holders)
                let sessions = asked.sessions
                while let assignment = scheduler.next(at: now()) {
                    start(assignment, blocks, sessions, &group)
                }
                // All that was looked for was on this disk: nothing comes that would wake this loop for the rest.
                if !scheduler.hasRequestsUnderWay,
                    nextLocal < min(horizon, blocks.count, scheduler.cursor + Self.localLookahead)
                {
                    continue
                }
                for assignment in scheduler.hedges(at: now()) { start(assignment, blocks, sessions, &group) }
                if !isTimerSet, let deadline = scheduler.nextDeadline {
                    isTimerSet = true
                    let pause = max(deadline - now(), .milliseconds(20))
                    group.addTask { [clock = environment.time.clock] in
                        try? await clock.sleep(for: pause)
                        return .timer
                    }
                }
                if scheduler.hasRequestsUnderWay {
                    hadHolder = true
                } else if scheduler.availableHolders.isEmpty, !isGivingUp {
                    if let failure = failure(asked, holders, scheduler, hadHolder: hadHolder, lastRefusal) {
                        throw failure
                    }
                    isGivingUp = true
                    lossCount += 1
                    let patience = await seek(holders, hadHolder: hadHolder)
                    group.addTask { [clock = environment.time.clock, lossCount] in
                        try? await clock.sleep(for: patience)
                        return .gaveUp(loss: lossCount)
                    }
                }

                switch try await group.next() {
                case .block(let assignment, let bytes, let arrival):
                    guard scheduler.succeeded(assignment, at: now()) else { break }
                    isGivingUp = false
                    came?(Int64(bytes.readableBytes), assignment.holder)
                    horizon = max(
                        horizon, try await deliver(blocks[assignment.block], bytes, assignment.holder, arrival))
                case .failed(let assignment, let failure):
                    scheduler.failed(assignment, failure)
                    if failure == .linkLost {
                        // Another link to the same device may have taken over, and was told of before this one was lost.
                        let isOpen = refreshed(asked, holders).sessions[assignment.holder]?.isOpen
                        if isOpen == true { scheduler.relinked(assignment.holder) }
                    } else if !assignment.isFromTemporary {
                        lastRefusal = failure
                    }
                case .linksChanged:
                    asked = self.asked(blocks, holders)
                    scheduler.setHolders(asked)
                    group.addTask { await Self.next(changes, .linksChanged) }
                case .downloadsChanged:
                    // Who was downloading it may have it whole now.
                    if let now = await downloads?.holders(folder, file) { holders = now }
                    asked = self.asked(blocks, holders)
                    scheduler.setHolders(asked)
                    if let downloadChanges {
                        group.addTask { await Self.next(downloadChanges, .downloadsChanged) }
                    }
                case .notStored(let error): throw error
                case .timer: isTimerSet = false
                case .gaveUp(let loss):
                    // A block has come since, and the holders were lost again: that loss has a patience of its own.
                    guard loss == lossCount else { break }
                    if isGivingUp, !scheduler.hasRequestsUnderWay, scheduler.availableHolders.isEmpty {
                        throw noHolder(lastRefusal)
                    }
                    isGivingUp = false
                case nil: throw CancellationError()
                }
            }
        }
    }

    /// Gives what this disk has of a block, stored; nil if it has nothing, or the block is there.
    private func localBytes(
        of position: Int, _ blocks: [Int], _ scheduler: inout BlockScheduler
    ) async throws -> ByteBuffer? {
        guard !scheduler.isDone(position),
            let bytes = await environment.localBlock(file.blocks[blocks[position]], folder),
            scheduler.haveLocally(position)
        else { return nil }
        try await environment.threads.runIfActive { [store, index = blocks[position]] in try store?(index, bytes) }
        return bytes
    }

    /// Why waiting for a holder cannot help; nil if one may come back.
    private func failure(
        _ asked: Asked, _ holders: [DeviceID], _ scheduler: BlockScheduler, hadHolder: Bool,
        _ lastRefusal: BlockScheduler.Failure?
    ) -> FetchError? {
        // Another link may come back in a moment; what a policy holds does not.
        if let obstacle = asked.obstacle, !hadHolder || obstacle.isPolicy { return keptOff(obstacle) }
        // Everyone connected has been asked in vain: nothing to wait for but somebody coming back.
        let isEveryoneAsked = holders.allSatisfy { scheduler.liars.contains($0) || asked.sessions[$0] != nil }
        return isEveryoneAsked && lastRefusal != nil ? noHolder(lastRefusal) : nil
    }

    /// Has the holders dialled, and the radio search for them where somebody waits. Gives how long to wait for one of them.
    private func seek(_ holders: [DeviceID], hadHolder: Bool) async -> Duration {
        await environment.dialNow(holders)
        var isSought = false
        if purpose == .onDemand {
            isSought = await environment.seek(environment.mayComeByRadio(holders, of: folder))
        }
        if hadHolder { return environment.lostHolderPatience }
        return isSought ? environment.radioPatience : environment.firstHolderPatience
    }

    private static func next(_ changes: AsyncStream<Void>, _ outcome: Outcome) async -> Outcome {
        var iterator = changes.makeAsyncIterator()
        _ = await iterator.next()
        return outcome
    }

    private func start(
        _ assignment: BlockScheduler.Assignment, _ blocks: [Int], _ sessions: [DeviceID: any BlockSource],
        _ group: inout ThrowingTaskGroup<Outcome, any Error>
    ) {
        let index = blocks[assignment.block]
        let block = file.blocks[index]
        let session = sessions[assignment.holder]
        group.addTask {
            guard let session else { return .failed(assignment, .linkLost) }
            let request = BlockRequest(
                folder: folder, name: file.name, offset: block.offset, size: block.size, hash: block.hash,
                isFromTemporary: assignment.isFromTemporary, weakHash: block.weakHash,
                blockIndex: Int32(clamping: index))
            do {
                let bytes = try await environment.budget.withUnits(
                    Int(block.size), of: assignment.holder, isUrgent: !isBulk
                ) {
                    try await session.request(request, isBulk: isBulk)
                }
                guard bytes.readableBytes == Int(block.size) else { return .failed(assignment, .wrongBytes) }
                return try await environment.threads.runIfActive { [store] in
                    guard bytes.withUnsafeReadableBytes({ SHA256.digest($0) }) == block.hash else {
                        return .failed(assignment, .wrongBytes)
                    }
                    do {
                        try store?(index, bytes)
                    } catch {
                        return .notStored(error)
                    }
                    return .block(assignment, bytes, at: environment.time.monotonic())
                }
            } catch RequestError.linkLost {
                return .failed(assignment, .linkLost)
            } catch RequestError.refused(let code) {
                return .failed(assignment, code == .generic ? .other : .notThere)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                return .failed(assignment, .other)
            }
        }
    }

    private func keptOff(_ obstacle: LinkObstacle) -> FetchError { .held(obstacle, file: file.name, folder: folder) }

    private func noHolder(_ refusal: BlockScheduler.Failure?) -> FetchError {
        if let obstacle = environment.sources(of: folder, holders, for: purpose).obstacle { return keptOff(obstacle) }
        let reason: FetchError.Refusal =
            switch refusal {
            case .wrongBytes: .wrongBytes
            case .notThere: .notThere
            case .other: .unreadable
            case .linkLost, nil: holders.isEmpty ? .noHolder : .disconnected
            }
        return .unavailable(reason, file: file.name, holders: holders.count)
    }
}

extension BlockScheduler {
    fileprivate mutating func setHolders(_ asked: BlockFetch.Asked) {
        setHolders(asked.whole, partial: asked.partial)
        isShared = asked.isShared
    }

    /// The block is on this disk. False if it was done before.
    mutating func haveLocally(_ block: Int) -> Bool {
        succeeded(Assignment(block: block, holder: Self.nobody), at: .zero)
    }

    private static let nobody = DeviceID(digest: SHA256.digest([]))
}
