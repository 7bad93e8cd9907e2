import AgentContext
import AsyncTools
import BlockExchange
import Fetching
import FolderSync
import IndexStore
import Logging
import NIOCore
import Phrases
import Synchronization

/// What `LinkExchange` asks of the device around it.
package protocol IndexExchangeOwner: Sendable {
    /// How each folder is shared with the peer over the link now.
    func terms() -> [FolderID: IndexExchange.Terms]
    func terms(of folder: FolderID) -> IndexExchange.Terms?
    /// What is known of the indexes of each folder with open terms.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. The link ends.
    func facts(_ terms: [FolderID: IndexExchange.Terms]) async throws -> [FolderID: IndexExchange.Facts]
    /// What this device tells the peer of its folders.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. The link ends.
    func clusterConfig() async throws -> ClusterConfig
    /// The peer said what it shares; nothing of it was heeded yet.
    func heard(_ config: ClusterConfig) async
    /// Performs any action but `announce`.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. The link ends.
    func perform(_ action: IndexExchange.Action) async throws
    /// Stores what the peer announces; with `isUnnamed`, of an index whose id is not known.
    ///
    /// - Throws: `IndexStoreError` (also `diskAlmostFull`, `tooManyEntries`); `CancellationError`. The link ends.
    func store(_ batch: IndexBatch, isUnnamed: Bool) async throws
    /// A part of a folder's index is not stored.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. The link ends.
    func dropped(_ folder: FolderID) async throws
    /// A folder's index cannot be read, so changes cannot be sent to the peer; the link ends.
    func couldNotRead(_ folder: FolderID, _ error: IndexStoreError) async
    /// Where a folder's index is read from; nil if it is gone.
    func exchange(of folder: FolderID) -> FolderExchange?
}

/// Where a link's messages go.
struct LinkOutlet: Sendable {
    /// Puts a message behind all that were sent before. The future succeeds when its bytes have left.
    var send: @Sendable (OutgoingMessage) -> EventLoopFuture<Void>
    /// Ends the link; the peer is told why.
    var close: @Sendable (_ reason: Phrase) -> Void
    /// Ends the link for what the peer sent.
    var refuse: @Sendable (ProtocolError) -> Void
}

/// The exchange of indexes on one link: performs what `IndexExchange` decides, one event after the other.
final class LinkExchange: Sendable {
    /// Our own index goes out in messages of so many entries; over a slow link in smaller ones, for what else is to be
    /// sent waits behind each.
    private static let entriesPerMessage = 1000
    private static let entriesPerSlowMessage = 100

    /// One task that sends a folder's index.
    private struct Pump {
        var indexID: IndexID
        let wake = Signal()
        var hasFailed = false
    }

    private struct State {
        var machine: IndexExchange
        var hasBegun = false
        /// How often something was performed that either side said of what it shares.
        var performedCount = 0
        var pumps: [FolderID: Pump] = [:]
    }

    private let state: Mutex<State>
    private let inbox = IndexInbox()
    /// The peer was told what is shared with it.
    private let begun = Signal()
    private let feedsChanged = Signal()
    private let entriesPerMessage: Int
    private let time: AgentTime
    private let logger: Logger

    init(local: DeviceID, peer: DeviceID, isSlow: Bool, time: AgentTime, logger: Logger) {
        state = Mutex(State(machine: IndexExchange(local: local, peer: peer)))
        entriesPerMessage = isSlow ? Self.entriesPerSlowMessage : Self.entriesPerMessage
        self.time = time
        self.logger = logger
    }

    /// What the peer said last that it shares; nil before it said so.
    var peerConfig: ClusterConfig? { state.withLock { $0.machine.peerConfig } }

    /// Whether the peer was told what is shared with it, or is about to be.
    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    /// How often it was performed what either side says of what it shares.
    var performedCount: Int { state.withLock { $0.performedCount } }

    /// Notified with each change of `performedCount`.
    let performed = Signal()

    /// It begins now: to be called before `begin`.
    func claim() { state.withLock { $0.hasBegun = true } }

    // MARK: events

    /// Tells the peer what is shared with it. To be called once, before the first message of the peer is handed in.
    func begin(_ owner: some IndexExchangeOwner, _ outlet: LinkOutlet) async throws {
        state.withLock { $0.machine.share(owner.terms()) }
        _ = outlet.send(.clusterConfig(try await owner.clusterConfig()))
        begun.notify()
    }

    /// Takes a message of the peer, once there is room. False if the link is over.
    func receive(_ item: IndexInbox.Item) async -> Bool { await inbox.send(item) }

    /// What this device shares has changed: no further message goes out of what it shares no longer. The rest is done soon.
    func share(_ terms: [FolderID: IndexExchange.Terms]) {
        state.withLock { $0.machine.share(terms) }
        inbox.interrupt()
        wakePumps()
    }

    /// Ends the exchange; whoever waits to hand something in is let go.
    func finish() { inbox.finish() }

    // MARK: performing

    /// Heeds what the peer and this device say, in order, until the link ends.
    func run(_ owner: some IndexExchangeOwner, _ outlet: LinkOutlet) async throws {
        await begun.wait()
        while let item = await inbox.next() {
            do {
                switch item {
                case .interruption: try await reshare(owner, outlet)
                case .config(let config): try await hear(config, owner, outlet)
                case .batch(let batch): try await take(batch, owner)
                }
            } catch let error as ProtocolError {
                outlet.refuse(error)
                throw error
            }
        }
        try Task.checkCancellation()
    }

    private func reshare(_ owner: some IndexExchangeOwner, _ outlet: LinkOutlet) async throws {
        do {
            let facts = try await facts(owner)
            try await perform(
                try withMachine { machine throws(ProtocolError) in try machine.reshared(facts) }, owner, outlet)
        } catch let error where !(error is ProtocolError || error is CancellationError) {
            outlet.close(LinkEnd.unreadable)
            throw error
        }
    }

