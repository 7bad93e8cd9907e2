import AgentContext
import AsyncTools
import BlockExchange
import Fetching
import MountProtocol
import MountRules
import NIOCore
import SyncDecisions

/// What the program that reads may have downloaded.
struct ReadAllowance: Sendable {
    var isSpent: @Sendable () -> Bool
    /// So many bytes came from other devices.
    var spend: @Sendable (Int64) -> Void
}

/// Reads one version of a file that is not here, for one open file: blocks come in order from where the program reads, some ahead
/// of it; a jump begins another stream.
actor VersionReader {
    /// What is known of reads that failed.
    struct Gate: Sendable {
        var objection: @Sendable (_ version: UInt64, _ hasHolder: Bool, _ now: MonotonicTime) -> MountFailure?
        var failed: @Sendable (_ version: UInt64, MountFailure, _ now: MonotonicTime) -> Void
        var succeeded: @Sendable (_ version: UInt64) -> Void
    }

    /// Players read in two places, archivers in three.
    private static let streamLimit = 4
    /// Bytes that one stream may have under way or in memory ahead of its reader.
    private static let readAheadBytes = 16 << 20
    /// A read so far ahead of a stream is the stream's: the kernel's reads overtake each other.
    private static let reachBytes = 1 << 20

    private final class Stream {
        let number: Int
        /// The block that it delivers next.
        var next: Int
        /// Blocks before this are wanted.
        var wantedEnd: Int
        var task: Task<Void, Never>?
        var gate: CheckedContinuation<Void, Never>?
        var lastUse: Int

        init(number: Int, next: Int) {
            self.number = number
            self.next = next
            wantedEnd = next &+ 1
            lastUse = number
        }
    }

    private struct Waiter {
        var block: Int
        var stream: Int
        var continuation: CheckedContinuation<ByteBuffer, any Error>
    }

    private let folder: FolderID
    private let file: FileInfo
    private let version: UInt64
    private let environment: FetchEnvironment
    /// How long a read waits for the next block.
    private let patience: Duration
    /// Who has the version now; nil if it is not the newest any more.
    private let holders: @Sendable () async throws -> [DeviceID]?
    private let recent: RecentBlocks
    private let ahead: SmallFilesAhead
    private let cache: BlockCache
    private let transfers: TransferRegistry
    private let breaker: Gate
    private let allowance: ReadAllowance
    private var streams: [Int: Stream] = [:]
    private var waiters: [Int: Waiter] = [:]
    private var nextNumber = 0
    private var lastArrival: MonotonicTime
    private var watch: Task<Void, Never>?
    private var lastHolders: [DeviceID] = []
    private var isEnded = false

    init(
        folder: FolderID, file: FileInfo, version: UInt64, environment: FetchEnvironment, patience: Duration,
        holders: @escaping @Sendable () async throws -> [DeviceID]?, recent: RecentBlocks, ahead: SmallFilesAhead,
        cache: BlockCache, transfers: TransferRegistry, breaker: Gate, allowance: ReadAllowance
    ) {
        self.folder = folder
        self.file = file
        self.version = version
        self.environment = environment
        self.patience = patience
        self.holders = holders
        self.recent = recent
        self.ahead = ahead
        self.cache = cache
        self.transfers = transfers
        self.breaker = breaker
        self.allowance = allowance
        lastArrival = environment.time.monotonic()
    }

    /// The bytes there are in the range, verified; fewer only where the file ends.
    func read(_ offset: Int64, _ count: Int) async throws -> [UInt8] {
        guard count > 0, offset >= 0, offset < file.size else { return [] }
        if offset == 0, SmallFilesAhead.isSmall(file) { ahead.read(file.name, allowance) }
        // bounded: both are from zero on, and the count is at most a MiB
        let last = min(offset.addingReportingOverflow(Int64(count)).partialValue, file.size) - 1
        guard last >= offset else { return [] }
        var result: [UInt8] = []
        result.reserveCapacity(count)
        for index in indices(offset, last) {
            let block = file.blocks[index]
            let bytes = try await self.block(index)
            let from = max(offset.subtractingReportingOverflow(block.offset).partialValue, 0)
            let through = min(
                last.subtractingReportingOverflow(block.offset).partialValue, Int64(bytes.readableBytes - 1))
            guard through >= from,
                let part = bytes.getBytes(at: bytes.readerIndex + Int(from), length: Int(through - from) + 1)
            else { throw MountFailure.unreadable }
            result += part
        }
        return result
    }

    /// Cancels what is under way: nobody reads it any more.
    func end() {
        isEnded = true
        watch?.cancel()
        for stream in streams.values { stop(stream) }
        streams = [:]
        for waiter in waiters.values { waiter.continuation.resume(throwing: CancellationError()) }
        waiters = [:]
    }

    /// The blocks of a range; by their usual size where it holds, which a search through all would be slow for.
    private func indices(_ first: Int64, _ last: Int64) -> [Int] {
        let size = Int64(max(1, file.effectiveBlockSize))
        let (from, through) = (Int(first / size), Int(last / size))
        if through < file.blocks.count, file.blocks[from].offset <= first,
            file.blocks[through].offset <= last,
            last.subtractingReportingOverflow(file.blocks[through].offset).partialValue
                < Int64(file.blocks[through].size),
            file.blocks[from].offset == size.multipliedReportingOverflow(by: Int64(from)).partialValue
        {
            return Array(from...through)
        }
        return file.blocks(holding: first...last)
    }

    // MARK: blocks

    private func block(_ index: Int) async throws -> ByteBuffer {
        let hash = file.blocks[index].hash
        if let bytes = recent.block(hash) { return bytes }
        if file.blocks.count == 1, let bytes = await ahead.block(hash) { return bytes }
        guard !isEnded else { throw CancellationError() }
        if allowance.isSpent(), !cache.contains(hash) { throw MountFailure.overBudget }
        if let stream = stream(reaching: index) {
            return try await wait(for: index, of: stream)
        }
        guard let holders = try await holders() ?? (lastHolders.isEmpty ? nil : lastHolders) else {
            throw MountFailure.stale
        }
        lastHolders = holders
        let isCached = cache.contains(hash)
        let hasHolder = !environment.sources(of: folder, holders, for: .onDemand).permitted.isEmpty
        if !isCached, let failure = breaker.objection(version, hasHolder, environment.time.monotonic()) {
            throw failure
        }
        guard !isEnded else { throw CancellationError() }
        // Another read may have begun one meanwhile.
        return try await wait(for: index, of: stream(reaching: index) ?? begin(at: index, holders))
    }

    private func stream(reaching index: Int) -> Stream? {
        let reach = max(1, Self.reachBytes / max(1, file.effectiveBlockSize))
        return streams.values.filter { index >= $0.next && index &- $0.next <= reach }.max { $0.next < $1.next }
    }

    private func wait(for index: Int, of stream: Stream) async throws -> ByteBuffer {
        nextNumber &+= 1
        let number = nextNumber
        stream.lastUse = number
        stream.wantedEnd = max(stream.wantedEnd, index &+ 1)
        lastArrival = max(lastArrival, waiters.isEmpty ? environment.time.monotonic() : lastArrival)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                waiters[number] = Waiter(block: index, stream: stream.number, continuation: continuation)
                stream.gate?.resume()
                stream.gate = nil
                startWatch()
            }
        } onCancel: {
            Task { await self.giveUp(number) }
        }
    }

    private func giveUp(_ number: Int) {
        waiters.removeValue(forKey: number)?.continuation.resume(throwing: CancellationError())
    }

    private func begin(at index: Int, _ holders: [DeviceID]) -> Stream {
        if streams.count >= Self.streamLimit, let oldest = streams.values.min(by: { $0.lastUse < $1.lastUse }) {
            stop(oldest)
            streams[oldest.number] = nil
            fail(of: oldest.number, CancellationError())
        }
        nextNumber &+= 1
        let stream = Stream(number: nextNumber, next: index)
        streams[stream.number] = stream
        let (file, folder, cache, transfers, number) = (file, folder, cache, transfers, stream.number)
        let spend = allowance.spend
        let limit = max(2, Self.readAheadBytes / max(1, file.effectiveBlockSize))
        let environment = environment
        stream.task = Task {
            let transfer = transfers.begin(folder: folder, path: file.name, bytesTotal: file.size)
            defer { transfers.end(transfer) }
            let fetch = BlockFetch(
                folder: folder, file: file, holders: holders, environment: environment,
                store: { block, bytes in cache.keep(Array(bytes.readableBytesView), hash: file.blocks[block].hash) },
                came: { count, holder in
                    spend(count)
                    transfers.came(transfer, count, from: holder)
                    transfers.progressed(transfer, by: count, from: holder)
                })
            let deliver: @Sendable (Int, ByteBuffer) async throws -> Void = { block, bytes in
                try await self.delivered(block, bytes, number)
            }
            do {
                try await fetch.runInOrder(
                    Array(index..<file.blocks.count), readAhead: ReadAhead(limit: limit), deliver: deliver)
                self.finished(number, CancellationError())
            } catch {
                self.finished(number, error)
            }
        }
        return stream
    }

    /// Hands a block to those who wait for it, and returns when the next one is wanted.
    private func delivered(_ index: Int, _ bytes: ByteBuffer, _ number: Int) async throws {
        try Task.checkCancellation()
        recent.keep(bytes, file.blocks[index].hash)
        lastArrival = environment.time.monotonic()
        breaker.succeeded(version)
        guard let stream = streams[number] else { throw CancellationError() }
        stream.next = index &+ 1
        for (key, waiter) in waiters where waiter.block == index {
            waiters[key] = nil
            waiter.continuation.resume(returning: bytes)
        }
        if waiters.isEmpty { stopWatch() }
        while stream.wantedEnd <= stream.next, streams[number] != nil, stream.next < file.blocks.count {
            await withCheckedContinuation { stream.gate = $0 }
            try Task.checkCancellation()
        }
    }

    private func finished(_ number: Int, _ error: any Error) {
        guard streams.removeValue(forKey: number) != nil else { return }
        let failure = MountFailure(describing: error)
        if failure != .cancelled { breaker.failed(version, failure, environment.time.monotonic()) }
        fail(of: number, failure)
    }

    private func fail(of stream: Int, _ error: any Error) {
        for (key, waiter) in waiters where waiter.stream == stream {
            waiters[key] = nil
            waiter.continuation.resume(throwing: error)
        }
        if waiters.isEmpty { stopWatch() }
    }

    private func stop(_ stream: Stream) {
        stream.task?.cancel()
        stream.gate?.resume()
        stream.gate = nil
    }

    // MARK: patience

    /// Ends what waits when no block has come for the time that a program waits.
    private func startWatch() {
        guard watch == nil else { return }
        watch = Task { [clock = environment.time.clock, time = environment.time] in
            while !Task.isCancelled {
                // bounded: durations of seconds
                let rest = lastArrival + patience - time.monotonic()
                guard rest > .zero else { return runOut() }
                try? await clock.sleep(for: rest)
            }
        }
    }

    private func stopWatch() {
        watch?.cancel()
        watch = nil
    }

    private func runOut() {
        watch = nil
        for stream in streams.values where waiters.values.contains(where: { $0.stream == stream.number }) {
            stop(stream)
            finished(stream.number, MountFailure.silence)
        }
    }
}
