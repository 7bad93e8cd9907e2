import AsyncTools
import BlockExchange
import Cryptography
import Fetching
import IndexStore
import Reconciliation
import Selection

/// Asks other devices about files that are to be freed: synctrains for a promise to keep them, Syncthings for random blocks. What
/// they answer is noted in the index store, where freeing reads it. Needs no turn: a promise is a transaction of its own.
struct CopyGathering: Sendable {
    /// How long an answer may take.
    static let patience: Duration = .seconds(60)

    let folder: FolderContext

    private var store: IndexStore { folder.index.store }

    /// Asks about what is at and below each of `paths`, and about the directories above them.
    func gather(below paths: [String]) async throws {
        var devices = Respondents()
        var parents: Set<String> = []
        for path in PathSet.topmost(paths) {
            var cursor: String?
            repeat {
                let page = try await store.localDescendants(
                    of: folder.id, below: path, after: cursor, limit: FolderIndex.pageLimit, deepestFirst: true)
                try await gather(page.entries.map(\.path), &devices)
                cursor = page.next
            } while cursor != nil
            parents.insert(path)
            var end = path.utf8.endIndex
            while let slash = path.utf8[..<end].lastIndex(of: UInt8(ascii: "/")) {
                parents.insert(String(path[..<slash]))
                end = slash
            }
        }
        parents.remove("")
        try await gather(parents.sorted(), &devices)
    }

    /// Asks about these names.
    func gather(_ names: [String]) async throws {
        var devices = Respondents()
        try await gather(names, &devices)
    }

    /// Who has not answered in time is not asked again.
    private struct Respondents { var silent: Set<DeviceID> = [] }

    private func gather(_ names: [String], _ devices: inout Respondents) async throws {
        for start in stride(from: 0, to: names.count, by: FolderIndex.pageLimit) {
            try await gather(
                page: Array(names[start..<min(start + FolderIndex.pageLimit, names.count)]), &devices)
        }
    }

    // MARK: one page

    /// A name that may go if others say so.
    private struct Wanted: Sendable {
        let facts: NameFacts
        let content: KeepContent
        var words: [DeviceID: CopyRule.Word]
    }

    private func gather(page: [String], _ devices: inout Respondents) async throws {
        let counting = try await folder.copyCounting()
        var asked: Set<DeviceID> = devices.silent
        while true {
            try Task.checkCancellation()
            let wanted = try await wanted(page, counting)
            // One device after the other: who has promised enough already spares the others.
            var next: [DeviceID: [Wanted]] = [:]
            var order: [DeviceID] = []
            for item in wanted {
                let askable = counting.rule.askable(item.facts.holders, words: item.words)
                guard let device = askable.first(where: { !asked.contains($0) }) else { continue }
                if next[device] == nil { order.append(device) }
                next[device, default: []].append(item)
            }
            guard let device = order.first, let items = next[device] else { return }
            asked.insert(device)
            let hasAnswered =
                counting.rule.peers[device]?.mode == .syncthing
                ? try await verify(items, with: device) : try await ask(device, for: items)
            if !hasAnswered { devices.silent.insert(device) }
        }
    }

    /// Those of the names that would go if enough devices gave a good answer, and have not.
    private func wanted(_ names: [String], _ counting: CopyCounting) async throws -> [Wanted] {
        let plan = CopyCounting(rule: counting.rule, isPlan: true)
        let rows = try await store.keepRows(in: folder.id, names: names)
        return zip(try await folder.index.facts(names), rows).compactMap { facts, rows in
            func reason(_ counting: CopyCounting) -> Freeing.Reason? {
                Freeing.reason(
                    against: facts.localVersion, global: facts.global, copies: counting.copies(facts, rows),
                    minimumCopies: folder.settings.minimumCopies, sight: .unchanged)
            }
            guard reason(plan) == nil, reason(counting) != nil,
                let content = facts.global.flatMap({ KeepContent($0) })
            else { return nil }
            return Wanted(facts: facts, content: content, words: KeepNotes(rows).words(about: content))
        }
    }

    // MARK: promises

