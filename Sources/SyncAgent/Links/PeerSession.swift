import BlockExchange
import LinkSecurity
import Logging
import NIOCore
import Synchronization
import Transport

/// Why a block did not come.
enum RequestError: Error, Equatable, Sendable {
    case linkLost
    /// The same, after these first bytes.
    case cutShort(ByteBuffer)
    case refused(ResponseCode)
}

/// What a link's owner decides for it.
protocol PeerSessionOwner: Sendable {
    /// The peer has introduced itself. False ends the link, quietly.
    func admit(_ session: PeerSession, _ hello: Hello) async -> Bool
    /// The peer was told what is shared with it: the link may be used.
    func opened(_ session: PeerSession, _ hello: Hello) async
    /// What this device tells the peer of its folders.
    func clusterConfig() async throws -> ClusterConfig
    /// What the peer tells; returns the indexes that are to be sent to it from now on.
    ///
    /// - Parameter unnamed: folders whose index came on this link before any config named it.
    func received(_ config: ClusterConfig, _ unnamed: Set<FolderID>) async throws -> [IndexFeed]
    func received(_ batch: IndexBatch) async throws
    /// Answers to `requests`, in their order.
    func serve(_ requests: [BlockRequest]) async -> [BlockAnswer]
}

/// A folder's index on its way to one peer.
struct IndexFeed: Sendable {
    var folder: FolderExchange
    /// The last sequence that the peer has.
    var after: Int64
    /// The peer has nothing of this index yet: the first message is an Index.
    var isFull: Bool
}

/// One link to one device, from Hello to its end: performs what the connection machine decides.
///
/// The machine is behind a lock, and bytes are handed to the channel under that lock, so that they leave in the order
/// they were made.
final class PeerSession: BlockSource {
    private struct State {
        var machine: ConnectionMachine
        var waiters: [Int32: CheckedContinuation<ByteBuffer, any Error>] = [:]
        var isOpen = true
        var feeds: [IndexFeed] = []
        /// The last sequence of each folder that was sent on this link.
        var sentSequences: [FolderID: Int64] = [:]
        /// What the peer said last that it shares.
        var peerConfig: ClusterConfig?
        /// Folders whose whole index came before a config that names them.
        var unnamedIndexes: Set<FolderID> = []
        var endReason: String?
        /// Whether the peer is known to answer parts of a block; see `SlicedRequest`.
        var answersSlices = false
    }

    /// Our own index goes out in messages of so many entries; over a slow link in smaller ones, for what else is to be
    /// sent waits behind each.
    private static let entriesPerMessage = 1000
    private static let entriesPerSlowMessage = 100
    /// Over a slow link no TLS record has more bytes: what has come of a record when the link goes cannot be read.
    private static let slowRecordByteCount = 4200
    /// A Ping each 90 s is all that BEP asks for. Over Bluetooth it costs energy and tells nothing: that a link is lost the
    /// radio says within seconds.
    private static let slowPingInterval: MonotonicTime = .seconds(90)
    /// Indexes that are remembered as come before their names.
    private static let unnamedIndexLimit = 1000
    /// Requests of the peer that wait to be answered. Syncthing has some hundreds under way; a peer that asks for more
    /// than this without reading answers loses its link. A request holds a name: some MiB at the very most.
    private static let waitingRequests = 4096
    /// Batches of answers that are read from disk and sent at the same time: hardly more than a block each, so little more
    /// than 32 MiB.
    private static let answersAtOnce = 2
    /// Requests that are answered together, and bytes from which on no more are.
    private static let answersTogether = 32
    private static let answersTogetherByteCount = 64 << 10

    let device: DeviceID
    let information: LinkInformation
    let route: LinkRoute
    private let link: SecureLink
    private let channel: any Channel
    private let hello: Hello
    private let state: Mutex<State>
    private let logger: Logger
    private let clock: any Clock<Duration>
    private let now: @Sendable () -> MonotonicTime
    private let feedsChanged = Signal()
    private let turns: SliceTurns
    private let partials: PartialBlocks
    private let limits: LinkLimits?
    private let receivedBytes = Atomic<Int64>(0)
    private let sentBytes = Atomic<Int64>(0)

    /// - Parameter rate: what an earlier link of the same kind to this device gave as its `rate`.
    init(
        link: SecureLink, route: LinkRoute = .internet, hello: Hello, time: AgentTime, partials: PartialBlocks,
        rate: Double? = nil,
        limits: LinkLimits? = nil, logger: Logger
    ) {
        self.link = link
        self.hello = hello
        device = link.peer
        information = link.information
        self.route = route
        channel = link.channel
        clock = time.clock
        now = time.monotonic
        self.logger = logger
        self.partials = partials
        self.limits = limits
        turns = SliceTurns(rate: rate, now: time.monotonic)
        var timers = ConnectionMachine.Timers()
        if link.information.kind.isSlow { timers.pingInterval = Self.slowPingInterval }
        state = Mutex(State(machine: ConnectionMachine(timers: timers, now: time.monotonic())))
    }

