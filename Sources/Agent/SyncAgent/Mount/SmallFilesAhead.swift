import AgentContext
import AsyncTools
import BlockExchange
import Cryptography
import Fetching
import FolderSync
import IndexStore
import MountRules
import NIOCore
import Synchronization

/// Gets small files before the program of a mount opens them, as `ReadingAhead` decides: many round trips at once instead of one
/// after the other. A failure is nothing but a file less: the program that reads it finds out why.
final class SmallFilesAhead: Sendable {
    /// How many files are asked for at the same time.
    private static let requestLimit = 64
    /// How long an answer may take. Programs that wait for the file ask for it themselves then.
    private static let patience = Duration.seconds(5)
    private static let pageLimit = 256

    private struct State {
        var rule = ReadingAhead()
        var underWay: [SHA256Digest: Task<ByteBuffer?, Never>] = [:]
        var tasks: [Int: Task<Void, Never>] = [:]
        var nextTask = 0
        var isEnded = false
    }

    private let folder: FolderID
    private let listing: MountListing
    private let index: IndexStore
    private let environment: FetchEnvironment
    private let cache: BlockCache
    private let recent: RecentBlocks
    private let places = Budget(limit: requestLimit)
    private let state = Mutex(State())

    init(listing: MountListing, cache: BlockCache, recent: RecentBlocks) {
        folder = listing.folder.id
        self.listing = listing
        index = listing.entries.index
        environment = listing.entries.fetching
        self.cache = cache
        self.recent = recent
    }

    /// Whether a file is one of those that are got ahead.
    static func isSmall(_ file: FileInfo) -> Bool {
        file.blocks.count == 1 && file.size > 0 && file.size <= ReadingAhead.fileByteLimit
    }

    /// A program reads the beginning of a small file that is not here.
    func read(_ path: String, _ allowance: ReadAllowance) {
        if allowance.isSpent() { return }
        let (directory, name) = Self.split(path)
        let now = environment.time.monotonic()
        state.withLock { state in
            guard !state.isEnded, let question = state.rule.read(name, in: directory, at: now) else { return }
            state.nextTask &+= 1
            let number = state.nextTask
            state.tasks[number] = Task {
                await self.answer(question, allowance)
                self.state.withLock { $0.tasks[number] = nil }
            }
        }
    }

    /// The block, if it is on its way and comes in time; nil where the reader has to ask for it.
    func block(_ hash: SHA256Digest) async -> ByteBuffer? {
        await state.withLock { $0.underWay[hash] }?.value
    }

    /// Cancels what is under way.
    func end() {
        let state = state.withLock { state in
            defer { (state.tasks, state.underWay) = ([:], [:]) }
            state.isEnded = true
            return state
        }
        for task in state.tasks.values { task.cancel() }
        for task in state.underWay.values { task.cancel() }
    }

    private static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", path) }
        return (String(path[..<slash]), String(path[path.utf8.index(after: slash)...]))
    }

    // MARK: listing

    private func answer(_ question: ReadingAhead.Question, _ allowance: ReadAllowance) async {
        do {
            guard
                let page = try await listing.page(question.directory, after: question.after, limit: Self.pageLimit)
            else { return state.withLock { $0.rule.failed(question) } }
            let candidates = page.entries.filter { entry in
                entry.kind == .file && !entry.isHere && entry.size > 0 && entry.size <= ReadingAhead.fileByteLimit
            }
            let listed = ReadingAhead.Listing(
                candidates: candidates.map { .init(name: $0.name, size: $0.size) }, last: page.entries.last?.name,
                isAtEnd: page.isLast)
            let now = environment.time.monotonic()
            for name in state.withLock({ $0.rule.listed(question, listed, at: now) }) {
                try await get(question.directory.isEmpty ? name : question.directory + "/" + name, allowance)
            }
        } catch {
            state.withLock { $0.rule.failed(question) }
        }
    }

    // MARK: files

    /// Begins to get a file, unless its block is here or on its way.
    private func get(_ path: String, _ allowance: ReadAllowance) async throws {
        guard let file = try await index.file(folder, path), Self.isSmall(file), let block = file.blocks.first,
            recent.block(block.hash) == nil, !cache.contains(block.hash, of: [folder])
        else { return }
        let holders = try await index.global(folder, path)?.holders ?? []
        state.withLock { state in
            guard !state.isEnded, state.underWay[block.hash] == nil else { return }
            state.underWay[block.hash] = Task {
                let bytes = await self.request(block, of: file, holders)
                if let bytes { allowance.spend(Int64(bytes.readableBytes)) }
                self.state.withLock { $0.underWay[block.hash] = nil }
                return bytes
            }
        }
    }

    /// Asks one connected device; slow links are for what a program waits for.
    private func request(_ block: BlockInfo, of file: FileInfo, _ holders: [DeviceID]) async -> ByteBuffer? {
        do {
            return try await places.withUnits(1) {
                let sources = environment.sources(of: folder, holders, for: .kept(byteCount: file.size)).permitted
                guard let (holder, source) = sources.first(where: { !$0.value.kind.isSlow && $0.value.isOpen })
                else { return nil }
                let request = BlockRequest(
                    folder: folder, name: file.name, offset: block.offset, size: block.size, hash: block.hash,
                    weakHash: block.weakHash, blockIndex: 0)
                let budget = environment.budget
                let bytes = try await environment.time.clock.within(Self.patience) {
                    try await budget.withUnits(Int(block.size), of: holder) {
                        try await source.request(request, isBulk: true)
                    }
                }
                let (cache, recent, folder) = (cache, recent, folder)
                return try await environment.threads.runIfActive {
                    guard bytes.readableBytes == Int(block.size),
                        bytes.withUnsafeReadableBytes({ SHA256.digest($0) }) == block.hash
                    else { return nil }
                    recent.keep(bytes, block.hash)
                    cache.keep(bytes, hash: block.hash, of: folder)
                    return bytes
                }
            }
        } catch {
            return nil
        }
    }
}
