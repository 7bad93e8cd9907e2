import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import Fetching
import FolderSync
import IndexStore
import LinkRules
import LinkSecurity
import Logging
import NIOCore
import Phrases
import SyncDecisions
import Synchronization
import Transport

/// One known device: performs what `DeviceLinks` decides about the links with it.
package actor DeviceSession {
    private struct Link {
        var session: PeerSession
        /// The dial that it came of.
        var attempt: DialPlan.Attempt?
        var hello: Hello?
        /// Its Hello may be sent; until this is known the link waits.
        var mayProceed = false
        let admission = Admission()
        var isAdmitted = false
    }

    /// What takes time, for the task that runs the device.
    private enum Job: Sendable {
        case dial(DialPlan.Attempt)
        case probe(LinkNumber, PeerSession)
        case awaitIdle(LinkNumber, PeerSession)
    }

    /// How long a probed link has to answer; `DeviceLinks` may lose patience earlier.
    private static let probeLimit: Duration = .seconds(15)
    /// What others say of a device's addresses is asked for again at least and at most so often while it is sought, though they tell of
    /// changes themselves.
    private static let refreshRange: ClosedRange<Duration> = .seconds(1)...(.seconds(3600))

    /// Links without a Hello that the device may have at a time; a further one replaces the oldest.
    private static let silentLimit = 16

    package nonisolated let id: DeviceID
    /// Answers requests by whichever of the links has the least to do.
    package nonisolated let source: DeviceSource
    /// How often the device may have its addresses tested.
    nonisolated let reachQuota = Mutex(ReachTestQuota())
    private var configuration: DeviceConfiguration
    private let environment: LinkEnvironment
    private var links: DeviceLinks
    private var open: [LinkNumber: Link] = [:]
    private var lastNumber = 0
    /// What ends a dial that is under way.
    private var dials: [Int: Signal] = [:]
    private let jobs = AsyncStream.makeStream(of: Job.self)
    /// What `links` was told last.
    private var told = DialFacts()
    private var isStopped = false
    private var allowance = DeviceAllowance()
    private let exchangeTurn = Budget(limit: 1)
    /// How fast the last link of each kind was: the next one need not find out while it may be lost already.
    private var rates: [LinkKind: Double] = [:]
    /// What was in the own indexes of shared folders when the last link ended.
    private var ownSequence: Int64?
    private let wake = Signal()
    private let snapshot: Mutex<Snapshot>

    package init(_ configuration: DeviceConfiguration, lastSeen: WallTime?, environment: LinkEnvironment) {
        id = configuration.id
        self.configuration = configuration
        self.environment = environment
        source = DeviceSource()
        var settings = DeviceLinks.Settings()
        settings.connections.own = configuration.connections ?? environment.connections()
        links = DeviceLinks(
            local: environment.localDevice, peer: configuration.id,
            seed: UInt64(environment.time.random() * 0x1p53), settings: settings)
        snapshot = Mutex(Snapshot(configuration, lastSeen: lastSeen))
    }

    package nonisolated var state: Snapshot { snapshot.withLock { $0 } }

    /// The primary of the links in use; nil while the device is not connected.
    package nonisolated var session: PeerSession? { snapshot.withLock { $0.session } }

    package func configure(_ configuration: DeviceConfiguration) {
        // Other settings may change what is dialled.
        guard configuration != self.configuration else { return handle(.time) }
        let wasPaused = isPaused
        // It begins again with nothing counted; what it announced of an index that was too large is asked for from the start.
        if self.configuration.isPaused, !configuration.isPaused { allowance = DeviceAllowance() }
        let hasNewAddresses =
            configuration.statedAddresses != self.configuration.statedAddresses
            || configuration.allowedNetworks != self.configuration.allowedNetworks
        self.configuration = configuration
        snapshot.withLock { snapshot in
            snapshot.configure(configuration, exceeded: allowance.exceeded)
            // What a dial of other addresses came to is not why the device is not connected now.
            if wasPaused != isPaused || hasNewAddresses { snapshot.lastError = nil }
        }
        if isPaused {
            closeAll(reason: pauseReason)
        } else if wasPaused {
            dialNow()
        }
        for link in open.values where !allowedNetworks.allow(link.session.information) {
            link.session.close(reason: LinkEnd.network)
        }
        handle(hasNewAddresses ? .asked : .time)
    }

    /// The device was heard on a network, or something waits for it: no waiting for the back-off.
    ///
    /// - Parameter isAsked: The user asks for it, and may have freed space for the index.
    package func dialNow(isAsked: Bool = false) {
        if isAsked {
            allowance.storage.asked()
            environment.expect(id)
        }
        handle(.asked)
    }

    /// The networks of this machine have changed, or the policies: what is dialled and which links are doubted is decided again.
    package func networkChanged() { handle(.time) }

    /// Others see this machine at another address than before: links to the outside are doubted.
    package func outsideChanged() { handle(.outsideChanged) }

    /// A person waits for the device: it is searched for by radio, too, for a while. False if no radio reaches it.
    @discardableResult
    package func seek() -> Bool {
        let now = environment.time.monotonic()
        snapshot.withLock { $0.radio.sought(at: now) }
        dialNow(isAsked: true)
        return !state.radioAddresses.isEmpty
    }

    /// A search by radio is over: dials the device if it was heard.
    func wasSearchedFor(_ findings: RadioWatch.Findings) {
        let addresses = state.radioAddresses
        if findings.hasHeard(addresses) {
            let now = environment.time.monotonic()
            snapshot.withLock { $0.radio.heard(at: now) }
            dialNow()
        } else if links.best == nil, let reason = findings.whyAbsent(addresses) {
            note(error: reason)
        }
    }

    /// The device as `RadioSearch` sees it, but for its folders; nil if no radio reaches it.
    nonisolated func radioCandidate(at now: Duration) -> RadioSearch.Candidate? { state.radioCandidate(at: now) }

    /// Whether something has changed here since the last link that the device may not know of.
    package func hasNews() async -> Bool {
        guard let ownSequence else { return false }
        return await sharedSequence() != ownSequence
    }

    private func sharedSequence() async -> Int64? {
        var sum: Int64 = 0
        for folder in environment.folders.all where folder.exchange.isShared(with: id) {
            guard let own = try? await environment.index.localIndex(of: folder.id) else { return nil }
            sum &+= own.maxSequence
        }
        return sum
    }

    /// What the device announces cannot be stored: each link would end as soon as it brings it again.
    func indexWasNotStored() {
        snapshot.withLock { $0.hasUnstoredIndex = true }
        refuseLinks(LinkEnd.storage)
    }

    /// What the device is to be told cannot be read. What it announces itself says nothing of that, and ends no back-off.
    func ownIndexWasNotRead() { refuseLinks(LinkEnd.unreadable) }

    private func refuseLinks(_ reason: Phrase) {
        allowance.storage.failed(at: environment.time.monotonic(), random: environment.time.random(), saying: reason)
    }

    func indexWasStored() {
        snapshot.withLock { $0.hasUnstoredIndex = false }
        allowance.storage.stored()
    }

    /// How long links are refused yet; nil if they are not.
    private var refusal: Duration? { allowance.storage.pause(at: environment.time.monotonic()) }

    /// Also from when it went over a quota until the configuration says so.
    private var isPaused: Bool { configuration.isPaused || allowance.exceeded != nil }
    private var pauseReason: Phrase { state.exceededQuota?.closeReason ?? LinkEnd.paused }

    /// Pauses the device until a person resumes it.
    func exceeded(_ quota: DeviceQuota) {
        guard allowance.exceed(quota) else { return }
        environment.logger.error("\(configuration.name) (\(id.shortID)) is paused: \(quota.text.english)")
        snapshot.withLock { $0.configure(configuration, exceeded: quota) }
        environment.pause(id, quota)
        closeAll(reason: pauseReason)
        handle(.time)
    }

    /// Whether so much of an index of the device is stored; otherwise it is paused.
    func mayAnnounce(_ byteCount: Int) -> Bool {
        guard let quota = allowance.announced(UInt64(byteCount), with: environment.index.space) else { return true }
        exceeded(quota)
        return false
    }

    package func stop() {
        isStopped = true
        closeAll(reason: LinkEnd.notShared)
        jobs.continuation.finish()
        wake.notify()
    }

    private func closeAll(reason: Phrase) {
        guard !open.isEmpty else { return }
        handle(.closing(open.keys.sorted()))
        for (_, link) in open.sorted(by: { $0.key < $1.key }) {
            link.session.close(reason: reason)
            // While it waits, it does not see that its channel has gone.
            link.admission.answer(false)
        }
    }

    /// What is shared with the device has changed: nothing more is sent of what is not. The peer is told soon, and sent the
    /// indexes of what it shares, too: a peer that offered a folder does not offer it again when it is accepted.
    package func announceFolders() {
        guard let session = links.primary.flatMap({ open[$0]?.session }) else { return }
        session.share(owner(of: session.kind, session.route).terms())
    }

    /// What the device said last of its folders counts for more than when it said it.
    package func hearAgain() async {
        guard let session = links.primary.flatMap({ open[$0]?.session }), let config = session.peerConfig else {
            return
        }
        await owner(of: session.kind, session.route).heard(config)
    }

    private func owner(of kind: LinkKind, _ route: LinkRoute) -> DeviceLinkOwner {
        DeviceLinkOwner(device: self, environment: environment, kind: kind, route: route)
    }

    // MARK: running

    /// Dials, and performs what else takes time, until stopped or cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepTime() }
            for await job in jobs.stream { group.addTask { await self.perform(job) } }
            group.cancelAll()
        }
        closeAll(reason: LinkEnd.agentStops)
    }

    /// Comes back to `links` when it says so, and sees what others say of the device meanwhile.
    private func keepTime() async {
        while !Task.isCancelled, !isStopped {
            decide(.time)
            await wake.wait(atMost: pause, clock: environment.time.clock)
        }
    }

    private var pause: Duration {
        let now = environment.time.monotonic()
        let next = links.nextWake.map { max(.milliseconds(1), $0 - now) }
        let found = isSought && isDynamic ? environment.foundPause(id) : Self.refreshRange.upperBound
        let refresh = min(max(found, Self.refreshRange.lowerBound), Self.refreshRange.upperBound)
        return min(next ?? refresh, refusal ?? refresh, refresh)
    }

    /// Tells `links` what has happened, and the time keeper that there may be something earlier to come back for.
    private func handle(_ event: DeviceLinks.Event) {
        decide(event)
        wake.notify()
    }

    private func decide(_ event: DeviceLinks.Event) {
        guard !isStopped else { return }
        let now = environment.time.monotonic()
        var actions = refreshed(at: now)
        actions += links.handle(event, at: now)
        for action in actions { perform(action) }
        publish()
    }

    /// A direct link cannot be bettered by what others say.
    private var isSought: Bool { !isPaused && links.best?.way.tier != 0 }
    private var isDynamic: Bool { configuration.addresses.contains("dynamic") }

    /// What has changed of where the device may be, and of what may be dialled.
    private func refreshed(at now: Duration) -> [DeviceLinks.Action] {
        var policy = environment.dialPolicy()
        policy.isPaused = isPaused || refusal != nil
        policy.allowed = allowedNetworks
        policy.allowsRadio = state.radio.effort(at: now) != nil
        let found = isDynamic ? environment.found(id, isSought) : [:]
        let facts = DialFacts(
            networks: environment.networks(), policy: policy, costs: environment.held().costs,
            addresses: configuration.statedAddresses.merging(found) { stated, _ in stated })
        return told.take(facts).flatMap { links.handle($0, at: now) }
    }

    private func perform(_ action: DeviceLinks.Action) {
        environment.logger.debug("\(configuration.name): \(action)")
        switch action {
        case .dial(let attempt): jobs.continuation.yield(.dial(attempt))
        case .cancel(let attempt): dials[attempt.number]?.notify()
        case .giveUp(let number, let reason): open[number]?.session.abandon(reason: LinkEnd.givenUp(reason))
        case .link(let action): perform(action)
        }
    }

    private func perform(_ action: ConnectionSet.Action) {
        switch action {
        case .proceed(let number): open[number]?.mayProceed = true
        case .admit(let number):
            open[number]?.isAdmitted = true
            open[number]?.admission.answer(true)
        case .refuse(let number, _): open[number]?.admission.answer(false)
        case .probe(let numbers):
            for number in numbers {
                if let session = open[number]?.session { jobs.continuation.yield(.probe(number, session)) }
            }
        case .retire(let number):
            if let session = open[number]?.session { jobs.continuation.yield(.awaitIdle(number, session)) }
        case .close(let number, let reason): open[number]?.session.close(reason: LinkEnd.replaced(reason))
        case .promote(let number):
            // What was said on an earlier link does not hold on this one.
            for folder in environment.folders.all { folder.exchange.linkEnded(with: id) }
            environment.downloads.forget(id)
            open[number]?.session.take(.primary)
        case .demote(let number): open[number]?.session.demote()
        case .sendSecondary(let number): open[number]?.session.take(.secondary)
        case .connected, .disconnected: break
        }
    }

    private func perform(_ job: Job) async {
        switch job {
        case .dial(let attempt): await dial(attempt)
        case .probe(let number, let session):
            if await session.probe(within: Self.probeLimit) { handle(.answered(number)) }
        case .awaitIdle(let number, let session):
            await session.waitUntilIdle()
            handle(.idle(number))
        }
    }

    // MARK: dialling

    private func dial(_ attempt: DialPlan.Attempt) async {
        // Cancelled before it began.
        guard links.dialsUnderWay.contains(attempt) else { return }
        let cancelled = Signal()
        dials[attempt.number] = cancelled
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.carryOut(attempt) }
            group.addTask { await cancelled.wait() }
            await group.next()
            group.cancelAll()
        }
        dials[attempt.number] = nil
    }

    private func carryOut(_ attempt: DialPlan.Attempt) async {
        guard environment.dialBudget.take() else { return handle(.dialFailed(attempt, .noRoom)) }
        let link: SecureLink
        do {
            defer { environment.dialBudget.give() }
            let address = try LinkAddress(parsing: attempt.target.text)
            let effort = state.radio.effort(at: environment.time.monotonic()) ?? .connecting
            link = try await environment.dial(address, effort, id)
        } catch is CancellationError {
            return
        } catch {
            report(attempt, Phrase(of: error), there: (error as? LinkError)?.there)
            return handle(.dialFailed(attempt, .unreachable))
        }
        let problem = ConnectedDial(attempt, peer: link.peer, remoteAddress: link.information.remoteAddress)
            .problem(dialling: id, from: environment.localDevice, policy: told.policy)
        if let problem {
            await link.close()
            if let text = problem.text { report(attempt, text) }
            return handle(.dialFailed(attempt, problem.failure))
        }
        await serve(link, attempt)
    }

    /// Notes what a dial has come to.
    private func report(_ attempt: DialPlan.Attempt, _ text: Phrase, there: Phrase? = nil) {
        let address = attempt.target.text
        let reason = there ?? LinkError.text(text, withoutAddress: address)
        environment.logger.debug("\(address) failed: \(reason)")
        let now = environment.time.wall()
        snapshot.withLock { $0.note(DialReport(message: reason, time: now, source: attempt.source), of: address) }
        note(error: "\(address): \(reason)")
    }

    private func note(error: Phrase) {
        let isNew = snapshot.withLock { snapshot in
            guard snapshot.session == nil else { return false }
            defer { snapshot.lastError = error }
            return snapshot.lastError != error
        }
        if isNew { environment.logger.info("cannot reach \(configuration.name): \(error)") }
    }

    // MARK: links

    private var allowedNetworks: AllowedNetworks {
        // The configuration was checked when it was read; a list that cannot be read opens nothing.
        (try? AllowedNetworks(parsing: configuration.allowedNetworks)) ?? .nothing
    }

    /// Runs a link with this device to its end.
    package func serve(_ link: SecureLink) async {
        guard allowedNetworks.allow(link.information) else {
            note(
                error: Phrase(
                    "\(link.information.remoteAddress) is not in the device's allowed networks; change them with "
                        + "`synctrain device set --allowed-networks`"))
            return await link.close()
        }
        await serve(link, nil)
    }

    private func serve(_ link: SecureLink, _ attempt: DialPlan.Attempt?) async {
        var logger = environment.logger
        logger[metadataKey: "device"] = "\(id.shortID)"
        logger[metadataKey: "address"] = "\(link.information.remoteAddress)"
        let networks = environment.networks()
        let route = LinkRoute(link.information, networks: networks)
        let session = PeerSession(
            link: link, of: environment.localDevice, route: route,
            hello: environment.hello(
                isKnown: true, connections: configuration.connections ?? environment.connections()),
            time: environment.time, partials: environment.partials, rate: rates[link.information.kind],
            limits: environment.limits(route, id), exchangeTurn: exchangeTurn, logger: logger)
        lastNumber += 1
        let number = LinkNumber(lastNumber)
        open[number] = Link(session: session, attempt: attempt)
        let way = LinkWay(link.information.kind, isLocal: route == .localNetwork)
        let view = LinkView(
            number, way: way, isOurs: link.information.isInitiator, since: environment.time.monotonic())
        let path = LinkProbes.Path(
            way, localAddress: link.channel.localAddress.flatMap { IPAddress($0) },
            remoteAddress: link.channel.remoteAddress.flatMap { IPAddress($0) })
        for number in open.filter({ $0.value.hello == nil }).keys.sorted().dropLast(Self.silentLimit) {
            open[number]?.session.abandon(reason: LinkEnd.newerLinks)
        }
        handle(.arrived(view, path, attempt: attempt))
        guard open[number]?.mayProceed == true, !isStopped else {
            open[number] = nil
            await link.close()
            return handle(.ended(number, isLost: false))
        }
        if let attempt { snapshot.withLock { $0.ways[attempt.target.text] = nil } }
        let reason = await session.run(owner: owner(of: session.kind, route))
        rates[session.kind] = session.rate
        await ended(number, session, reason, logger)
    }

    private func number(of session: PeerSession) -> LinkNumber? { open.first { $0.value.session === session }?.key }

    /// The peer has introduced itself; returns when it is decided whether the link is kept.
    package func admit(_ session: PeerSession, _ hello: Hello) async -> Bool {
        guard !isPaused else {
            session.close(reason: pauseReason)
            return false
        }
        guard refusal == nil else {
            session.close(reason: allowance.storage.reason)
            return false
        }
        guard !isStopped, !Task.isCancelled, let number = number(of: session), let admission = open[number]?.admission
        else { return false }
        open[number]?.hello = hello
        snapshot.withLock { $0.noteClock(hello, at: environment.time.wall()) }
        handle(
            .hello(
                number, connectionCount: hello.connectionCount,
                knowsRule: hello.clientName == AgentVersion.clientName))
        return await admission.wait()
    }

    /// The peer was sent the ClusterConfig of the link's role: it may be used.
    package func opened(_ session: PeerSession) async {
        guard let number = number(of: session), open[number]?.isAdmitted == true else { return }
        let wasConnected = state.session != nil
        handle(.configSent(number))
        guard !wasConnected, state.session === session, let hello = open[number]?.hello else { return }
        let now = environment.time.wall()
        snapshot.withLock { snapshot in
            snapshot.client = [hello.clientName, hello.clientVersion].filter { !$0.isEmpty }.joined(separator: " ")
            snapshot.clientName = hello.clientName
            snapshot.lastSeen = now
            snapshot.lastError = nil
        }
        environment.logger.info(
            "connected to \(configuration.name)",
            metadata: [
                "device": "\(id.shortID)", "address": "\(session.information.remoteAddress)",
                "client": "\(hello.clientName) \(hello.clientVersion)",
            ])
        environment.events.post("device-connected", device: id)
        environment.linkChanged()
        await rememberLastSeen(now)
    }

    /// The peer's ClusterConfig has come.
    package func received(_ config: ClusterConfig, _ session: PeerSession) {
        guard let number = number(of: session) else { return }
        let offers = config.folders.count { environment.folders.folder($0.id) == nil }
        if let quota = allowance.configured(offering: offers, at: environment.time.monotonic()) {
            return exceeded(quota)
        }
        snapshot.withLock { $0.acceptance = .given }
        handle(.configReceived(number, isSecondary: config.isSecondary))
    }

    /// The link told something of how it works.
    package func found(_ finding: LinkGauge.Finding, _ session: PeerSession) {
        guard let number = number(of: session) else { return }
        switch finding {
        case .carried(let rate): handle(.measured(number, rate: rate))
        case .unacknowledged: handle(.unacknowledged(number))
        }
    }

    /// Lets everybody see which links are in use.
    private func publish() {
        let usable = links.openLinks.compactMap { number in open[number].map { (number, $0.session) } }
        let hasChanged = source.set(usable, primary: links.primary)
        let primary = links.primary.flatMap { number in usable.first { $0.0 == number }?.1 } ?? usable.first?.1
        snapshot.withLock { snapshot in
            snapshot.session = primary
            snapshot.linkCount = usable.count
            snapshot.sessions = open.values.map(\.session)
        }
        if hasChanged { environment.linkChanged() }
        publishObstacles()
    }

    private func publishObstacles() {
        let obstacles = links.obstacles
        let targets = links.targets
        snapshot.withLock { $0.note(targets: targets, obstacles: obstacles) }
        guard open.isEmpty, let (target, obstacle) = obstacles.min(by: { $0.key.text < $1.key.text }),
            obstacles.count == targets.count, Set(obstacles.values).isDisjoint(with: [.paused, .idleRadio])
        else { return }
        note(error: "\(target): \(obstacle.text)")
    }

    private func rememberLastSeen(_ time: WallTime) async {
        do {
            // Also while the agent stops, when this task is cancelled already: that is when the device was seen last.
            try await environment.index.noteSeen(id, at: time.seconds)
        } catch {
            environment.logger.warning("cannot record when a device was last seen: \(error)")
        }
    }

    private func ended(_ number: LinkNumber, _ session: PeerSession, _ reason: Phrase, _ logger: Logger) async {
        let wasConnected = state.session != nil
        open[number] = nil
        snapshot.withLock { snapshot in
            snapshot.pastBytesIn += session.bytesReceived
            snapshot.pastBytesOut += session.bytesSent
            snapshot.sessions = open.values.map(\.session)
        }
        handle(.ended(number, isLost: !session.wasClosed))
        let isOver = state.session == nil
        let (now, moment) = (environment.time.wall(), environment.time.monotonic())
        snapshot.withLock { snapshot in
            if wasConnected, isOver {
                snapshot.radio.linkEnded(at: moment, wasByRadio: session.kind.isSlow)
                snapshot.lastSeen = now
            }
            if isOver {
                snapshot.lastError = reason
                if session.wasTurnedAway { snapshot.acceptance = .needed }
            }
        }
        if wasConnected, isOver {
            for folder in environment.folders.all { folder.exchange.linkEnded(with: id) }
            environment.downloads.forget(id)
            environment.events.post("device-disconnected", device: id, message: reason.english)
            await rememberLastSeen(now)
            ownSequence = await sharedSequence()
        }
        // Also when another link took over: what was asked for on this one is to be asked for again.
        environment.linkChanged()
        logger.info("link ended: \(reason)")
        // The radio may be used for a while after a link by it.
        if wasConnected, isOver { handle(.time) }
    }
}
