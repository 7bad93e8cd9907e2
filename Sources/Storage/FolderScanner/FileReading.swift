import BlockExchange
import Cryptography
import FileAccess
import Synchronization

/// One file on its way to being hashed, by one thread or, if it is large, part by part by several.
///
/// Its status is taken before and after from the descriptor that is read: if they differ, the blocks are of no file that
/// ever was, and the outcome is `changedWhileRead`.
final class FileReading: Sendable {
    enum Outcome: Sendable {
        /// With its attributes, if they were to be read.
        case contents(FileContents, FileStatus, FileAttributes?)
        case problem(FileProblem)
        case cancelled
    }

    /// As many blocks as BEP's index entries may have.
    static let blockCountLimit = 1 << 20
    /// Read at once: what is hashed next is still in the processor's cache.
    static let bufferByteCount = 128 << 10
    /// Read by one thread in a row, so that a disk is not sent to and fro.
    static let partByteCount = 8 << 20

    /// The name beneath the folder.
    let name: String
    /// Blocks to be expected, by the size that the directory walk saw.
    let expectedBlockCount: Int
    let expectedByteCount: Int64
    private let directory: Directory
    private let entry: DirectoryEntry
    private let previousBlockSize: Int
    private let attributes: AttributeReading?
    private let now: @Sendable () -> FileTime
    private let cancellation: Cancellation

    private struct Opened {
        let file: OpenFile
        let status: FileStatus
        let readingTime: FileTime
        let blockSize: Int
        let blockCount: Int
        let blocksPerPart: Int
        let partCount: Int
    }

    private struct State {
        var nextPart = 0
        /// By part, in whichever order they are done.
        var blocks: [[BlockInfo]] = []
        var partsDone = 0
        /// What makes the rest not worth reading.
        var failure: Outcome?
        var outcome: Outcome?
        var waiter: CheckedContinuation<Outcome, Never>?
    }
    private let state = Mutex(State())

    init(
        name: String, entry: DirectoryEntry, in directory: Directory, status: FileStatus, previousBlockSize: Int,
        attributes: AttributeReading? = nil, now: @escaping @Sendable () -> FileTime, cancellation: Cancellation
    ) {
        self.name = name
        self.entry = entry
        self.directory = directory
        self.previousBlockSize = previousBlockSize
        self.attributes = attributes
        self.now = now
        self.cancellation = cancellation
        expectedByteCount = status.size
        let blockSize = Int64(BlockSize.forFile(ofSize: status.size, keeping: previousBlockSize))
        expectedBlockCount = Int(clamping: max(1, status.size / blockSize))
    }

