import AsyncTools
import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import FolderSync
import IndexStore
import LocalSocket
import MountProtocol
import MountRules
import MountServer
import NIOCore
import Selection
import SyncDecisions
import Synchronization

/// What holds for one mount beside its folder.
struct MountTerms: Sendable {
    /// Who reads in it.
    var readers: ReadingBoard
    /// What the configuration says now.
    var settings: @Sendable () -> MountSettings
    /// Notified when that may have changed.
    var changed: Signal
    var thumbnails: MountThumbnails.Terms
    /// The mount ends because somebody has unmounted it.
    var unmounted: @Sendable () -> Void
    /// The mount is connected no more.
    var ended: @Sendable () -> Void
}

/// Answers one mount of a folder.
final class MountFolderSession: MountSession {
    private static let handleLimit = 1024
    /// How long changes are gathered before the mount hears of them.
    private static let changePause = Duration.milliseconds(100)

    private let folder: Folder
    private let entries: EntrySource
    private let cache: BlockCache
    private let transfers: TransferRegistry
    private let listing: MountListing
    private let breaker = Mutex(CircuitBreaker())
    /// What each program has had downloaded; `isOwn` once the mount has set another limit than the configuration's.
    private let budget: Mutex<(spent: ReadBudget, isOwn: Bool)>
    private let terms: MountTerms
    private let recent: RecentBlocks
    private let ahead: SmallFilesAhead
    private let changes: ProgramChanges
    private let thumbnails: MountThumbnails

    private struct Reading {
        var reader: VersionReader
        var path: String
        /// The program's; 0 if it is not known.
        var process: Int32
    }

    private struct Handles {
        var readers: [UInt64: Reading] = [:]
        var next: UInt64 = 1
    }
    private let handles = Mutex(Handles())

    init(
        folder: Folder, entries: EntrySource, cache: BlockCache, transfers: TransferRegistry, terms: MountTerms
    ) {
        self.terms = terms
        let settings = terms.settings()
        budget = Mutex((ReadBudget(limit: settings.readBudget), false))
        self.folder = folder
        self.entries = entries
        self.cache = cache
        self.transfers = transfers
        listing = MountListing(entries: entries, folder: folder)
        recent = RecentBlocks()
        ahead = SmallFilesAhead(listing: listing, cache: cache, recent: recent)
        thumbnails = MountThumbnails(
            folder: folder.id, index: entries.index, clock: entries.fetching.time.clock, terms: terms.thumbnails)
        changes = ProgramChanges(
            folder: folder, entries: entries, listing: listing, environment: Self.patient(entries.fetching, settings))
    }

    func answerNow(_ request: MountRequest) -> MountReply? {
        do {
            return try performNow(request)
        } catch {
            return MountReply(.failed(MountFailure(describing: error)))
        }
    }

    private func performNow(_ request: MountRequest) throws -> MountReply? {
        switch request {
        case .list(let directory, let after, let limit):
            guard let page = try listing.pageNow(directory, after: after, limit: Int(limit)) else {
                throw MountFailure.notFound
            }
            return MountReply(.page(page.entries, isLast: page.isLast))
        case .look(let path):
            guard let entry = try listing.lookNow(path) else { throw MountFailure.notFound }
            return MountReply(.entry(entry))
        case .open(let path, let version, let disk, let onlyHere, let caller):
            return try open(path, version, disk, onlyHere: onlyHere, caller)
        case .read(let handle, let offset, let count):
            guard let reading = handles.withLock({ $0.readers[handle] }),
                let bytes = reading.reader.readNow(Int64(clamping: offset), Int(count))
            else { return nil }
            terms.readers.read(reading.path, bytes.count, by: reading.process)
            return MountReply(.bytes(bytes))
        case .openWriting(let path, _, _, let opening, let permissions) where opening.contains(.creates):
            return try changes.createNow(path, opening, permissions: permissions)
        case .close(let handle): return changes.close(handle) ? MountReply(.done) : nil
        case .goodbye:
            terms.unmounted()
            return MountReply(.done)
        default: return nil
        }
    }

    func answer(_ request: MountRequest) async -> MountReply {
        do {
            return try await perform(request)
        } catch {
            return MountReply(.failed(MountFailure(describing: error)))
        }
    }