    var bytesReceived: Int64 { receivedBytes.load(ordering: .relaxed) }
    var bytesSent: Int64 { sentBytes.load(ordering: .relaxed) }

    /// Runs the link to its end and says why it ended. Cancelling the task closes the link.
    func run(owner: some PeerSessionOwner) async -> String {
        let batches = IndexInbox()
        let requests = BoundedQueue<(id: Int32, request: BlockRequest)>(limit: Self.waitingRequests)
        warnAboutOddities()
        var reason = "the link was closed"
        do {
            try await link.executeThenClose { inbound, _ in
                send { machine, now in machine.start(hello, at: now) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await self.readLoop(inbound, owner, batches, requests) }
                    group.addTask { try await self.answerLoop(owner, requests) }
                    group.addTask { try await self.applyLoop(owner, batches) }
                    group.addTask { try await self.feedLoop() }
                    group.addTask { try await self.timerLoop() }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        } catch let error as ProtocolError {
            reason = error.message
        } catch is CancellationError {
            reason = "the agent closed the link"
        } catch {
            reason = "\(error)"
        }
        batches.finish()
        requests.finish()
        return close(fallbackReason: reason)
    }

    /// Whether the peer is known to be a synctrain, which answers what a Syncthing would not.
    var speaksSynctrain: Bool { state.withLock { $0.answersSlices } }

    var kind: LinkKind { information.kind }

    /// Bytes per second that came of what was asked for in slices; nil while nothing is known.
    var rate: Double? { turns.rate }

    var isOpen: Bool { state.withLock { $0.isOpen && $0.endReason == nil } }

    /// Asks for one block, in slices where that is of use. Throws `RequestError`, or `CancellationError`; then an answer
    /// that still comes is dropped.
    func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
        await limits?.waitToAsk(Int(max(0, request.size)))
        guard information.kind.isSlow, state.withLock({ $0.answersSlices }) else {
            do {
                return try await ask(request)
            } catch RequestError.cutShort {
                throw RequestError.linkLost
            }
        }
        let sliced = SlicedRequest(turns: turns, partials: partials, isBulk: isBulk) { try await self.ask($0) }
        return try await sliced.run(request)
    }

    private func ask(_ request: BlockRequest) async throws -> ByteBuffer {
        let requestID = Mutex<Int32?>(nil)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<ByteBuffer, any Error>) in
                state.withLock { state in
                    guard state.isOpen else { return continuation.resume(throwing: RequestError.linkLost) }
                    guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                    let (id, bytes) = state.machine.request(request, at: now())
                    requestID.withLock { $0 = id }
                    state.waiters[id] = continuation
                    write(bytes)
                }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                requestID.withLock { $0 }.flatMap { state.waiters.removeValue(forKey: $0) }
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Tells the peer anew what is shared with it, after the configuration has changed.
    func announce(_ config: ClusterConfig) {
        send { machine, now in machine.send(.clusterConfig(config), at: now) }
    }

    /// What the peer said last that it shares; nil before it said so.
    var peerConfig: ClusterConfig? { state.withLock { $0.peerConfig } }

    /// Sends these indexes from now on, after this device has changed what it shares: the peer need not say anything
    /// anew for that. Those that were sent already go on where they are.
    func send(_ feeds: [IndexFeed]) {
        state.withLock { state in
            state.feeds = feeds.map { feed in
                guard let sent = state.sentSequences[feed.folder.id] else { return feed }
                return IndexFeed(folder: feed.folder, after: sent, isFull: false)
            }
            let folders = Set(feeds.map(\.folder.id))
            state.sentSequences = state.sentSequences.filter { folders.contains($0.key) }
        }
        feedsChanged.notify()
    }

    /// Ends the link; the peer is told `reason`.
    func close(reason: String) {
        state.withLock { state in
            guard state.isOpen else { return }
            if state.endReason == nil { state.endReason = reason }
            write(state.machine.send(.close(reason: reason), at: now()))
        }
        channel.close(promise: nil)
    }

    // MARK: loops

    /// What Syncthing warns of, too, and accepts.
    private func warnAboutOddities() {
        if link.applicationProtocol == nil {
            logger.warning("\(device.shortID) at \(information.remoteAddress) announced no protocol; assuming BEP")
        }
        if !link.isNamedSyncthing {
            logger.info(
                "the certificate of \(device.shortID) is not named “syncthing”; a Syncthing needs `certName` for it")
        }
    }

