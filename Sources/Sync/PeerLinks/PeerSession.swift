import AgentContext
import AsyncTools
import BlockExchange
import Fetching
import LinkSecurity
import Logging
import NIOCore
import Phrases
import SyncDecisions
import Synchronization
import Transport

/// One link to one device, from Hello to its end: performs what the connection machine decides.
///
/// Once it is admitted, the link has a role: the *primary* of a device's links exchanges indexes, the others carry requests only.
///
/// The machine is behind a lock, and bytes are handed to the channel under that lock, so that they leave in the order
/// they were made.
package final class PeerSession: BlockSource {
    private struct State {
        var machine: ConnectionMachine
        var waiters: [Int32: Waiter] = [:]
        var isOpen = true
        var endReason: Phrase?
        var words = PeerWords.nothing
        /// Whether the peer is known to answer parts of a block; see `SlicedRequest`.
        var answersSlices: Bool { words.isSynctrain }
        /// Of the primary, or of a link that may become it.
        var exchange: LinkExchange
        var standing = RoleStanding()
    }

    /// Somebody who waits for an answer.
    private struct Waiter {
        var continuation: CheckedContinuation<ByteBuffer, any Error>
        /// Bytes that were asked for.
        var size: Int
    }

    /// A Ping each 90 s is all that BEP asks for. Over Bluetooth it costs energy and tells nothing: that a link is lost the
    /// radio says within seconds.
    private static let slowPingInterval: MonotonicTime = .seconds(90)
    /// Batches of answers that are read from disk and sent at the same time: hardly more than a block each, so little more
    /// than 32 MiB.
    private static let answersAtOnce = 2

    package let device: DeviceID
    package let information: LinkInformation
    package let route: LinkRoute
    private let link: SecureLink
    private let channel: any Channel
    private let hello: Hello
    private let localDevice: DeviceID
    private let state: Mutex<State>
    /// Who waits for an answer about promises; taken within `state` where both are.
    let keepWaiters = AnswerWaiters<KeepAnswer>()
    /// The same about tests of addresses.
    let reachWaiters = AnswerWaiters<ReachAnswer>()
    /// The same about renaming.
    let renameWaiters = AnswerWaiters<RenameAnswer>()
    private let logger: Logger
    private let clock: any Clock<Duration>
    private let now: @Sendable () -> MonotonicTime
    private let makeExchange: @Sendable () -> LinkExchange
    /// One for all links of a device: of one at a time the indexes are exchanged.
    private let exchangeTurn: Budget
    /// The last that was asked for has come, or will not.
    private let answered = Signal()
    /// What the peer asks for.
    private let requests = PeerRequests()
    /// Open once the peer was sent what this device shares on this link, or that the link carries requests only.
    private let configSent = Latch()
    private let roles = AsyncStream.makeStream(of: RoleStanding.Given.self, bufferingPolicy: .bufferingNewest(8))
    /// Of slow links, whose blocks come in slices.
    private let turns: RequestTurns<SliceWindow>
    /// Of the others, for what nobody waits for.
    private let bulkTurns: RequestTurns<BlockWindow>
    private let partials: PartialBlocks
    private let limits: LinkLimits?
    private let gauge = LinkGauge()
    private let receivedBytes = Atomic<Int64>(0)
    private let sentBytes = Atomic<Int64>(0)

    /// - Parameter rate: what an earlier link of the same kind to this device gave as its `rate`.
    package init(
        link: SecureLink, of localDevice: DeviceID, route: LinkRoute = .internet, hello: Hello, time: AgentTime,
        partials: PartialBlocks, rate: Double? = nil, limits: LinkLimits? = nil,
        exchangeTurn: Budget = Budget(limit: 1),
        logger: Logger
    ) {
        self.exchangeTurn = exchangeTurn
        self.link = link
        self.hello = hello
        self.localDevice = localDevice
        device = link.peer
        information = link.information
        self.route = route
        channel = link.channel
        clock = time.clock
        now = time.monotonic
        self.logger = logger
        self.partials = partials
        self.limits = limits
        turns = RequestTurns(SliceWindow(rate: rate), now: time.monotonic)
        bulkTurns = RequestTurns(BlockWindow(), now: time.monotonic)
        let isSlow = link.information.kind.isSlow
        let makeExchange = { @Sendable [peer = link.peer] in
            LinkExchange(local: localDevice, peer: peer, isSlow: isSlow, time: time, logger: logger)
        }
        self.makeExchange = makeExchange
        var timers = ConnectionMachine.Timers()
        if link.information.kind.isSlow { timers.pingInterval = Self.slowPingInterval }
        state = Mutex(
            State(
                machine: ConnectionMachine(timers: timers, now: time.monotonic()), exchange: makeExchange()))
    }

    package var bytesReceived: Int64 { receivedBytes.load(ordering: .relaxed) }
    var bytesSent: Int64 { sentBytes.load(ordering: .relaxed) }

    /// Runs the link to its end and says why it ended. Cancelling the task closes the link.
    package func run(owner: some PeerSessionOwner) async -> Phrase {
        let outlet = outlet
        for oddity in link.oddities { logger.log(level: oddity.level, "\(oddity.message)") }
        var reason: Phrase?
        do {
            try await link.executeThenClose { inbound, _ in
                send { machine, now in machine.start(hello, at: now) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await self.readLoop(inbound, owner, outlet) }
                    group.addTask { try await self.answerLoop(owner) }
                    group.addTask {
                        try await self.answer(self.requests.keeps) { .keepAnswer(id: $0, await owner.answer($1)) }
                    }
                    group.addTask {
                        try await self.answer(self.requests.reaches) {
                            .reachAnswer(id: $0, await owner.answer($1, self))
                        }
                    }
                    group.addTask {
                        try await self.answer(self.requests.renames) { .renameAnswer(id: $0, await owner.answer($1)) }
                    }
                    group.addTask { try await self.roleLoop(owner, outlet) }
                    group.addTask { try await self.timerLoop() }
                    group.addTask { try await self.watchLoop(owner) }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        } catch {
            reason = LinkEnd.reason(error) { silentEnd(cause: $0) }
        }
        exchange.finish()
        roles.continuation.finish()
        requests.finish()
        return close(fallbackReason: reason ?? silentEnd(cause: nil))
    }

    private func silentEnd(cause: String?) -> Phrase {
        SilentEnd.reason(state.withLock { $0.words }, localDevice: localDevice, cause: cause)
    }

    /// Whether the link has ended, and not by this device, before the peer said that it shares anything with this one.
    package var wasTurnedAway: Bool {
        state.withLock { !$0.isOpen && $0.endReason == nil && $0.words.isTurnedAway }
    }

    /// Whether the peer is known to be a synctrain, which answers what a Syncthing would not.
    package var speaksSynctrain: Bool { state.withLock { $0.answersSlices } }

    package var kind: LinkKind { information.kind }

    /// Bytes per second that came of what was asked for in slices; nil while nothing is known.
    package var rate: Double? { turns.window.rate }

    /// Bytes per second that came when the link was busy last; nil if it never was.
    var carriedRate: Double? { gauge.lastRate ?? turns.window.rate }

    package var isOpen: Bool { state.withLock { $0.isOpen && $0.endReason == nil } }

    /// Asks for one block, in slices where that is of use; bulk so that what a person waits for is answered soon all the same.
    /// Throws `RequestError`, or `CancellationError`; then an answer that still comes is dropped.
    package func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
        let byteCount = Int(max(0, request.size))
        if information.kind.isSlow, state.withLock({ $0.answersSlices }) {
            try await waitToAsk(byteCount, isUrgent: !isBulk)
            let sliced = SlicedRequest(turns: turns, partials: partials, isBulk: isBulk) { try await self.ask($0) }
            return try await sliced.run(request)
        }
        guard isBulk, !information.kind.isSlow else { return try await whole(request, byteCount, isUrgent: !isBulk) }
        return try await bulkTurns.withTurn(atMost: byteCount, bulkTurns.ticket(isBulk: true)) { _ in
            try await whole(request, byteCount, isUrgent: false)
        }
    }

    /// How many requests that nobody waits for wait for their turn.
    var waitingBulkCount: Int { bulkTurns.waitingCount }

    private func whole(_ request: BlockRequest, _ byteCount: Int, isUrgent: Bool) async throws -> ByteBuffer {
        try await waitToAsk(byteCount, isUrgent: isUrgent)
        do {
            return try await ask(request)
        } catch RequestError.cutShort(let part) {
            // A slow link that takes over need not bring it again.
            if let hash = request.hash, state.withLock({ $0.answersSlices }) {
                let key = PartialBlocks.Key(folder: request.folder, hash: hash)
                var block = partials.take(key, byteCount: byteCount)
                block.put(part, at: 0)
                partials.keep(block, as: key)
            }
            throw RequestError.linkLost
        }
    }

    private func waitToAsk(_ byteCount: Int, isUrgent: Bool) async throws {
        await limits?.waitToAsk(byteCount, isUrgent: isUrgent)
        guard isOpen else {
            limits?.didNotAsk(byteCount)
            throw RequestError.linkLost
        }
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
                    let size = Int(max(0, request.size))
                    state.waiters[id] = Waiter(continuation: continuation, size: size)
                    gauge.asked(size, received: bytesReceived, at: now())
                    write(bytes)
                }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                requestID.withLock { $0 }.flatMap { state.waiters.removeValue(forKey: $0) }
            }
            guard let waiter else { return }
            gauge.ended(waiter.size, received: bytesReceived, at: now())
            waiter.continuation.resume(throwing: CancellationError())
        }
    }

    /// Sends a request and waits for its answer. Throws `RequestError.linkLost` or `CancellationError`.
    func ask<Answer: Sendable>(
        _ waiters: AnswerWaiters<Answer>,
        _ make: @Sendable (inout ConnectionMachine, MonotonicTime) -> (id: Int32, bytes: ByteBuffer),
        forget: @escaping @Sendable (inout ConnectionMachine, Int32) -> Void
    ) async throws -> Answer {
        let requestID = Mutex<Int32?>(nil)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { state in
                    guard state.isOpen else { return continuation.resume(throwing: RequestError.linkLost) }
                    guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                    let (id, bytes) = make(&state.machine, now())
                    requestID.withLock { $0 = id }
                    waiters.add(id, continuation)
                    write(bytes)
                }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                requestID.withLock { $0 }.flatMap { id in
                    forget(&state.machine, id)
                    return waiters.take(id)
                }
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    private var exchange: LinkExchange { state.withLock { $0.exchange } }

    /// What the peer said last that it shares; nil before it said so.
    package var peerConfig: ClusterConfig? { exchange.peerConfig }

    // MARK: roles

    /// Gives the link a role, in the place of the one it had.
    package func take(_ role: LinkRole) {
        roles.continuation.yield(state.withLock { $0.standing.give(role) })
    }

    /// Ends the exchange of indexes on this link, if there is one: nothing more of it is sent, and of what comes from now on nothing is
    /// stored; what waits in its inbox is. One that has not begun does not begin.
    package func demote() {
        let new = makeExchange()
        let old = state.withLock { state in
            guard state.standing.demote(hasBegun: state.exchange.hasBegun) else { return nil as LinkExchange? }
            defer { state.exchange = new }
            return state.exchange
        }
        old?.finish()
    }

    /// Performs one role after the other, until the link ends.
    private func roleLoop(_ owner: some PeerSessionOwner, _ outlet: LinkOutlet) async throws {
        // Whether the peer was told what this link is for.
        var isOpened = false
        for await given in roles.stream {
            if given.role == .primary, try await lead(given, owner, outlet) {
                isOpened = true
            } else if !isOpened {
                isOpened = true
                _ = outlet.send(.clusterConfig(ClusterConfig(isSecondary: true)))
                configSent.open()
                await owner.opened(self)
            }
        }
        try Task.checkCancellation()
    }

    /// Exchanges indexes until the role ends. False if it had ended before its turn came.
    private func lead(_ given: RoleStanding.Given, _ owner: some PeerSessionOwner, _ outlet: LinkOutlet) async throws
        -> Bool
    {
        // What the last primary was told is stored before the next one says how much is known.
        guard await exchangeTurn.take(1) else { throw CancellationError() }
        defer { exchangeTurn.give(1) }
        let current = state.withLock { state -> LinkExchange? in
            guard state.standing.holds(given) else { return nil }
            state.exchange.claim()
            return state.exchange
        }
        guard let exchange = current else { return false }
        try await exchange.begin(owner, outlet)
        // Only now may others send on it: what comes before the cluster config ends a link.
        configSent.open()
        await owner.opened(self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await exchange.run(owner, outlet) }
            group.addTask { try await exchange.feed(owner, outlet) }
            group.addTask {
                await owner.agree(self, performed: exchange.performed) { exchange.performedCount }
                // The other two tell when the role is over.
                await Signal().wait()
            }
            if let board = owner.downloads {
                let feed = ProgressFeed(board: board, clock: clock) {
                    let wanted = exchange.peerConfig?.reportedFolders ?? []
                    return owner.terms().filter { $0.value == .open && wanted.contains($0.key) }.map(\.key)
                }
                group.addTask { try await feed.run(outlet) }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
        return true
    }

    /// This device shares something else than before: the peer is told, and gets nothing more of what is not shared now.
    package func share(_ terms: [FolderID: IndexExchange.Terms]) { exchange.share(terms) }

    private var outlet: LinkOutlet {
        LinkOutlet(send: { self.sendNow([$0]) }, close: { self.close(reason: $0) }, refuse: { self.close($0) })
    }

    /// Returns once nobody waits for an answer of the peer any more.
    package func waitUntilIdle() async {
        while isOpen, !Task.isCancelled, !state.withLock({ $0.waiters.isEmpty }) { await answered.wait() }
    }

    /// Whether one of the two devices ended the link: it was not lost.
    package var wasClosed: Bool { state.withLock { $0.endReason != nil } }

    /// Ends a link that is not believed to reach the peer: who waits for an answer is told at once.
    package func abandon(reason: Phrase) {
        state.withLock { if $0.endReason == nil { $0.endReason = reason } }
        _ = close(fallbackReason: reason)
        channel.close(promise: nil)
    }

    /// Asks for a sign that the link still reaches the other end; true once there is one. False if there is none within `limit`.
    /// Before the ClusterConfig nothing can be sent for that: then what was sent so far is to be acknowledged.
    package func probe(within limit: Duration) async -> Bool {
        send { machine, now in machine.send(.ping, at: now) }
        guard let socket = channel as? any SocketOptionProvider else { return true }
        let (start, received) = (now(), bytesReceived)
        while now() - start < limit, isOpen, !Task.isCancelled {
            try? await clock.sleep(for: .milliseconds(100))
            if bytesReceived != received { return true }
            guard let standing = try? await socket.getTCPInfo().get() else { return true }
            if standing.tcpi_unacked == 0 { return true }
        }
        return false
    }

    /// Ends the link; the peer is told `reason` in English.
    package func close(reason: Phrase) { close(reason: reason, saying: reason.english) }

    /// Ends the link for what the peer sent.
    private func close(_ error: ProtocolError) { close(reason: LinkEnd.words(of: error), saying: error.message) }

    /// Ends the link because this device rebuilds its index.
    package func closeToRebuild() { close(reason: LinkEnd.rebuilding) }

    private func close(reason: Phrase, saying text: String) {
        state.withLock { state in
            guard state.isOpen else { return }
            if state.endReason == nil { state.endReason = reason }
            write(state.machine.send(.close(reason: text), at: now()))
        }
        channel.close(promise: nil)
    }

    // MARK: loops

    private func readLoop(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ owner: some PeerSessionOwner, _ outlet: LinkOutlet
    ) async throws {
        for try await bytes in inbound {
            receivedBytes.add(Int64(bytes.readableBytes), ordering: .relaxed)
            state.withLock { $0.machine.receive(bytes, at: now()) }
            while let event = try nextEvent() {
                guard try await handle(event, owner, outlet) else { return }
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
            close(error)
            throw error
        }
    }

    /// False when the link is over.
    private func handle(
        _ event: ConnectionEvent, _ owner: some PeerSessionOwner, _ outlet: LinkOutlet
    ) async throws -> Bool {
        switch event {
        case .hello(let hello):
            state.withLock { $0.words.hear(hello) }
            guard await owner.admit(self, hello) else { return false }
        case .clusterConfig(let config):
            state.withLock { $0.words.hearConfig() }
            if !config.isSecondary {
                state.withLock { $0.standing.hearConfig() }
                guard await handOn(.config(config)) else { return isOpen }
            }
            await owner.received(config, self)
        case .index(let batch):
            guard state.withLock({ $0.standing.takesIndexes }) else { return true }
            return await handOn(.batch(batch)) || isOpen
        case .request, .keepRequest, .reachRequest, .renameRequest:
            // Never waits: two devices that each send a large answer and read nothing meanwhile would wait for ever.
            if let reason = requests.take(event) {
                close(reason: reason)
                return false
            }
        case .response(let response):
            let (waiter, isLast) = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: response.id)
                return (waiter, state.waiters.isEmpty)
            }
            if isLast { answered.notify() }
            guard let waiter else { return true }
            gauge.ended(waiter.size, received: bytesReceived, at: now())
            if response.code == .ok {
                waiter.continuation.resume(returning: response.data)
            } else {
                waiter.continuation.resume(throwing: RequestError.refused(response.code))
            }
        case .keepAnswer(let id, let answer):
            keepWaiters.take(id)?.resume(returning: answer)
        case .reachAnswer(let id, let answer): reachWaiters.take(id)?.resume(returning: answer)
        case .renameAnswer(let id, let answer): renameWaiters.take(id)?.resume(returning: answer)
        case .downloadProgress(let progress): owner.heard(progress)
        case .closed(let reason):
            state.withLock { state in
                if state.endReason == nil { state.endReason = LinkEnd.closed(saying: reason) }
            }
            return false
        }
        return true
    }

    /// Hands something to the exchange. While that has no room for it, nothing more of the peer is read.
    private func handOn(_ item: IndexInbox.Item) async -> Bool {
        state.withLock { $0.machine.holdBack(at: now()) }
        defer { state.withLock { $0.machine.goOn(at: now()) } }
        return await exchange.receive(item)
    }

    private func answerLoop(_ owner: some PeerSessionOwner) async throws {
        let turns = Budget(limit: Self.answersAtOnce)
        // The peer may have decided earlier than this device which role the link has, and ask already.
        await configSent.wait()
        try await withThrowingDiscardingTaskGroup { group in
            while let first = await requests.nextBlock(), await turns.take(1) {
                let batch = requests.batch(with: first)
                group.addTask {
                    defer { turns.give(1) }
                    let answers = await owner.serve(batch.map(\.request))
                    await self.limits?.waitToSend(answers.reduce(0) { $0 + $1.data.readableBytes })
                    try await self.sendNow(
                        zip(batch, answers).map {
                            .response(BlockResponse(id: $0.id, data: $1.data, code: $1.code))
                        }, isAlreadyRateLimited: true
                    ).get()
                }
            }
        }
        try Task.checkCancellation()
    }

    /// Answers one request of a kind after the other.
    private func answer<Request: Sendable>(
        _ queue: BoundedQueue<(id: Int32, request: Request)>, _ make: (Int32, Request) async -> OutgoingMessage
    ) async throws {
        await configSent.wait()
        while let (id, request) = await queue.next() { try await sendNow([await make(id, request)]).get() }
        try Task.checkCancellation()
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
                close(timeout)
                throw timeout
            }
        }
    }

    private func watchLoop(_ owner: some PeerSessionOwner) async throws {
        guard !information.kind.isSlow, let socket = channel as? any SocketOptionProvider else {
            await Signal().wait()
            return try Task.checkCancellation()
        }
        try await gauge.run(socket, clock: clock) { await owner.found($0, self) }
    }

    // MARK: sending

    private func send(_ make: (inout ConnectionMachine, MonotonicTime) -> ByteBuffer) {
        state.withLock { state in
            guard state.isOpen else { return }
            write(make(&state.machine, now()))
        }
    }

    /// Sends. The future succeeds when the bytes have left: waiting for it bounds what one producer can have in memory.
    private func sendNow(_ messages: [OutgoingMessage], isAlreadyRateLimited: Bool = false) -> EventLoopFuture<Void> {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        state.withLock { state in
            guard state.isOpen else { return promise.fail(RequestError.linkLost) }
            var bytes = ByteBuffer()
            for message in messages {
                var made = state.machine.send(message, at: now())
                if bytes.readableBytes == 0 { bytes = made } else { bytes.writeBuffer(&made) }
            }
            put(bytes, promise: promise, isAlreadyRateLimited: isAlreadyRateLimited)
        }
        return promise.futureResult
    }

    private func write(_ bytes: ByteBuffer) {
        if bytes.readableBytes > 0 { put(bytes, promise: nil) }
    }

    /// - Parameter isAlreadyRateLimited: The limit has let it go; what has not waited for it is only counted.
    private func put(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>?, isAlreadyRateLimited: Bool = false) {
        if !isAlreadyRateLimited { limits?.sent(bytes.readableBytes) }
        sentBytes.add(Int64(bytes.readableBytes), ordering: .relaxed)
        gauge.sent()
        var rest = bytes
        if information.kind.isSlow {
            for length in SlowRecords.lengths(of: rest.readableBytes).dropLast() {
                if let record = rest.readSlice(length: length) { channel.write(record, promise: nil) }
            }
        }
        channel.writeAndFlush(rest, promise: promise)
    }

    /// Fails all who wait for an answer; the reason that was noted first is the one that counts.
    private func close(fallbackReason: Phrase) -> Phrase {
        let (waiters, part, reason) = state.withLock { state in
            state.isOpen = false
            defer { state.waiters = [:] }
            return (state.waiters, state.machine.unfinishedResponse, state.endReason ?? fallbackReason)
        }
        turns.close()
        bulkTurns.close()
        answered.notify()
        keepWaiters.fail(RequestError.linkLost)
        reachWaiters.fail(RequestError.linkLost)
        renameWaiters.fail(RequestError.linkLost)
        for (id, waiter) in waiters.sorted(by: { $0.key < $1.key }) {
            if let part, part.id == id {
                waiter.continuation.resume(throwing: RequestError.cutShort(part.data))
            } else {
                waiter.continuation.resume(throwing: RequestError.linkLost)
            }
        }
        return reason
    }
}
