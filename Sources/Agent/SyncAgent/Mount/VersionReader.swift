import AgentContext
import AsyncTools
import BlockExchange
import Fetching
import MountProtocol
import MountRules
import NIOCore
import SyncDecisions
import Synchronization

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

    /// Streams that are kept for readers who come back to them: players read in two places, archivers in three.
    static let streamLimit = 4
    /// Bytes that one stream may have under way or in memory ahead of its reader.
    private static let readAheadBytes = 16 << 20
    /// A read so far ahead of a stream is the stream's: the kernel's reads overtake each other.
    private static let reachBytes = 1 << 20
    /// Bytes that a stream delivers before they are wanted: the reader finds them in memory. More is fetched in vain by players that
    /// seek.
    private static let deliveredAheadBytes = 512 << 10
    /// The same for readers that have read much in order; see `StreamProgress`.
    private static let mostDeliveredAheadBytes = 8 << 20

    private struct Stream {
        let number: Int
        let gate: StreamGate
        var task: Task<Void, Never>?
        var lastUse: Int
    }

    private struct Waiter {
        var block: Int
        var stream: Int
        var since: MonotonicTime
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
    /// Those of the streams, for readers that find their blocks in memory.
    private let gates = Mutex<[Int: StreamGate]>([:])
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

    /// The same as `read` where all of it is in memory; nil if not. A program that reads a block in parts waits for the first part only.
    nonisolated func readNow(_ offset: Int64, _ count: Int) -> [UInt8]? {
        // That the beginning of a small file is read has others fetched.
        guard let range = range(offset, count), offset > 0 || !SmallFilesAhead.isSmall(file) else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(count)
        for index in indices(range.lowerBound, range.upperBound) {
            guard let bytes = recent.block(file.blocks[index].hash),
                Self.add(bytes, of: file.blocks[index], range, to: &result)
            else { return nil }
            reached(index)
        }
        return result
    }

    /// A reader found a block in memory.
    private nonisolated func reached(_ index: Int) {
        for gate in gates.withLock({ Array($0.values) }) { gate.change { $0.reached(index) } }
    }

    /// The bytes there are in the range, verified; fewer only where the file ends.
    func read(_ offset: Int64, _ count: Int) async throws -> [UInt8] {
        guard let range = range(offset, count) else { return [] }
        if offset == 0, SmallFilesAhead.isSmall(file) { ahead.read(file.name, allowance) }
        var result: [UInt8] = []
        result.reserveCapacity(count)
        for index in indices(range.lowerBound, range.upperBound) {
            let bytes = try await block(index)
            guard Self.add(bytes, of: file.blocks[index], range, to: &result) else { throw MountFailure.unreadable }
        }
        return result
    }

    /// The offsets of the first and the last byte that there are; nil for none.
    private nonisolated func range(_ offset: Int64, _ count: Int) -> ClosedRange<Int64>? {
        guard count > 0, offset >= 0, offset < file.size else { return nil }
        // bounded: both are from zero on, and the count is at most a MiB
        let last = min(offset.addingReportingOverflow(Int64(count)).partialValue, file.size) - 1
        guard last >= offset else { return nil }
        // bounded: both are from zero on, and below the file's size
        return offset...last
    }

    /// Adds what is in the range of a block's bytes. False if there are fewer than its size says.
    private static func add(
        _ bytes: ByteBuffer, of block: BlockInfo, _ range: ClosedRange<Int64>, to result: inout [UInt8]
    ) -> Bool {
        let from = max(range.lowerBound.subtractingReportingOverflow(block.offset).partialValue, 0)
        let through = min(
            range.upperBound.subtractingReportingOverflow(block.offset).partialValue, Int64(bytes.readableBytes - 1))
        guard through >= from else { return false }
        // bounded: from zero on, and below the count of the block's bytes
        bytes.withUnsafeReadableBytes { result.append(contentsOf: $0[Int(from)...Int(through)]) }
        return true
    }

    /// Cancels what is under way: nobody reads it any more.
    func end() {
        isEnded = true
        watch?.cancel()
        for stream in streams.values { stop(stream) }
        streams = [:]
        gates.withLock { $0 = [:] }
        for waiter in waiters.values { waiter.continuation.resume(throwing: CancellationError()) }
        waiters = [:]
    }

    /// The blocks of a range; by their usual size where it holds, which a search through all would be slow for.
    private nonisolated func indices(_ first: Int64, _ last: Int64) -> [Int] {
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
        if let bytes = recent.block(hash) {
            reached(index)
            return bytes
        }
        if file.blocks.count == 1, let bytes = await ahead.block(hash) { return bytes }
        guard !isEnded else { throw CancellationError() }
        if allowance.isSpent(), !cache.contains(hash, of: [folder]) { throw MountFailure.overBudget }
        if let stream = stream(reaching: index) {
            return try await wait(for: index, of: stream)
        }
        guard let holders = try await holders() ?? (lastHolders.isEmpty ? nil : lastHolders) else {
            throw MountFailure.stale
        }
        lastHolders = holders
        let isCached = cache.contains(hash, of: [folder])
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
        return streams.values.map { (stream: $0, next: $0.gate.next) }
            .filter { index >= $0.next && index &- $0.next <= reach }.max { $0.next < $1.next }?.stream
    }

    private func wait(for index: Int, of stream: Stream) async throws -> ByteBuffer {
        nextNumber &+= 1
        let number = nextNumber
        streams[stream.number]?.lastUse = number
        let now = environment.time.monotonic()
        if waiters.isEmpty { lastArrival = max(lastArrival, now) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                waiters[number] = Waiter(block: index, stream: stream.number, since: now, continuation: continuation)
                stream.gate.change { $0.awaited(index) }
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
        endIdleStreams()
        nextNumber &+= 1
        let blockSize = max(1, file.effectiveBlockSize)
        let progress = StreamProgress(
            first: index, limit: Self.deliveredAheadBytes / blockSize, most: Self.mostDeliveredAheadBytes / blockSize)
        let gate = StreamGate(progress)
        var stream = Stream(number: nextNumber, gate: gate, lastUse: nextNumber)
        let (file, folder, cache, transfers, number) = (file, folder, cache, transfers, stream.number)
        let (spend, succeeded, version) = (allowance.spend, breaker.succeeded, version)
        let limit = max(2, Self.readAheadBytes / blockSize)
        let environment = environment
        stream.task = Task {
            let transfer = transfers.begin(folder: folder, path: file.name, bytesTotal: file.size)
            defer { transfers.end(transfer) }
            let fetch = BlockFetch(
                folder: folder, file: file, holders: holders, environment: environment,
                store: { block, bytes in cache.keep(bytes, hash: file.blocks[block].hash, of: folder) },
                came: { count, holder in
                    // A block of this disk says nothing of the devices that have the others.
                    succeeded(version)
                    spend(count)
                    transfers.came(transfer, count, from: holder)
                    transfers.progressed(transfer, by: count, from: holder)
                })
            let deliver: @Sendable (Int, ByteBuffer) async throws -> MonotonicTime? = { block, bytes in
                let since = try await self.delivered(block, bytes, number)
                if block &+ 1 < file.blocks.count { await gate.wait() }
                try Task.checkCancellation()
                return since
            }
            do {
                try await fetch.runAhead(
                    Array(index..<file.blocks.count), readAhead: ReadAhead(limit: limit), deliver: deliver)
                self.finished(number, CancellationError())
            } catch {
                self.finished(number, error)
            }
        }
        streams[number] = stream
        gates.withLock { $0[number] = gate }
        return stream
    }

    /// Makes place for another stream. One that somebody waits for goes on: asked again, it would ask for its block again and end another
    /// one. So there are more than the limit where more reads wait at once, which the connection bounds.
    private func endIdleStreams() {
        let awaited = Set(waiters.values.map(\.stream))
        while streams.count >= Self.streamLimit,
            let oldest = streams.values.filter({ !awaited.contains($0.number) }).min(by: { $0.lastUse < $1.lastUse })
        {
            stop(oldest)
            remove(oldest.number)
        }
    }

    /// How many streams there are.
    var streamCount: Int { streams.count }

    @discardableResult
    private func remove(_ stream: Int) -> Bool {
        gates.withLock { $0[stream] = nil }
        return streams.removeValue(forKey: stream) != nil
    }

    /// Hands a block to those who wait for it, and says since when.
    private func delivered(_ index: Int, _ bytes: ByteBuffer, _ number: Int) throws -> MonotonicTime? {
        try Task.checkCancellation()
        recent.keep(bytes, file.blocks[index].hash)
        lastArrival = environment.time.monotonic()
        guard let stream = streams[number] else { throw CancellationError() }
        stream.gate.change { $0.delivered(index) }
        var since: MonotonicTime?
        for (key, waiter) in waiters where waiter.block == index {
            waiters[key] = nil
            since = min(since ?? waiter.since, waiter.since)
            waiter.continuation.resume(returning: bytes)
        }
        if waiters.isEmpty { stopWatch() }
        return since
    }

    private func finished(_ number: Int, _ error: any Error) {
        guard remove(number) else { return }
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
        stream.gate.stop()
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