    private func readLoop(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ owner: some PeerSessionOwner,
        _ batches: IndexInbox, _ requests: BoundedQueue<(id: Int32, request: BlockRequest)>
    ) async throws {
        for try await bytes in inbound {
            receivedBytes.add(Int64(bytes.readableBytes), ordering: .relaxed)
            state.withLock { $0.machine.receive(bytes, at: now()) }
            while let event = try nextEvent() {
                guard try await handle(event, owner, batches, requests) else { return }
            }
        }
    }

    private func nextEvent() throws(ProtocolError) -> ConnectionEvent? {
        let outcome = state.withLock { state -> Result<ConnectionEvent?, ProtocolError> in
            do throws(ProtocolError) { return .success(try state.machine.nextEvent()) } catch { return .failure(error) }
        }
        do {
            return try outcome.get()
        } catch {
            close(reason: error.message)
            throw error
        }
    }

    /// False when the link is over.
    private func handle(
        _ event: ConnectionEvent, _ owner: some PeerSessionOwner, _ batches: IndexInbox,
        _ requests: BoundedQueue<(id: Int32, request: BlockRequest)>
    ) async throws -> Bool {
        switch event {
        case .hello(let hello):
            state.withLock { $0.answersSlices = hello.clientName == AgentVersion.clientName }
            guard await owner.admit(self, hello) else { return false }
            announce(try await owner.clusterConfig())
            // Only now may others send on it: what comes before the cluster config ends a link.
            await owner.opened(self, hello)
        case .clusterConfig(let config):
            // A Syncthing that takes a folder can send its index before it says which one that is.
            await batches.rest()
            let unnamed = state.withLock { state in
                state.peerConfig = config
                defer { state.unnamedIndexes = [] }
                return state.unnamedIndexes
            }
            let feeds = try await owner.received(config, unnamed)
            state.withLock { state in
                state.feeds = feeds
                state.sentSequences = [:]
            }
            feedsChanged.notify()
        case .index(let batch):
            if batch.isFullIndex, batch.isFirst {
                state.withLock { state in
                    guard state.peerConfig?.folders.contains(where: { $0.id == batch.folder }) == false else { return }
                    if state.unnamedIndexes.count < Self.unnamedIndexLimit { state.unnamedIndexes.insert(batch.folder) }
                }
            }
            return await batches.send(batch)
        case .request(let id, let request):
            // Never waits: two devices that each send a large answer and read nothing meanwhile would wait for ever.
            guard requests.sendIfRoom((id, request)) else {
                close(reason: "more than \(Self.waitingRequests) requests are waiting for an answer")
                return false
            }
        case .response(let response):
            let waiter = state.withLock { $0.waiters.removeValue(forKey: response.id) }
            if response.code == .ok {
                waiter?.resume(returning: response.data)
            } else {
                waiter?.resume(throwing: RequestError.refused(response.code))
            }
        case .downloadProgress:
            // A hint about half-done files; whole ones are asked for only.
            break
        case .closed(let reason):
            state.withLock { state in
                if state.endReason == nil { state.endReason = "the peer closed the link: \(reason)" }
            }
            return false
        }
        return true
    }

    private func answerLoop(
        _ owner: some PeerSessionOwner, _ requests: BoundedQueue<(id: Int32, request: BlockRequest)>
    ) async throws {
        let turns = Budget(limit: Self.answersAtOnce)
        try await withThrowingDiscardingTaskGroup { group in
            while let first = await requests.next(), await turns.take(1) {
                var taken = [first]
                var byteCount = Int(first.request.size)
                while taken.count < Self.answersTogether, byteCount < Self.answersTogetherByteCount,
                    let next = requests.nextIfReady()
                {
                    taken.append(next)
                    byteCount += Int(next.request.size)
                }
                let batch = taken
                group.addTask {
                    defer { turns.give(1) }
                    let answers = await owner.serve(batch.map(\.request))
                    await self.limits?.waitToSend(answers.reduce(0) { $0 + $1.data.readableBytes })
                    try await self.sendAndWait(
                        zip(batch, answers).map {
                            .response(BlockResponse(id: $0.id, data: $1.data, code: $1.code))
                        }, isPaidFor: true)
                }
            }
        }
        try Task.checkCancellation()
    }

    private func applyLoop(_ owner: some PeerSessionOwner, _ batches: IndexInbox) async throws {
        while let batch = await batches.next() {
            do {
                try await owner.received(batch)
            } catch let error as ProtocolError {
                close(reason: error.message)
                throw error
            }
        }
        try Task.checkCancellation()
    }

