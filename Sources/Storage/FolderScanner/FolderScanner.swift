import FileAccess
import Selection

/// Finds out how a folder on the disk differs from what the index says of it.
///
/// Opens only directories that something selected may be in, each from the handle of the one it is in, follows no link,
/// and reads only files whose status shows that their contents may have changed. Memory is bounded by the names of the
/// directories on the way down to one, not by the folder. Findings come in an order that depends on the disk, the index
/// and the selection alone.
package struct FolderScanner: Sendable {
    private let root: RootDirectory
    private let selection: Selection
    private let known: any KnownEntries
    private let options: ScanOptions

    package init(
        root: RootDirectory, selection: Selection, known: any KnownEntries, options: ScanOptions = ScanOptions()
    ) {
        self.root = root
        self.selection = selection
        self.known = known
        self.options = options
    }

    /// Scans the whole folder, or what is at and below `subtrees`, whether it is there or gone.
    ///
    /// A directory above one of `subtrees` is reported as well if it is new to the index and something below it is kept.
    ///
    /// - Parameter deliver: Gets the findings, one batch after the other; the scan goes on when it returns, and ends
    ///   with what it throws.
    /// - Throws: `ScanError`; `CancellationError`, soon after the task is cancelled; what `deliver` and the index throw.
    ///   Deletions are delivered only after the root was seen to be in its place.
    package func scan(
        _ subtrees: [RelativePath]? = nil, deliver: @escaping @Sendable (ScanBatch) async throws -> Void
    ) async throws -> ScanReport {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            try await withThreads(cancellation) { disk, hashing in
                let queue = FindingQueue(
                    threads: hashing, options: options,
                    ignoresPermissions: { options.ignoresPermissions(at: $0, in: root) },
                    checkRoot: { try await checkRoot(disk) }, deliver: deliver)
                let walk = Walk(
                    root: root, selection: selection, index: known, options: options, disk: disk, queue: queue,
                    cancellation: cancellation)
                try await checkRoot(disk)
                try await walk.run(subtrees.map(Branch.tree))
                try await queue.finish()
                try await checkRoot(disk)
                return queue.report
            }
        } onCancel: {
            cancellation.request()
        }
    }

    /// Lists what lies in the folder on this disk and is not kept.
    ///
    /// Hashes nothing. A directory comes after what is in it, and only if nothing in it is kept.
    /// The folder's marker, ignore file and old versions and temporary files are not listed, nor are names that no
    /// device can sync.
    ///
    /// - Parameters:
    ///   - opens: Whether a directory is worth opening, for who knows that there is nothing of interest in it.
    ///   - deliver: Gets the entries, one batch after the other.
    /// - Throws: As `scan` does.
    package func extraneous(
        opening opens: @escaping @Sendable (String) -> Bool = { _ in true },
        deliver: @escaping @Sendable (ExtraneousBatch) async throws -> Void
    ) async throws {
        let cancellation = Cancellation()
        try await withThreads(cancellation) { disk, _ in
            let walk = ExtraneousWalk(
                root: root, selection: selection, disk: disk, limit: options.batch.findings, opens: opens, deliver)
            try await checkRoot(disk)
            try await walk.run()
            try await checkRoot(disk)
        }
    }

    /// Runs `body` with a thread for looking at directories and those for reading, none of which outlives it.
    private func withThreads<Value>(
        _ cancellation: Cancellation,
        _ body: (_ disk: BlockingThreads, _ hashing: BlockingThreads) async throws -> Value
    ) async throws -> Value {
        let disk: BlockingThreads
        let hashing: BlockingThreads
        switch options.workers {
        case .callingTask:
            disk = BlockingThreads(count: 0, bufferByteCount: 0)
            hashing = BlockingThreads(count: 0, bufferByteCount: FileReading.bufferByteCount)
        case .threads(let count):
            disk = BlockingThreads(count: 1, bufferByteCount: 0)
            hashing = BlockingThreads(count: max(1, min(count, 256)), bufferByteCount: FileReading.bufferByteCount)
        }
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(disk, hashing))
        } catch {
            cancellation.request()
            result = .failure(error is NoThread ? ScanError(.noThread, path: root.path) : error)
        }
        await hashing.stop()
        await disk.stop()
        return try result.get()
    }

    private func checkRoot(_ disk: BlockingThreads) async throws {
        let root = root
        guard try await disk.run({ root.isInPlace }) else { throw ScanError(.rootNotInPlace, path: root.path) }
    }
}
