import BlockExchange
import Cryptography
import GRDB
import GRDBSQLite
import Glibc

/// The index of all folders on disk: what every device announces of every name, the winner of each name, and what this
/// device announces.
///
/// There is one writer, calls to it queue up; readers run beside it and see the state between two transactions. Every
/// function throws `IndexStoreError`, or `CancellationError` if its task was cancelled, and then has changed nothing
/// unless it says otherwise. What was returned from a write survives the end of the process; the last moments before a
/// loss of power may be missing (see docs/decisions/index-store.md).
package final class IndexStore: Sendable {
    /// The database file; `-wal` and `-shm` lie beside it while it is open.
    package let path: String
    let pool: DatabasePool
    /// Whose counter this device raises in versions since its index came out of a backup; nil for its own.
    package let author: ShortID?
    let quota: Quota
    /// What was found by reading all of a folder, for as long as nothing is written.
    let orphans: RememberedNames
    let conflictCopies: RememberedNames
    private let writes: WriteCount
    /// Counts changes that no sequence tells: what a device announced is dropped, or what was refused counts from now on.
    let unnumberedChanges = WriteCount()
    private let blocksCaller: Bool

    /// What other devices may have stored here.
    package struct Quota: Sendable {
        /// Names that one device may announce in one folder, whatever it says of them.
        package var entries: Int64 = 10_000_000
        /// Bytes of paths, version vectors and carried fields that one device may announce in one folder.
        package var bytes: Int64 = 2 << 30
        /// Bytes of the index's disk that are kept for this device's own changes, and of a small disk which part of it.
        package var freeBytes: UInt64 = 64 << 20
        package var freePart: UInt64 = 50

        package init() {}
    }

    private init(path: String, pool: DatabasePool, author: ShortID?, quota: Quota, blocksCaller: Bool) {
        self.path = path
        self.pool = pool
        self.author = author
        self.quota = quota
        self.blocksCaller = blocksCaller
        writes = WriteCount()
        orphans = RememberedNames(writes, countLimit: 0)
        conflictCopies = RememberedNames(writes, countLimit: 1000)
    }

    /// Pages of the log before it is written back into the database: 16 MiB.
    private static let checkpointPages = 4096
    private static let readerCount = 3
    /// How far sequences jump: further than the announcements that one log can hold.
    static let sequenceJump: Int64 = 1 << 20

    /// Opens the index at `path`, made (mode 0600) if there is none, and brings an older schema up to date.
    ///
    /// - parameter cacheBytes: memory for pages, three quarters of it the writer's.
    /// - parameter busySeconds: how long to wait for another process to let go of the file.
    /// - parameter blocksCaller: each call is done on its caller's thread, so that a run with the same inputs does the same.
    /// - parameter newIndexID: a random id that this device's index of a folder gets if the file is a copy of the one that was open last.
    package static func open(
        path: String, cacheBytes: Int = 32 << 20, busySeconds: Double = 2, quota: Quota = Quota(),
        blocksCaller: Bool = false,
        newIndexID: @escaping @Sendable () -> IndexID = { IndexID(rawValue: SecureRandom.uint64() | 1) }
    ) throws(IndexStoreError) -> IndexStore {
        try prepareFile(path)
        var configuration = Configuration()
        configuration.busyMode = .timeout(busySeconds)
        configuration.maximumReaderCount = readerCount
        configuration.label = "IndexStore"
        let kibibytes = max(1024, cacheBytes / 1024)
        configuration.prepareDatabase { database in
            let share = database.configuration.readonly ? kibibytes / 4 / readerCount : kibibytes * 3 / 4
            try database.execute(
                sql: """
                    PRAGMA cache_size = -\(share);
                    PRAGMA cell_size_check = ON;
                    PRAGMA temp_store = MEMORY;
                    """)
        }
        do {
            let pool = try DatabasePool(path: path, configuration: configuration)
            try pool.writeWithoutTransaction { database in
                try database.execute(
                    sql: """
                        PRAGMA wal_autocheckpoint = \(checkpointPages);
                        PRAGMA journal_size_limit = \(checkpointPages * 4096 * 2);
                        """)
                try checkOwner(database, path: path)
                if try Schema.migrator.hasBeenSuperseded(database) {
                    throw IndexStoreError(.newerSchema, path: path)
                }
            }
            try Schema.migrator.migrate(pool)
            let author = try pool.writeWithoutTransaction { database in
                try probe(database)
                return try markOpen(database, birth: FileBirth.of(path), newIndexID)
            }
            return IndexStore(path: path, pool: pool, author: author, quota: quota, blocksCaller: blocksCaller)
        } catch {
            throw IndexStoreError.translate(error, path: path) as? IndexStoreError
                ?? IndexStoreError(.failed, path: path, cause: "\(error)")
        }
    }

    /// What is free on the disk of the index, and what of it is kept; nil where the disk does not say it.
    package var space: IndexSpace? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        let unit = UInt64(status.f_frsize)
        let (free, freeOverflows) = UInt64(status.f_bavail).multipliedReportingOverflow(by: unit)
        let (all, overflows) = UInt64(status.f_blocks).multipliedReportingOverflow(by: unit)
        guard !freeOverflows else { return nil }
        return IndexSpace(
            free: free, kept: min(quota.freeBytes, overflows ? .max : all / max(1, quota.freePart)))
    }

    /// Makes sure that what other devices announce leaves room for this device's own changes. A disk that does not say how
    /// much is free is not full.
    ///
    /// - Throws: `diskAlmostFull`.
    func requireSpaceForOthers() throws(IndexStoreError) {
        guard let space, space.free < space.kept else { return }
        throw IndexStoreError(
            .diskAlmostFull, path: path,
            cause: "\(space.free >> 10) KiB are free; \(space.kept >> 10) KiB are kept for changes on this device")
    }

    /// Whether there is an index, readable or not.
    package static func isThere(path: String) -> Bool { access(path, F_OK) == 0 }

    /// Why the index at `path` cannot be opened, as far as reading it shows; nil if nothing does, or if there is none yet. What the
    /// index has stays as it is, and its schema too.
    package static func obstacle(path: String) -> IndexStoreError? {
        guard isThere(path: path) else { return nil }
        do {
            try prepareFile(path)
            var configuration = Configuration()
            configuration.readonly = true
            configuration.label = "IndexStore.obstacle"
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? queue.close() }
            try queue.read { database in
                try checkOwner(database, path: path)
                let applied = try Schema.migrator.appliedIdentifiers(database)
                if try Schema.migrator.hasBeenSuperseded(database) {
                    throw IndexStoreError(.newerSchema, path: path)
                }
                // One that was never written to has no tables.
                if !applied.isEmpty { try probe(database) }
            }
            return nil
        } catch {
            return IndexStoreError.translate(error, path: path) as? IndexStoreError
                ?? IndexStoreError(.failed, path: path, cause: "\(error)")
        }
    }

    /// Removes the index at `path`, its log and its shared memory, and nothing else. The index must not be open.
    package static func erase(path: String) throws(IndexStoreError) {
        for file in [path, path + "-wal", path + "-shm"] where unlink(file) != 0 && errno != ENOENT {
            throw .system(errno, path: file)
        }
    }

    /// Writes the log back and closes the file; every later call fails.
    package func close() throws(IndexStoreError) {
        do {
            try pool.writeWithoutTransaction { database in
                try database.execute(
                    sql: """
                        UPDATE state SET isOpen = 0;
                        PRAGMA wal_checkpoint(TRUNCATE);
                        """)
            }
            try pool.close()
        } catch {
            throw IndexStoreError.translate(error, path: path) as? IndexStoreError
                ?? IndexStoreError(.failed, path: path, cause: "\(error)")
        }
    }

    /// Makes the file if there is none, readable for its user alone, and checks that it may be read and written.
    ///
    /// An existing file is not opened here: closing a descriptor of it would drop the locks that SQLite holds on it
    /// elsewhere in this process (POSIX, fcntl).
    private static func prepareFile(_ path: String) throws(IndexStoreError) {
        var status = stat()
        if stat(path, &status) != 0 {
            guard errno == ENOENT else { throw .system(errno, path: path) }
            let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw .system(errno, path: path) }
            Glibc.close(descriptor)
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw IndexStoreError(.cannotOpen, path: path, cause: "it is not a regular file")
        }
        guard access(path, R_OK | W_OK) == 0 else { throw .system(errno, path: path) }
    }

    /// Refuses a database that another program wrote, before tables are added to it.
    ///
    /// The list of migrations comes to be before the first of them marks the file as ours: a crash or a full disk between the two leaves
    /// it alone there, and empty.
    private static func checkOwner(_ database: Database, path: String) throws {
        let tables = try RawStatement(
            database, "SELECT count(*) FROM sqlite_master WHERE tbl_name <> 'grdb_migrations'")
        let tableCount = try tables.first { $0.integer(0) } ?? 0
        let identifier = try RawStatement(database, "PRAGMA application_id")
        let applicationID = try identifier.first { $0.integer(0) } ?? 0
        if tableCount > 0, applicationID != Int64(Schema.applicationID) {
            throw IndexStoreError(.corrupt, path: path, cause: "it is not a synctrain index")
        }
    }

    /// Notes that the file is open, durably, and lets sequences jump if it was not closed in order: announcements that
    /// others have may have been lost with the last moments of the log, and no sequence may mean two things.
    ///
    /// A file that was put back out of a backup goes on under other index ids, and raises another counter in versions: others have heard
    /// of more than it knows, under sequences and counters that it would give a second time.
    ///
    /// - Returns: whose counter this device raises; nil for its own.
    private static func markOpen(_ database: Database, birth: Int64, _ newIndexID: () -> IndexID) throws -> ShortID? {
        try database.execute(sql: "PRAGMA synchronous = FULL")
        try database.inTransaction {
            let (isOpen, known) =
                try RawStatement(database, "SELECT isOpen, birth FROM state").first { ($0.integer(0), $0.integer(1)) }
                ?? (0, 0)
            if isOpen != 0 { try database.execute(sql: "UPDATE folder SET sequence = sequence + \(sequenceJump)") }
            if birth != 0, known != 0, birth != known {
                try renewIndexes(database, newIndexID)
                let update = try RawStatement(database, "UPDATE state SET author = ?1")
                try update.bind(1, Int64(bitPattern: newIndexID().rawValue))
                try update.run()
            }
            try KeepStanding.restart(database)
            try database.execute(sql: "UPDATE state SET isOpen = 1, birth = \(birth == 0 ? known : birth)")
            return .commit
        }
        try database.execute(sql: "PRAGMA synchronous = NORMAL")
        let author = try RawStatement(database, "SELECT author FROM state").first { $0.integer(0) } ?? 0
        return author == 0 ? nil : ShortID(rawValue: UInt64(bitPattern: author))
    }

    private static func renewIndexes(_ database: Database, _ newIndexID: () -> IndexID) throws {
        let select = try RawStatement(database, "SELECT number FROM folder ORDER BY number")
        var numbers: [Int64] = []
        while try select.step() { numbers.append(select.integer(0)) }
        for number in numbers {
            let update = try RawStatement(database, "UPDATE folder SET indexID = ?2 WHERE number = ?1")
            try update.bind(1, number)
            try update.bind(2, Int64(bitPattern: newIndexID().rawValue))
            try update.run()
        }
    }

    /// Goes to the last row of each large table: a few pages, whatever the size, that show a file cut short or a
    /// damaged root. Damage elsewhere shows as `corrupt` from the call that meets it.
    private static func probe(_ database: Database) throws {
        for (table, key) in [
            ("folder", "number"), ("announcer", "number"), ("entry", "id"), ("aggregate", "entry"),
            ("announced", "entry"), ("own", "folder"), ("blockList", "id"), ("blockListData", "id"),
            ("local", "entry"), ("localBlock", "hash"),
        ] {
            _ = try RawStatement(database, "SELECT * FROM \(table) ORDER BY \(key) DESC LIMIT 1").first { _ in }
        }
        let byName = "SELECT id FROM entry INDEXED BY entryByName ORDER BY parent DESC, name DESC LIMIT 1"
        _ = try RawStatement(database, byName).first { _ in }
    }

    /// Makes all that was written before survive a loss of power, which `write` alone does not promise.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. A loss of power may still undo what was
    ///   written before.
    package func makeDurable() async throws {
        try await translating {
            if blocksCaller {
                try blockingCaller { try pool.writeWithoutTransaction(Self.makeDurable) }
            } else {
                try await pool.writeWithoutTransaction(Self.makeDurable)
            }
        }
    }

    private static func makeDurable(_ database: Database) throws {
        try database.execute(sql: "PRAGMA synchronous = FULL")
        // Where that fails, what is written later is only slower.
        defer { try? database.execute(sql: "PRAGMA synchronous = NORMAL") }
        // A transaction that writes makes the whole log durable when it ends.
        try database.inTransaction {
            try database.execute(sql: "UPDATE state SET isOpen = 1")
            return .commit
        }
    }

    func write<Result: Sendable>(_ body: @Sendable (Database) throws -> Result) async throws -> Result {
        defer { writes.add() }
        return try await translating {
            blocksCaller ? try blockingCaller { try pool.write(body) } : try await pool.write(body)
        }
    }

    /// As `write`, also in a task that was cancelled.
    func writeRegardless<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        defer { writes.add() }
        return try await translating {
            if blocksCaller { return try writeHere(body) }
            return try await withCheckedThrowingContinuation { continuation in
                pool.asyncWrite(body) { _, result in continuation.resume(with: result) }
            }
        }
    }

    func read<Result: Sendable>(_ body: @Sendable (Database) throws -> Result) async throws -> Result {
        try await translating {
            blocksCaller ? try blockingCaller { try pool.read(body) } : try await pool.read(body)
        }
    }

    /// As `read`, also in a task that was cancelled.
    func readRegardless<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await translating {
            if blocksCaller { return try blockingCaller { try pool.read(body) } }
            return try await withCheckedThrowingContinuation { continuation in
                pool.asyncRead { database in
                    continuation.resume(with: Swift.Result { try body(try database.get()) })
                }
            }
        }
    }

    /// As `read`, for a caller whose thread may wait.
    func readNow<Result>(_ body: (Database) throws -> Result) throws -> Result {
        do {
            return try pool.read(body)
        } catch {
            throw IndexStoreError.translate(error, path: path)
        }
    }

    private func writeHere<Result>(_ body: (Database) throws -> Result) throws -> Result { try pool.write(body) }

    private func translating<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            throw IndexStoreError.translate(error, path: path)
        }
    }

    /// Not asynchronous, so that `body` calls what blocks; nothing is begun in a cancelled task.
    private func blockingCaller<Result>(_ body: () throws -> Result) throws -> Result {
        try Task.checkCancellation()
        return try body()
    }
}