    private func perform(_ request: MountRequest) async throws -> MountReply {
        switch request {
        // These are answered now, or by the connection.
        case .hello, .cancel, .ping, .goodbye, .list, .look, .open: throw MountFailure.wrongVersion
        case .read(let handle, let offset, let count):
            guard let reading = handles.withLock({ $0.readers[handle] }) else { throw MountFailure.stale }
            let bytes = try await reading.reader.read(Int64(clamping: offset), Int(count))
            terms.readers.read(reading.path, bytes.count, by: reading.process)
            return MountReply(.bytes(bytes))
        case .close(let handle):
            if changes.close(handle) { return MountReply(.done) }
            if let reading = handles.withLock({ $0.readers.removeValue(forKey: handle) }) {
                terms.readers.closed(by: reading.process)
                await reading.reader.end()
            }
            return MountReply(.done)
        case .space: return MountReply(.space(try await space()))
        case .thumbnail(let path, let version):
            try await thumbnails.offer(path, version: version)
            return MountReply(.done)
        case .attribute(let path, let name): return MountReply(.bytes(try await attribute(path, name)))
        case .openWriting(let path, let version, let disk, let opening, let permissions):
            return try await changes.openWriting(path, version: version, disk: disk, opening, permissions: permissions)
        case .change(let path, let change): return try await changes.change(path, change)
        case .makeDirectory(let path, let permissions):
            return try await changes.makeDirectory(path, permissions: permissions)
        case .makeSymlink(let path, let target): return try await changes.makeSymlink(path, target: target)
        case .remove(let path, let isDirectory): return try await changes.remove(path, isDirectory: isDirectory)
        case .rename(let from, let to, let version, let keepsOther):
            return try await changes.rename(from, to: to, version: version, keepsOther: keepsOther)
        case .synchronize(let directory): return try await changes.synchronize(directory)
        case .setAttribute(let path, "pin", let value): return try await changes.setPin(path, value)
        case .setAttribute("", "budget", let value):
            guard let limit = ReadBudget.limit(parsing: String(decoding: value, as: UTF8.self)) else {
                throw MountFailure.invalid
            }
            budget.withLock { budget in
                budget.spent.setLimit(limit)
                budget.isOwn = true
            }
            return MountReply(.done)
        case .setAttribute: throw MountFailure.notSupported
        }
    }

    var access: MountAccess { ProgramChanges.access(to: folder) }

    func end() async {
        ahead.end()
        changes.end()
        let readers = handles.withLock { handles in
            defer { handles.readers = [:] }
            return Array(handles.readers.values)
        }
        terms.ended()
        for reading in readers { await reading.reader.end() }
    }

    func follow(_ send: @escaping @Sendable (MountAnswer) -> Void) async {
        let (stream, clock) = (folder.boards.changes.changes(), entries.fetching.time.clock)
        let gathering = ChangeGathering()
        // What it was welcomed with may be otherwise by now.
        var last: MountAccess?
        await withDiscardingTaskGroup { group in
            group.addTask { for await change in stream { gathering.add(change) } }
            group.addTask { await self.sendSettings(send) }
            group.addTask { await self.thumbnails.run() }
            while !Task.isCancelled {
                await gathering.wait()
                try? await clock.sleep(for: Self.changePause)
                if let answer = gathering.take() { send(answer) }
                let access = access
                if access != last { send(.access(access)) }
                last = access
            }
            group.cancelAll()
        }
    }

    /// Says what the configuration says, now and whenever that changes.
    private func sendSettings(_ send: @Sendable (MountAnswer) -> Void) async {
        var last: MountSettings?
        while !Task.isCancelled {
            let settings = terms.settings()
            if settings != last {
                send(.settings(settings))
                budget.withLock { budget in
                    if !budget.isOwn, budget.spent.limit != settings.readBudget {
                        budget.spent.setLimit(settings.readBudget)
                    }
                }
            }
            last = settings
            await terms.changed.wait()
        }
    }

    // MARK: opening

    /// Blocks its thread.
    private func open(
        _ path: String, _ version: UInt64, _ disk: UInt64, onlyHere: Bool, _ caller: MountCaller
    ) throws -> MountReply {
        guard let entry = try listing.lookNow(path), let relative = RelativePath(path) else {
            throw MountFailure.notFound
        }
        guard entry.kind == .file else { throw MountFailure.notAFile }
        guard entry.version == version || disk != 0 && entry.disk == disk else { throw MountFailure.stale }
        if entry.isHere, let place = try? folder.boards.places.current.get() {
            let file = try place.root.open(reading: relative)
            return MountReply(.opened, LocalSocket.Enclosed(number: file.number, owner: file))
        }
        guard !onlyHere else { throw MountFailure.noData }
        guard let file = try entries.index.fileNow(folder.id, path), MountTree.version(of: file) == version else {
            throw MountFailure.stale
        }
        let settings = terms.settings()
        let reader = VersionReader(
            folder: folder.id, file: file, version: version, environment: Self.patient(entries.fetching, settings),
            patience: .seconds(Int64(settings.patience)),
            holders: { [entries, folder] in
                guard let found = try await entries.index.global(folder.id, path), let now = found.file,
                    MountTree.version(of: now) == version
                else { return nil }
                return found.holders
            }, recent: recent, ahead: ahead, cache: cache, transfers: transfers, breaker: breakerGate,
            allowance: allowance(of: caller.group))
        let program = RunningProgram(thread: Int32(clamping: caller.thread))
        let handle = try handles.withLock { handles throws(MountFailure) in
            guard handles.readers.count < Self.handleLimit else { throw MountFailure.tooMany }
            defer { handles.next &+= 1 }
            handles.readers[handles.next] = Reading(reader: reader, path: path, process: program?.process ?? 0)
            return handles.next
        }
        if let program { terms.readers.opened(path, by: program) }
        return MountReply(.openedAbsent(handle: handle))
    }