    /// Asks a synctrain; false if it has not answered.
    private func ask(_ device: DeviceID, for items: [Wanted]) async throws -> Bool {
        guard let source = folder.tools.fetching.sessions([device])[device] else { return false }
        for part in KeepRequest.parts(items.map { KeepRequest.Entry(name: $0.facts.name, content: $0.content) }) {
            let names = part.map(\.name)
            let mayAsk = FoundPositions()
            try await store.changeKeepNotes(in: folder.id, names: names) { position, _, notes in
                if notes.ask(device, for: part[position].content) { mayAsk.insert(position) }
            }
            let entries = mayAsk.sorted.map { part[$0] }
            guard !entries.isEmpty else { continue }
            let answer: KeepAnswer
            do {
                answer = try await source.keep(
                    KeepRequest(folder: folder.id, kind: .ask, entries: entries), within: Self.patience,
                    clock: folder.tools.time.clock)
            } catch let error where !(error is CancellationError) {
                try await store.changeKeepNotes(in: folder.id, names: entries.map(\.name)) { _, _, notes in
                    notes.gaveUp(device)
                }
                return false
            }
            // First, so that a loss of what the device promised is always noticed.
            try await store.noteHeardPromises(answer.promiseCount, of: device, in: folder.id)
            let granted = Set(answer.granted)
            try await store.changeKeepNotes(in: folder.id, names: entries.map(\.name)) { position, _, notes in
                notes.answered(device, entries[position].content, isGranted: granted.contains(position))
            }
            guard answer.isAccepted else { return false }
        }
        return true
    }

    // MARK: blocks

    /// Asks a Syncthing for random blocks; false if it has not answered.
    private func verify(_ items: [Wanted], with device: DeviceID) async throws -> Bool {
        let sources = folder.tools.fetching.sources(of: folder.id, [device], for: .onDemand).permitted
        guard let source = sources[device] else { return false }
        for item in items {
            try Task.checkCancellation()
            guard let isGood = try await verify(item, with: source) else { return false }
            try await store.changeKeepNotes(in: folder.id, names: [item.facts.name]) { _, _, notes in
                notes.verified(device, item.content, isGood: isGood)
            }
            if !isGood {
                folder.logger.warning(
                    "\(folder.tools.name(of: device)) announces \(item.facts.name) and did not give the blocks that it was asked for; scan the folder there"
                )
            }
        }
        return true
    }

    /// Whether the blocks that were asked for came; nil if the device has not answered.
    private func verify(_ item: Wanted, with source: any BlockSource) async throws -> Bool? {
        guard item.content.kind == .file, item.content.size > 0 else { return true }
        guard let global = item.facts.global, let file = try await folder.index.withBlocks(global),
            KeepContent(file) == item.content
        else { return nil }
        let random = folder.tools.time.random
        for position in BlockSample.choose(ofBlocks: file.blocks.count, random: random) {
            let block = file.blocks[position]
            let request = BlockRequest(
                folder: folder.id, name: file.name, offset: block.offset, size: block.size, hash: block.hash,
                weakHash: block.weakHash, blockIndex: Int32(clamping: position))
            do {
                let bytes = try await folder.tools.time.clock.within(Self.patience) {
                    try await source.request(request, isBulk: false)
                }
                let isRight = try await folder.onDisk {
                    bytes.readableBytes == Int(block.size)
                        && bytes.withUnsafeReadableBytes { SHA256.digest($0) } == block.hash
                }
                guard isRight else { return false }
            } catch RequestError.refused {
                return false
            } catch let error where !(error is CancellationError) {
                return nil
            }
        }
        return true
    }
}

extension KeepRequest {
    /// Cuts entries into parts that one request may have.
    static func parts(_ entries: [Entry]) -> [[Entry]] {
        var parts: [[Entry]] = []
        var byteCount = 0
        for entry in entries {
            let isFull = (parts.last?.count ?? entryLimit) >= entryLimit || byteCount + entry.byteCount > byteLimit
            if isFull {
                parts.append([])
                byteCount = 0
            }
            parts[parts.count - 1].append(entry)
            byteCount += entry.byteCount
        }
        return parts
    }
}

extension Clock where Duration == Swift.Duration {
    /// What `body` gives, if it has ended within `limit`.
    ///
    /// - Throws: what `body` does; `RequestError.linkLost` when the time is over; `CancellationError`.
    package func within<Result: Sendable>(
        _ limit: Duration, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask(operation: body)
            group.addTask {
                try await self.sleep(for: limit)
                throw RequestError.linkLost
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() else { throw CancellationError() }
            return result
        }
    }
}

extension BlockSource {
    /// Asks, and waits for the answer for so long. Throws `RequestError`, or `CancellationError`.
    func keep(
        _ request: KeepRequest, within limit: Duration, clock: any Clock<Duration>
    ) async throws -> KeepAnswer {
        try await clock.within(limit) { try await keep(request) }
    }
}