    private func hear(_ config: ClusterConfig, _ owner: some IndexExchangeOwner, _ outlet: LinkOutlet) async throws {
        await owner.heard(config)
        let facts = try await facts(owner)
        try await perform(
            try withMachine { machine throws(ProtocolError) in try machine.heard(config, facts) }, owner, outlet)
    }

    private func take(_ batch: IndexBatch, _ owner: some IndexExchangeOwner) async throws {
        let terms = owner.terms(of: batch.folder)
        switch state.withLock({ $0.machine.received(batch, terms: terms) }) {
        case .store: try await owner.store(batch, isUnnamed: false)
        case .storeUnnamed: try await owner.store(batch, isUnnamed: true)
        case .drop:
            // Offered folders send no index before they are accepted; one that was just removed may still send.
            logger.debug("index of a folder that is not shared now", metadata: ["folder": "\(batch.folder)"])
            try await owner.dropped(batch.folder)
        case .skip: break
        }
    }

    /// What is known of the indexes, after what is shared was asked again.
    private func facts(_ owner: some IndexExchangeOwner) async throws -> [FolderID: IndexExchange.Facts] {
        // Asked under the lock: an answer that `share` has overtaken must not open anything again.
        let terms = state.withLock { state in
            let terms = owner.terms()
            state.machine.share(terms)
            return terms
        }
        return try await owner.facts(terms)
    }

    private func withMachine(
        _ body: (inout IndexExchange) throws(ProtocolError) -> [IndexExchange.Action]
    ) throws(ProtocolError) -> [IndexExchange.Action] {
        let outcome = state.withLock { state -> Result<[IndexExchange.Action], ProtocolError> in
            do throws(ProtocolError) { return .success(try body(&state.machine)) } catch { return .failure(error) }
        }
        return try outcome.get()
    }

    private func perform(
        _ actions: [IndexExchange.Action], _ owner: some IndexExchangeOwner, _ outlet: LinkOutlet
    ) async throws {
        for action in actions {
            if action == .announce {
                _ = outlet.send(.clusterConfig(try await owner.clusterConfig()))
            } else {
                try await owner.perform(action)
            }
        }
        state.withLock { state in
            state.machine.performed()
            state.performedCount += 1
            state.pumps = state.pumps.filter { !$0.value.hasFailed }
        }
        wakePumps()
        performed.notify()
    }

    // MARK: feeds

    /// Keeps the peer's copies of our indexes current until the link ends.
    func feed(_ owner: some IndexExchangeOwner, _ outlet: LinkOutlet) async throws {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                for (folder, wake) in startPumps() {
                    group.addTask { await self.pump(folder, wake, owner, outlet) }
                }
                await feedsChanged.wait()
            }
            group.cancelAll()
        }
        try Task.checkCancellation()
    }

    private func startPumps() -> [(folder: FolderID, wake: Signal)] {
        state.withLock { state in
            var started: [(folder: FolderID, wake: Signal)] = []
            for folder in state.machine.fedFolders where state.pumps[folder] == nil {
                guard let feed = state.machine.feed(of: folder) else { continue }
                let pump = Pump(indexID: feed.indexID)
                state.pumps[folder] = pump
                started.append((folder, pump.wake))
            }
            return started
        }
    }

    private func wakePumps() {
        for wake in state.withLock({ $0.pumps.values.map(\.wake) }) { wake.notify() }
        feedsChanged.notify()
    }

    /// The feed that a pump of the folder is to send; nil once its end has come, which is noted.
    private func nextFeed(of folder: FolderID) -> IndexExchange.Feed? {
        state.withLock { state in
            if let feed = state.machine.feed(of: folder), feed.indexID == state.pumps[folder]?.indexID { return feed }
            state.pumps[folder] = nil
            return nil
        }
    }

    /// Sends a folder's index for as long as it is to be sent.
    private func pump(
        _ id: FolderID, _ wake: Signal, _ owner: some IndexExchangeOwner, _ outlet: LinkOutlet
    ) async {
        do {
            guard let folder = owner.exchange(of: id) else { throw RequestError.linkLost }
            folder.subscribe(wake)
            defer { folder.unsubscribe(wake) }
            var batchesSeen = folder.batchCount
            while !Task.isCancelled {
                guard let feed = nextFeed(of: id) else { return feedsChanged.notify() }
                // Every name that is not selected is announced back as such: while a large index comes in, answering each
                // batch at once would cost as much as taking it in.
                if folder.batchCount != batchesSeen {
                    await wake.quiet(clock: time.clock, now: time.monotonic)
                    batchesSeen = folder.batchCount
                }
                let files = try await folder.updates(after: feed.after, limit: entriesPerMessage)
                guard let last = files.last?.sequence else {
                    await wake.wait()
                    continue
                }
                // Under the lock: no message goes out after another thread has stopped the feed.
                let sent = state.withLock { state in
                    state.machine.sends(id, feed, through: last)
                        ? outlet.send(
                            .index(
                                folder: id, files: files, isFullIndex: feed.isWhole, previousSequence: feed.after))
                        : nil
                }
                try await sent?.get()
            }
        } catch let error as IndexStoreError where error.isAboutStoring {
            // Nothing else on the link comes across it, and both devices would seem to be up to date.
            await owner.couldNotRead(id, error)
            outlet.close(LinkEnd.unreadable)
        } catch {
            // The link's own loops report its end; here it only means that nothing more can be sent.
            logger.debug("index feed ended", metadata: ["folder": "\(id)", "error": "\(error)"])
            state.withLock { $0.pumps[id]?.hasFailed = true }
        }
    }
}
