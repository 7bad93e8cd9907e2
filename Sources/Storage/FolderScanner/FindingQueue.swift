import Arithmetic
import FileAccess

/// Puts findings in order while files are still being read, and hands them on in batches.
///
/// Bounded: so many findings wait behind a file that is being read, so many files are being read, and a batch is
/// handed on when it is full. Where batches end depends on what was found alone, not on which thread was faster.
final class FindingQueue {
    private enum Slot {
        case finding(Finding)
        case reading(FileReading, KnownEntry?, canCompare: Bool)
    }

    /// Slots that wait; at this many, half of them are waited for.
    private static let slotLimit = 128
    /// Blocks of files that are being read.
    private static let blockLimit = 1 << 16

    private let threads: BlockingThreads
    private let options: ScanOptions
    /// Whether the permissions of what is at a path count for nothing.
    private let ignoresPermissions: (String) -> Bool
    /// Throws if the root is no longer where it was.
    private let checkRoot: () async throws -> Void
    private let deliver: @Sendable (ScanBatch) async throws -> Void
    private(set) var report = ScanReport()

    /// From `first` on.
    private var slots: [Slot] = []
    private var first = 0
    private var waitingBlocks = 0

    private var batch: [Finding] = []
    private var batchBlocks = 0
    private var batchBytes: Int64 = 0
    private var isDeletionInBatch = false

    init(
        threads: BlockingThreads, options: ScanOptions, ignoresPermissions: ((String) -> Bool)? = nil,
        checkRoot: @escaping () async throws -> Void,
        deliver: @escaping @Sendable (ScanBatch) async throws -> Void
    ) {
        self.threads = threads
        self.options = options
        self.ignoresPermissions = ignoresPermissions ?? { _ in options.ignoresPermissions }
        self.checkRoot = checkRoot
        self.deliver = deliver
    }

    func append(_ finding: Finding) async throws {
        guard first < slots.count else { return try await add(finding) }
        try await append(.finding(finding))
    }

    /// Has the file read; if its contents are those of `known`, that is said instead of giving them.
    func append(_ reading: FileReading, known: KnownEntry?, canCompare: Bool) async throws {
        let threads = threads
        try threads.enqueue { buffer in reading.read(buffer, helpedBy: threads) }
        waitingBlocks += reading.expectedBlockCount
        try await append(.reading(reading, known, canCompare: canCompare))
    }

    /// Waits for everything that is being read and hands on the rest.
    func finish() async throws {
        while first < slots.count { try await takeFirst() }
        try await flush()
    }

    private func append(_ slot: Slot) async throws {
        slots.append(slot)
        guard slots.count - first >= Self.slotLimit || waitingBlocks > Self.blockLimit else { return }
        // When the one in the middle is done, those before it mostly are, and this task has waited only once.
        if case .reading(let reading, _, _) = slots[first + (slots.count - first) / 2] { _ = await reading.outcome() }
        while slots.count - first > Self.slotLimit / 2 || waitingBlocks > Self.blockLimit / 2 { try await takeFirst() }
    }

    private func takeFirst() async throws {
        let slot = slots[first]
        first += 1
        if first == slots.count || first == Self.slotLimit {
            slots.removeFirst(first)
            first = 0
        }
        switch slot {
        case .finding(let finding): try await add(finding)
        case .reading(let reading, let known, let canCompare):
            if batchBytes.addingClamped(reading.expectedByteCount) > options.batch.bytes { try await flush() }
            let outcome = await reading.outcome()
            waitingBlocks -= reading.expectedBlockCount
            try await add(finding(of: outcome, reading.name, known, canCompare: canCompare))
            batchBytes.addClamped(reading.expectedByteCount)
        }
    }

    private func finding(
        of outcome: FileReading.Outcome, _ name: String, _ known: KnownEntry?, canCompare: Bool
    ) throws -> Finding {
        switch outcome {
        case .cancelled: throw CancellationError()
        case .problem(let problem): return .problem(problem)
        case .contents(let contents, let status, let attributes):
            report.filesHashed += 1
            report.bytesHashed += contents.size
            if status.changed == nil { report.unsettled += 1 }
            guard canCompare, let known,
                let comparison = Comparison(
                    contents: contents, status: status, with: known,
                    ignoringPermissions: ignoresPermissions(name), attributes: attributes)
            else {
                return .changed(
                    ScannedEntry(
                        name: name, contents: .file(contents), status: status, known: known, attributes: attributes))
            }
            return comparison == .metadata ? .metadata(known, status, attributes) : .status(known, status)
        }
    }

    private func add(_ finding: Finding) async throws {
        if batchBlocks + finding.blockCount > options.batch.blocks { try await flush() }
        batch.append(finding)
        batchBlocks += finding.blockCount
        report.count(finding)
        if case .gone = finding { isDeletionInBatch = true }
        if batch.count >= options.batch.findings { try await flush() }
    }

    private func flush() async throws {
        guard !batch.isEmpty else { return }
        // A folder that was unmounted or moved away looks as if everything in it had been deleted.
        if isDeletionInBatch { try await checkRoot() }
        try Task.checkCancellation()
        let full = ScanBatch(findings: batch)
        batch = []
        batchBlocks = 0
        batchBytes = 0
        isDeletionInBatch = false
        try await deliver(full)
    }

    /// Counts of what the walk saw, which it keeps itself.
    func countDirectory() { report.directoriesOpened += 1 }

    func countEntry(isDirectory: Bool) {
        report.entriesSeen += 1
        if isDirectory { report.directoriesSeen += 1 }
    }
}
