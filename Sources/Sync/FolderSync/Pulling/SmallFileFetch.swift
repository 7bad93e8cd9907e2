import AsyncTools
import BlockExchange
import Cryptography
import Fetching
import FileAccess
import NIOCore

/// Gets many files of at most one block each, all at once, asking for them in their order: what `StagedFetch` does for
/// each of them is done here once for all, and each is asked of one device, or of two if the first is late with its
/// answer. Files that do not come this way are left to `StagedFetch`.
struct SmallFileFetch: Sendable {
    /// Files larger than this are fetched one by one: a file up to here has one block, whatever its block size.
    static let byteLimit = Int64(BlockSize.minimum)

    struct Item: Sendable {
        /// With its blocks.
        var file: FileInfo
        var path: RelativePath
        var holders: [DeviceID]
    }

    let folder: FolderID
    let root: RootDirectory
    let environment: FetchEnvironment
    /// Bytes that must stay free on the disk.
    let freeSpaceFloor: UInt64
    /// Whether each is asked for when the one before has come, so that every run with the same inputs is the same.
    let isInOrder: Bool
    /// Called with the bytes of a file as they come.
    var came: (@Sendable (_ name: String, _ byteCount: Int64, _ from: DeviceID) -> Void)?

    /// Gives each file staged, in the order of the items; nil for those that are left over. Throws `CancellationError`.
    func run(_ items: [Item]) async throws -> [StagedFile?] {
        // A block that is on this disk is not asked for; and what is left of an earlier try is worth nothing here.
        let here = await environment.blocksHere(
            items.filter { $0.file.size > 0 }.flatMap { $0.file.blocks.map(\.hash) }, folder)
        let pace = HolderPace(minimumPatience: environment.settings.minimumPatience)
        let bytes = try await withThrowingTaskGroup(of: (Int, ByteBuffer?).self) { group in
            var bytes = [ByteBuffer?](repeating: nil, count: items.count)
            for (position, item) in items.enumerated() {
                if item.file.size == 0 {
                    bytes[position] = ByteBuffer()
                    continue
                }
                guard item.file.blocks.count == 1, let block = item.file.blocks.first, !here.contains(block.hash),
                    Int64(block.size) == item.file.size
                else { continue }
                let sources = sources(for: item, position)
                if isInOrder {
                    bytes[position] = try await request(block, of: item.file, sources, pace)
                } else {
                    // At once: tasks that are only scheduled may begin in any order, and what has priority would come last.
                    group.addImmediateTask { (position, try await request(block, of: item.file, sources, pace)) }
                }
            }
            for try await (position, answer) in group { bytes[position] = answer }
            return bytes
        }
        return try await environment.threads.runIfActive { stage(items, bytes) }
    }

    private struct Source: Sendable {
        var holder: DeviceID
        var session: any BlockSource
    }

    /// The connected devices that hold a file, in the order in which they are to be asked: files are spread over them.
    private func sources(
        for item: Item, _ position: Int
    ) -> [Source] {
        let sessions = environment.sources(of: folder, item.holders, for: .kept(byteCount: item.file.size)).permitted
        let connected = item.holders.compactMap { id in sessions[id].map { Source(holder: id, session: $0) } }
        guard !connected.isEmpty else { return [] }
        let first = position % connected.count
        return Array(connected[first...] + connected[..<first])
    }

    private enum Event: Sendable {
        /// Nil for no bytes.
        case answer(ByteBuffer?)
        case timer
    }

    /// How often it is looked whether another device can be asked, while all are late.
    private static let lookLimit = 10