    /// What came of it.
    func outcome() async -> Outcome {
        if let outcome = state.withLock({ $0.outcome }) { return outcome }
        return await withCheckedContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiter = continuation }
                return state.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }

    /// Reads the file in the calling thread, helped by those of `threads` that are free if it is large.
    func read(_ buffer: BlockingThreads.Buffer, helpedBy threads: BlockingThreads) {
        guard !cancellation.isRequested else { return finish(.cancelled) }
        let opened: Opened
        do throws(FileProblem) {
            opened = try open()
        } catch {
            return finish(.problem(error))
        }
        state.withLock { $0.blocks = Array(repeating: [], count: opened.partCount) }
        if opened.partCount > 1 {
            for _ in 1..<max(1, min(threads.count, opened.partCount)) {
                // Without another thread this one does it all.
                try? threads.enqueue(isNext: true) { buffer in self.readParts(of: opened, buffer) }
            }
        }
        readParts(of: opened, buffer)
    }

    private func open() throws(FileProblem) -> Opened {
        let file: OpenFile
        let status: FileStatus
        do throws(FileAccessError) {
            file = try directory.open(reading: entry)
            status = try file.status()
        } catch {
            throw problem(error)
        }
        let readingTime = now()
        let blockSize = BlockSize.forFile(ofSize: status.size, keeping: previousBlockSize)
        let (fullBlocks, rest) = status.size.quotientAndRemainder(dividingBy: Int64(blockSize))
        let blockCount = max(1, fullBlocks + (rest > 0 ? 1 : 0))
        guard blockCount <= Self.blockCountLimit else { throw FileProblem(.tooLarge, name: name) }
        let blocksPerPart = max(1, Self.partByteCount / blockSize)
        if blockCount > 1 { file.adviseSequentialReading() }
        return Opened(
            file: file, status: status, readingTime: readingTime, blockSize: blockSize, blockCount: Int(blockCount),
            blocksPerPart: blocksPerPart, partCount: (Int(blockCount) + blocksPerPart - 1) / blocksPerPart)
    }

    private func problem(_ error: FileAccessError) -> FileProblem {
        switch error.code {
        // Something else is at the name than the walk saw a moment ago.
        case .notFound, .isADirectory, .notARegularFile, .outsideRoot, .notADirectory:
            FileProblem(.changedWhileRead, name: name, cause: error)
        default: FileProblem(.unreadable, name: name, cause: error)
        }
    }

    /// Reads the parts that nobody has begun until there are no more; whoever does the last one ends it all.
    private func readParts(of opened: Opened, _ buffer: BlockingThreads.Buffer) {
        while true {
            let part: Int? = state.withLock { state in
                guard state.nextPart < opened.partCount else { return nil }
                state.nextPart += 1
                return state.nextPart - 1
            }
            guard let part else { return }
            let isWanted = state.withLock { $0.failure == nil }
            var blocks: [BlockInfo] = []
            var failure: Outcome?
            if cancellation.isRequested {
                failure = .cancelled
            } else if isWanted {
                do throws(FileProblem) {
                    if part > 0 { try checkUnchanged(opened) }
                    blocks = try readPart(part, of: opened, buffer)
                } catch {
                    failure = .problem(error)
                }
            }
            let isLast = state.withLock { state in
                state.blocks[part] = blocks
                if state.failure == nil { state.failure = failure }
                state.partsDone += 1
                return state.partsDone == opened.partCount
            }
            if isLast { close(opened) }
        }
    }

    /// Throws `changedWhileRead` if the file is not as it was opened: nothing comes of it, so the rest need not be read. Of a large
    /// file that is written all the time each scan would take as long as all of it takes, and keep the folder from all else.
    private func checkUnchanged(_ opened: Opened) throws(FileProblem) {
        let now: FileStatus
        do throws(FileAccessError) {
            now = try opened.file.status()
        } catch {
            throw problem(error)
        }
        guard now == opened.status else { throw FileProblem(.changedWhileRead, name: name) }
    }

    private func readPart(
        _ part: Int, of opened: Opened, _ buffer: BlockingThreads.Buffer
    ) throws(FileProblem) -> [BlockInfo] {
        let first = part * opened.blocksPerPart
        let end = min(first + opened.blocksPerPart, opened.blockCount)
        var blocks: [BlockInfo] = []
        blocks.reserveCapacity(end - first)
        for block in first..<end {
            let offset = Int64(block) * Int64(opened.blockSize)
            let size = Int(min(Int64(opened.blockSize), opened.status.size - offset))
            let hash = try digest(of: opened.file, from: offset, count: size, buffer)
            blocks.append(BlockInfo(offset: offset, size: Int32(size), hash: hash))
        }
        return blocks
    }

    private func digest(
        of file: OpenFile, from offset: Int64, count: Int, _ buffer: BlockingThreads.Buffer
    ) throws(FileProblem) -> SHA256Digest {
        func fill(from position: Int, _ part: BlockingThreads.Buffer) throws(FileProblem) {
            let read: Int
            do throws(FileAccessError) {
                read = try file.read(into: part, at: offset + Int64(position))
            } catch {
                throw problem(error)
            }
            guard read == part.count else { throw FileProblem(.changedWhileRead, name: name) }
        }
        guard count > buffer.count else {
            let part = BlockingThreads.Buffer(rebasing: buffer[..<count])
            if count > 0 { try fill(from: 0, part) }
            return SHA256.digest(UnsafeRawBufferPointer(part))
        }
        var hasher = SHA256Hasher()
        var position = 0
        while position < count {
            let part = BlockingThreads.Buffer(rebasing: buffer[..<min(buffer.count, count - position)])
            try fill(from: position, part)
            hasher.update(UnsafeRawBufferPointer(part))
            position += part.count
        }
        return hasher.finalize()
    }

    private func close(_ opened: Opened) {
        let (failure, parts) = state.withLock { state in
            let parts = state.blocks
            state.blocks = []
            return (state.failure, parts)
        }
        if let failure { return finish(failure) }
        // Before the last status, which tells whether they changed meanwhile.
        let attributes = attributes.map { $0.attributes(opened.file.attributes($0.access)) }
        let after: FileStatus
        do throws(FileAccessError) {
            after = try opened.file.status()
        } catch {
            return finish(.problem(problem(error)))
        }
        let blocks = parts.count == 1 ? parts[0] : Array(parts.joined())
        guard after == opened.status, let blocksHash = FileInfo.blocksHash(of: blocks) else {
            return finish(.problem(FileProblem(.changedWhileRead, name: name)))
        }
        let contents = FileContents(
            size: after.size, blockSize: opened.blockSize, blocks: blocks, blocksHash: blocksHash)
        let isSettled = !after.mayBeWrittenUnnoticed(at: opened.readingTime)
        finish(.contents(contents, isSettled ? after : after.unsettled, attributes))
    }

    private func finish(_ outcome: Outcome) {
        let waiter = state.withLock { state in
            state.outcome = outcome
            return state.waiter.take()
        }
        waiter?.resume(returning: outcome)
    }
}

/// Whether the scan is to end early; asked by the threads between parts of a file.
final class Cancellation: Sendable {
    private let isSet = Atomic(false)

    var isRequested: Bool { isSet.load(ordering: .relaxed) }

    func request() { isSet.store(true, ordering: .relaxed) }
}