    /// Holders that are lost are waited for as long as a program waits for the mount.
    private static func patient(_ environment: FetchEnvironment, _ settings: MountSettings) -> FetchEnvironment {
        var environment = environment
        environment.lostHolderPatience = .seconds(Int64(settings.patience))
        return environment
    }

    private var breakerGate: VersionReader.Gate {
        VersionReader.Gate(
            objection: { [self] version, hasHolder, now in
                breaker.withLock { $0.objection(to: version, hasHolder: hasHolder, at: now) }
            },
            failed: { [self] version, failure, now in breaker.withLock { $0.failed(version, failure, at: now) } },
            succeeded: { [self] version in breaker.withLock { $0.succeeded(version) } })
    }

    private func allowance(of group: UInt32) -> ReadAllowance {
        let monotonic = entries.fetching.time.monotonic
        return ReadAllowance(
            isSpent: { [self] in budget.withLock { $0.spent.isSpent(by: group, at: monotonic()) } },
            spend: { [self] count in budget.withLock { $0.spent.spend(count, by: group, at: monotonic()) } })
    }

    // MARK: about the folder

    private func space() async throws -> MountSpace {
        let total = try await entries.index.totals(of: folder.id).global
        let free = try await entries.fetching.threads.runIfActive { [place = entries.reader(folder).place] in
            try place?.root.freeSpace().available ?? 0
        }
        let size = UInt64(clamping: total.bytes)
        let (sum, overflows) = size.addingReportingOverflow(free)
        return MountSpace(total: overflows ? .max : sum, free: free)
    }

    private func attribute(_ path: String, _ name: String) async throws -> [UInt8] {
        var entry = try await entries.reader(folder).stat(path)
        // In place of a former version that was fetched, what others have is shown.
        if entry.state == .extraneous, try await listing.look(path)?.isHere == false { entry.state = .absent }
        let value: String
        switch name {
        case "state": value = entry.state.rawValue
        case "here":
            let isHere = [.present, .modified, .conflict, .extraneous, .downloaded].contains(entry.state)
            value = String(entry.presentBytes ?? (isHere ? entry.size : 0))
        case "holders":
            let holders = try await entries.index.global(folder.id, path)?.holders ?? []
            value = "\(holders.count) (\(entries.fetching.sessions(holders).count) connected)"
        case "version": value = entry.details?.version ?? ""
        case "pin": value = entry.selected.rawValue
        default: throw MountFailure.noData
        }
        return Array(value.utf8.prefix(MountLimits.attributeByteCount))
    }
}

extension MountFailure {
    init(describing error: any Error) {
        switch error {
        case let error as MountFailure: self = error
        case is CancellationError: self = .cancelled
        case FetchError.held: self = .heldByPolicy
        case FetchError.unavailable(.noHolder, _, _), FetchError.unavailable(.disconnected, _, _): self = .noHolder
        case let error as FileAccessError: self.init(error)
        case let error as ControlError: self.init(error)
        case let error as ProgramRefusal: self.init(error)
        case let halt as FolderHalt where halt.isOverDeletions: self = .massDeletion
        case let error as IgnoreError where error.code == .tooLarge: self = .selectionFull
        // A line of `.stignore`, or a name that no line can hold.
        case is IgnoreError: self = .refused
        default: self = .unreadable
        }
    }

    private init(_ error: FileAccessError) {
        switch error.code {
        case .notFound: self = .notFound
        case .permission: self = .noPermission
        case .noSpace, .quota: self = .noSpace
        case .readOnly: self = .readOnly
        case .tooManyOpenFiles, .outOfMemory: self = .tooMany
        case .exists: self = .exists
        case .changedOnDisk: self = .stale
        case .notADirectory: self = error.operation == .removeDirectory ? .notADirectory : .notFound
        case .isADirectory: self = .isADirectory
        case .directoryNotEmpty: self = .notEmpty
        case .nameTooLong: self = .nameTooLong
        case .tooLarge: self = .tooLarge
        case .crossesFileSystems: self = .absent
        case .busy: self = .busy
        case .notSupported: self = .notSupported
        case .invalidPath, .nameRefused, .notARegularFile: self = .invalid
        case .failed where error.operation == .rename: self = .invalid
        case .outsideRoot, .changesNames, .diskGone, .noArchive, .io, .finished, .failed: self = .unreadable
        }
    }

    private init(_ error: ControlError) {
        switch error.code {
        case .noSuchPath, .gone: self = .notFound
        case .noHolder: self = .noHolder
        case .heldByPolicy, .keptOffBluetooth: self = .heldByPolicy
        case .noSpace: self = .noSpace
        case .busy: self = .stale
        case .alreadyExists: self = .stale
        case .noPermission: self = .noPermission
        default: self = .unreadable
        }
    }

    private init(_ refusal: ProgramRefusal) {
        switch refusal {
        case .notFound: self = .notFound
        case .exists: self = .exists
        case .isADirectory: self = .isADirectory
        case .notADirectory: self = .notADirectory
        case .notEmpty: self = .notEmpty
        case .absent: self = .absent
        case .changedHere: self = .busy
        case .massDeletion: self = .massDeletion
        }
    }
}