    /// Asks the first of `sources` that is not late; if it does not answer in time, the next one as well. Nil if no bytes
    /// come, or all are late and stay so.
    private func request(
        _ block: BlockInfo, of file: FileInfo, _ sources: [Source], _ pace: HolderPace
    ) async throws -> ByteBuffer? {
        let request = BlockRequest(
            folder: folder, name: file.name, offset: 0, size: block.size, hash: block.hash, weakHash: block.weakHash,
            blockIndex: 0)
        guard let first = sources.first(where: { !pace.isLate($0.holder) }) else { return nil }
        // Nobody else could be asked: whoever is slow is waited for, as it is with larger files.
        guard sources.count > 1 else { return try await ask(first, request, pace, pace.asked(first.holder)) }
        return try await withThrowingTaskGroup(of: Event.self) { group in
            defer { group.cancelAll() }
            let now = environment.time.monotonic
            let start = now()
            var (running, hasHedged, looks) = (1, false, 0)
            let asked = pace.asked(first.holder)
            group.addImmediateTask { .answer(try await ask(first, request, pace, asked)) }
            addTimer(for: pace.patience(with: first.holder), &group)
            while running > 0, let event = try await group.next() {
                switch event {
                case .answer(let bytes?): return bytes
                case .answer(nil): running -= 1
                case .timer where hasHedged: break
                case .timer:
                    let left = pace.patience(with: first.holder) - (now() - start)
                    // Other answers of the holder may have shown that it takes longer.
                    guard left <= .zero else {
                        addTimer(for: left, &group)
                        continue
                    }
                    pace.setLate(asked)
                    guard let second = sources.first(where: { !pace.isLate($0.holder) }) else {
                        // One of them may answer meanwhile. One whose late request was given up never does.
                        looks += 1
                        guard looks <= Self.lookLimit else { return nil }
                        addTimer(for: pace.patience(with: first.holder), &group)
                        continue
                    }
                    hasHedged = true
                    running += 1
                    let asked = pace.asked(second.holder)
                    group.addTask { .answer(try await ask(second, request, pace, asked)) }
                }
            }
            return nil
        }
    }

    private func addTimer(for time: MonotonicTime, _ group: inout ThrowingTaskGroup<Event, any Error>) {
        group.addTask { [clock = environment.time.clock] in
            try await clock.sleep(for: time)
            return .timer
        }
    }

    private func ask(
        _ source: Source, _ request: BlockRequest, _ pace: HolderPace, _ asked: HolderPace.Asked
    ) async throws -> ByteBuffer? {
        let start = environment.time.monotonic()
        do {
            // Whoever waits here for a device that answers nothing asks the next one in time, too.
            let bytes = try await environment.budget.withUnits(Int(request.size), of: source.holder) {
                try await source.session.request(request, isBulk: true)
            }
            pace.answered(asked, after: environment.time.monotonic() - start)
            came?(request.name, Int64(bytes.readableBytes), source.holder)
            return bytes
        } catch let error as CancellationError {
            throw error
        } catch {
            return nil
        }
    }

    /// Writes what came and is right.
    private func stage(_ items: [Item], _ bytes: [ByteBuffer?]) -> [StagedFile?] {
        var directories: [RelativePath?: Directory] = [:]
        return zip(items, bytes).map { item, bytes in
            guard let bytes, bytes.readableBytes == item.file.size,
                item.file.size == 0
                    || bytes.withUnsafeReadableBytes({ SHA256.digest($0) }) == item.file.blocks.first?.hash
            else { return nil }
            // What goes wrong here, or has no room, does so for `StagedFetch` as well, which says it.
            return try? stage(item, bytes, &directories)
        }
    }

    private func stage(
        _ item: Item, _ bytes: ByteBuffer, _ directories: inout [RelativePath?: Directory]
    ) throws -> StagedFile? {
        let parent = item.path.parent
        let directory: Directory
        if let known = directories[parent] {
            directory = known
        } else {
            directory = try parent.map { try root.createDirectories($0) } ?? root.directory(nil)
            directories[parent] = directory
        }
        let staged = try root.stage(item.path, in: directory, resuming: true)
        let needed = UInt64(bytes.readableBytes)
        let floor = root.spaceFloor(freeSpaceFloor)
        guard try staged.reserve(needed, above: floor, in: environment.space) == nil else { return nil }
        if item.file.size > 0 { try bytes.withUnsafeReadableBytes { try staged.write($0, at: 0) } }
        if staged.resumedByteCount > item.file.size { try staged.truncate(to: item.file.size) }
        return staged
    }
}
