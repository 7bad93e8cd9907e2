import AgentContext
import Arithmetic
import AsyncTools
import BlockExchange
import ControlAPI
import Cryptography
import Fetching
import FileAccess
import FolderSync
import Logging
import Synchronization

/// Files that are being uploaded to folders, by browsers mostly. Which there are outlives the agent.
final class UploadRegistry: Sendable {
    /// How often it is looked whether some have expired.
    private static let pause = Duration.seconds(3600)

    private struct State {
        var table: UploadTable
        /// Those that a request is at.
        var busy: Set<String> = []
    }

    private let state: Mutex<State>
    /// Held while the file is written, so that the latest is written last.
    private let storing = Mutex(())
    private let file: UploadFile
    private let find: @Sendable (FolderID) -> Folder?
    private let threads: any DiskThreads
    private let time: AgentTime
    private let logger: Logger

    /// Blocks its thread.
    init(
        file: UploadFile, find: @escaping @Sendable (FolderID) -> Folder?, threads: any DiskThreads, time: AgentTime,
        logger: Logger
    ) {
        state = Mutex(State(table: UploadTable(restoring: file.read())))
        (self.file, self.find, self.threads, self.time, self.logger) = (file, find, threads, time, logger)
    }

    /// Removes what expires, until cancelled.
    func run() async {
        while !Task.isCancelled {
            await removeExpired()
            try? await time.clock.sleep(for: Self.pause)
        }
    }

    // MARK: asking

    /// The uploads of a session, in the order of their paths.
    func list(_ folder: String?, of session: String?) -> [Upload] {
        state.withLock(\.table).storable.filter { $0.session == session && $0.folder == folder ?? $0.folder }
            .map { upload($0, added: []) }
    }

    /// Begins an upload to `path` of `folder`, or finds an earlier one.
    ///
    /// - Throws: what `UploadAccess` and `UploadStaging` throw; `ControlError` (`noSpace`, `busy`).
    func begin(_ request: UploadRequest, in folder: Folder, at path: String) async throws -> Upload {
        try UploadAccess.check(folder)
        await removeExpired()
        let context = try folder.runner.reading()
        let id = folder.id.rawValue
        if let earlier = state.withLock({ $0.table.earlier(request, folder: id, path: path) }) {
            return try await resume(earlier, context)
        }
        let record = UploadTable.Record(
            id: SHA256.digest(SecureRandom.bytes(count: 32)).description, session: request.session, folder: id,
            wanted: path, path: path,
            size: request.size, modified: request.modified, clash: request.existing, touched: time.wall().seconds)
        let staging = UploadStaging(folder: context, key: record.id)
        let place = try await staging.place(for: path, request.existing)
        let added = try await staging.linesToAdd(for: place)
        let free = try await staging.freeBytes().subtractingClamped(state.withLock { $0.table.remaining(in: id) })
        guard free > request.size else {
            let short = ByteText.size(request.size.subtractingClamped(max(free, 0)))
            throw ControlError(
                .noSpace, "\(id):\(path) does not fit: \(short) of free space are missing. Free some space.", path: path
            )
        }
        try state.withLock { state throws(ControlError) in
            try state.table.add(record)
            state.table.move(record.id, to: place.text)
        }
        do {
            _ = try await staging.byteCount(for: place)
            try await store()
        } catch {
            state.withLock { $0.table.remove(record.id) }
            try? await staging.discard(for: place)
            throw error
        }
        return upload(try self.record(record.id, of: request.session), added: added)
    }

    private func resume(_ record: UploadTable.Record, _ context: FolderContext) async throws -> Upload {
        try await exclusively(record.id) {
            let staging = UploadStaging(folder: context, key: record.id)
            guard let place = UploadPlace(record) else { throw UploadPlace.invalid(record) }
            let count = try await staging.byteCount(for: place.path)
            let added = try await staging.linesToAdd(for: place.path)
            let now = time.wall().seconds
            state.withLock { _ = $0.table.touch(record.id, received: min(count, record.size), at: now) }
            return upload(try self.record(record.id, of: record.session), added: added)
        }
    }

    /// Adds bytes at the end.
    ///
    /// - Throws: what `UploadStaging.add` throws; `ControlError` (`notFound`; `busy` while another part comes).
    func add(_ part: UploadPart) async throws -> Upload {
        let record = try record(part.upload, of: part.session)
        return try await exclusively(record.id) {
            let folder = try folder(of: record)
            try UploadAccess.check(folder)
            guard let place = UploadPlace(record) else { throw UploadPlace.invalid(record) }
            let count = try await folder.namingErrors {
                try await UploadStaging(folder: try folder.runner.reading(), key: record.id)
                    .add(part.bytes, at: part.offset, of: record.size, for: place.path)
            }
            let now = time.wall().seconds
            if state.withLock({ $0.table.touch(record.id, received: min(count, record.size), at: now) }) {
                try await store()
            }
            return upload(try self.record(record.id, of: record.session), added: [])
        }
    }