    /// Keeps the peer's copy of our indexes current.
    private func feedLoop() async throws {
        while !Task.isCancelled {
            let feeds = state.withLock { $0.feeds }
            await withDiscardingTaskGroup { group in
                for feed in feeds { group.addTask { await self.run(feed) } }
                await feedsChanged.wait()
                group.cancelAll()
            }
        }
        try Task.checkCancellation()
    }

    private func run(_ feed: IndexFeed) async {
        var position = feed.after
        var isFull = feed.isFull
        var batchesSeen = feed.folder.batchCount
        let entriesPerMessage = information.kind.isSlow ? Self.entriesPerSlowMessage : Self.entriesPerMessage
        let changed = feed.folder.subscribe()
        defer { feed.folder.unsubscribe(changed) }
        do {
            while !Task.isCancelled {
                // Every name that is not selected is announced back as such: while a large index comes in, answering each batch
                // at once would cost as much as taking it in.
                if feed.folder.batchCount != batchesSeen {
                    await changed.quiet(clock: clock, now: now)
                    batchesSeen = feed.folder.batchCount
                }
                let files = try await feed.folder.updates(after: position, limit: entriesPerMessage)
                guard let last = files.last?.sequence else {
                    await changed.wait()
                    continue
                }
                try await sendAndWait([
                    .index(folder: feed.folder.id, files: files, isFullIndex: isFull, previousSequence: position)
                ])
                position = last
                isFull = false
                state.withLock { $0.sentSequences[feed.folder.id] = last }
            }
        } catch {
            // The link's own loops report its end; here it only means that nothing more can be sent.
            logger.debug("index feed ended", metadata: ["folder": "\(feed.folder.id)", "error": "\(error)"])
        }
    }

    private func timerLoop() async throws {
        while !Task.isCancelled {
            let wait = state.withLock { $0.machine.nextDeadline } - now()
            try await clock.sleep(for: max(wait, .milliseconds(10)))
            let timeout = state.withLock { state -> ProtocolError? in
                switch state.machine.advance(to: now()) {
                case .none: return nil
                case .write(let bytes):
                    write(bytes)
                    return nil
                case .timedOut(let error): return error
                }
            }
            if let timeout {
                close(reason: timeout.message)
                throw timeout
            }
        }
    }

    // MARK: sending

    private func send(_ make: (inout ConnectionMachine, MonotonicTime) -> ByteBuffer) {
        state.withLock { state in
            guard state.isOpen else { return }
            write(make(&state.machine, now()))
        }
    }

    /// Sends, and returns when the bytes have left: that bounds what one producer can have in memory.
    private func sendAndWait(_ messages: [OutgoingMessage], isPaidFor: Bool = false) async throws {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        state.withLock { state in
            guard state.isOpen else { return promise.fail(RequestError.linkLost) }
            var bytes = ByteBuffer()
            for message in messages {
                var made = state.machine.send(message, at: now())
                if bytes.readableBytes == 0 { bytes = made } else { bytes.writeBuffer(&made) }
            }
            put(bytes, promise: promise, isPaidFor: isPaidFor)
        }
        try await promise.futureResult.get()
    }

    private func write(_ bytes: ByteBuffer) {
        if bytes.readableBytes > 0 { put(bytes, promise: nil) }
    }

    /// - Parameter isPaidFor: The limit has let it go; what has not waited for it is only counted.
    private func put(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>?, isPaidFor: Bool = false) {
        if !isPaidFor { limits?.sent(bytes.readableBytes) }
        sentBytes.add(Int64(bytes.readableBytes), ordering: .relaxed)
        var rest = bytes
        if information.kind.isSlow {
            // Of equal length: a short one at the end would cost as much as a long one.
            var count = max(1, (rest.readableBytes + Self.slowRecordByteCount - 1) / Self.slowRecordByteCount)
            while count > 1, let piece = rest.readSlice(length: rest.readableBytes / count) {
                channel.write(piece, promise: nil)
                count -= 1
            }
        }
        channel.writeAndFlush(rest, promise: promise)
    }

    /// Fails all who wait for an answer; the reason that was noted first is the one that counts.
    private func close(fallbackReason: String) -> String {
        let (waiters, part, reason) = state.withLock { state in
            state.isOpen = false
            defer { state.waiters = [:] }
            return (state.waiters, state.machine.unfinishedResponse, state.endReason ?? fallbackReason)
        }
        turns.close()
        for (id, waiter) in waiters {
            if let part, part.id == id {
                waiter.resume(throwing: RequestError.cutShort(part.data))
            } else {
                waiter.resume(throwing: RequestError.linkLost)
            }
        }
        return reason
    }
}