    /// Checks the file and puts it into its place.
    ///
    /// - Throws: what `UploadStaging.checked` and `PlaceUploadStep` throw; `ControlError` (`notFound`, `busy`).
    func end(_ request: UploadEnd, _ digest: SHA256Digest) async throws -> UploadedFile {
        let record = try record(request.upload, of: request.session)
        return try await exclusively(record.id) {
            let folder = try folder(of: record)
            try UploadAccess.check(folder)
            return try await folder.namingErrors { try await end(record, request.existing, digest, in: folder) }
        }
    }

    private func end(
        _ record: UploadTable.Record, _ clash: UploadClash?, _ digest: SHA256Digest, in folder: Folder
    ) async throws -> UploadedFile {
        let staging = UploadStaging(folder: try folder.runner.reading(), key: record.id)
        let place: RelativePath
        do {
            place = try await staging.place(for: record.path, .refuse)
        } catch FolderError.nameTaken where (clash ?? record.clash) == .rename {
            // The name is another's by now.
            place = try await staging.place(for: record.wanted, .rename)
        }
        let staged: StagedUpload
        do {
            staged = try await staging.checked(size: record.size, digest: digest, for: place)
        } catch let error as ControlError where error.code == .digestDiffers {
            try await remove(record, staging)
            throw error
        }
        let added = try await folder.runner.perform(PlaceUploadStep(staged, modified: record.modified))
        state.withLock { $0.table.remove(record.id) }
        try await store()
        return UploadedFile(folder: record.folder, path: place.text, size: record.size, added: added)
    }

    /// Ends an upload and removes what has arrived.
    ///
    /// - Throws: `ControlError` (`notFound`, `busy`); what removing it throws.
    func cancel(_ request: UploadCancel) async throws {
        let record = try record(request.upload, of: request.session)
        try await exclusively(record.id) {
            let context = find(record.folderID).flatMap { try? $0.runner.reading() }
            try await remove(record, context.map { UploadStaging(folder: $0, key: record.id) })
        }
    }

    // MARK: -

    private func removeExpired() async {
        for record in state.withLock({ $0.table.expired(at: time.wall().seconds) }) {
            do {
                try await exclusively(record.id) {
                    let context = find(record.folderID).flatMap { try? $0.runner.reading() }
                    try await remove(record, context.map { UploadStaging(folder: $0, key: record.id) })
                }
                logger.info("the upload of \(record.folder):\(record.wanted) has expired")
            } catch {
                logger.debug("the expired upload of \(record.folder):\(record.wanted) was not removed: \(error)")
            }
        }
    }

    /// - Parameter staging: nil where the folder is not available; the next scan that finds the bytes removes them.
    private func remove(_ record: UploadTable.Record, _ staging: UploadStaging?) async throws {
        if let staging, let place = UploadPlace(record) { try await staging.discard(for: place.path) }
        state.withLock { $0.table.remove(record.id) }
        try await store()
    }

    private func record(_ id: String, of session: String?) throws(ControlError) -> UploadTable.Record {
        try state.withLock { state throws(ControlError) in try state.table.record(id, of: session) }
    }

    private func folder(of record: UploadTable.Record) throws(ControlError) -> Folder {
        guard let folder = find(record.folderID) else {
            throw ControlError.noSuchFolder(record.folder, among: [])
        }
        return folder
    }

    /// One request at a time for each upload.
    private func exclusively<Result>(_ id: String, _ body: () async throws -> Result) async throws -> Result {
        guard state.withLock({ $0.busy.insert(id).inserted }) else {
            throw ControlError(.busy, "Another request is at this upload. Try again.", isRetryable: true)
        }
        defer { state.withLock { _ = $0.busy.remove(id) } }
        return try await body()
    }

    private func store() async throws {
        // Not cancelled with the request: an upload that is over must not come back.
        try await Task { [self] in
            try await threads.runIfActive { [self] in
                try storing.withLock { _ in try file.write(state.withLock(\.table).storable) }
            }
        }.value
    }

    private func upload(_ record: UploadTable.Record, added: [String]) -> Upload {
        Upload(
            id: record.id, folder: record.folder, path: record.path, wanted: record.wanted, size: record.size,
            modified: record.modified,
            offset: record.received,
            expires: WallTime(seconds: record.touched.addingClamped(UploadLimits.lifetime)).rfc3339, added: added)
    }
}
