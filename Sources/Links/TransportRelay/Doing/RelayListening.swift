import BlockExchange
import NIOCore
import Synchronization
import Transport

/// A device's stay at a relay, or at the best of a pool: the links that arrive there, and how it stands.
package struct RelayListening<Output: Sendable>: Sendable {
    /// What the installer made of accepted sessions. Closing it leaves the relay, which ends **all** sessions of this
    /// device there, those that were taken and those that it dialled through the same relay too.
    package let links: LinkListener<Output>
    private let membership: RelayMembership<Output>

    init(links: LinkListener<Output>, membership: RelayMembership<Output>) {
        self.links = links
        self.membership = membership
    }

    package var status: RelayStatus { membership.status }

    /// The status whenever it has changed; who is slow gets the newest only. For one task; ends when the links are closed.
    package var statuses: AsyncStream<RelayStatus> { membership.statuses.stream }

    /// To be called when the network has changed or the machine woke up: a joined relay has to answer within 3 s or is
    /// joined again; a wait is cut short.
    package func networkChanged() { membership.networkChanged() }
}

extension RelayTransport {
    /// Joins a relay of `source`, stays joined, and sets up the sessions that it offers, until the links are closed.
    ///
    /// Returns at once; whether a relay is joined is in the status. Sessions are set up at the same time, at most
    /// `Limits.sessionsAtOnce`; those beyond are not followed, and the device at the other end dials again.
    /// - Parameter standing: how the device stands from which, as the relay says, an invitation comes; who it really is
    ///   follows from the link's own TLS. Called on any thread; must not wait.
    package func listen<Output: Sendable>(
        at source: RelaySource, standing: @escaping @Sendable (DeviceID) -> InviterStanding = { _ in .known },
        install: @escaping LinkInstaller<Output>
    ) -> RelayListening<Output> {
        let accepted = AcceptedLinks<Output>(limit: limits.sessionsAtOnce)
        let membership = RelayMembership(
            transport: self, source: source, accepted: accepted, standing: standing, install: install)
        // Owned by the listener: its closing cancels the task and waits for its end.
        let task = Task { await membership.run() }
        let links = LinkListener(address: .dynamic, accepted: accepted) {
            task.cancel()
            await task.value
        }
        return RelayListening(links: links, membership: membership)
    }
}

/// Performs what `MembershipMachine` decides.
final class RelayMembership<Output: Sendable>: Sendable {
    private struct State {
        var status: RelayStatus
        /// The connection that keeps this device joined.
        var channel: (any Channel)?
        /// Ends the wait that is going on.
        var hurry: AsyncStream<Void>.Continuation?
        /// How many sessions are being set up.
        var settingUpCount = 0
    }

    private let transport: RelayTransport
    private let source: RelaySource
    private let accepted: AcceptedLinks<Output>
    private let standing: @Sendable (DeviceID) -> InviterStanding
    private let install: LinkInstaller<Output>
    private let state: Mutex<State>
    let statuses = AsyncStream.makeStream(of: RelayStatus.self, bufferingPolicy: .bufferingNewest(1))

    init(
        transport: RelayTransport, source: RelaySource, accepted: AcceptedLinks<Output>,
        standing: @escaping @Sendable (DeviceID) -> InviterStanding, install: @escaping LinkInstaller<Output>
    ) {
        self.transport = transport
        self.source = source
        self.accepted = accepted
        self.standing = standing
        self.install = install
        state = Mutex(State(status: RelayStatus(source: source, phase: .connecting)))
    }

    var status: RelayStatus { state.withLock { $0.status } }

    func networkChanged() {
        let (channel, hurry) = state.withLock { ($0.channel, $0.hurry) }
        channel?.pipeline.fireUserInboundEventTriggered(RelayDoubt())
        hurry?.yield()
    }

    func run() async {
        var machine = MembershipMachine(source: source)
        var random = SystemRandomNumberGenerator()
        var outcome = MembershipMachine.Outcome.begun
        while !Task.isCancelled {
            switch machine.step(after: outcome, using: &random) {
            case .fetchPool(let url): outcome = await fetch(url)
            case .measure(let relays): outcome = .measured(await measure(relays))
            case .join(let relay): outcome = await stay(at: relay)
            case .wait(let pause, let error): outcome = await wait(pause, after: error)
            case .stop(let error):
                change {
                    $0.phase = .stopped
                    $0.problem = error
                }
                for await _ in AsyncStream<Never>.makeStream().stream {}
            }
        }
        statuses.continuation.finish()
    }

    /// Yields under the lock, so that the statuses come in order.
    private func change(_ body: (inout RelayStatus) -> Void) {
        state.withLock { state in
            let before = state.status
            body(&state.status)
            if state.status != before { statuses.continuation.yield(state.status) }
        }
    }

    // MARK: choosing

    private func fetch(_ url: String) async -> MembershipMachine.Outcome {
        change { $0.phase = .choosing }
        do {
            let bytes = try await transport.fetchPool(url)
            return .fetched(try RelayPool.parse(bytes, allowsPrivate: RelayPool.isPrivate(url: url)))
        } catch let error as RelayError {
            return .ended(error, joinedFor: nil)
        } catch {
            return .ended(
                RelayError(
                    .invalidPool, "the list of relays could not be fetched; check the network connection",
                    cause: String(describing: error)), joinedFor: nil)
        }
    }

    private func measure(_ relays: [RelayAddress]) async -> [RelayMeasurement] {
        await withTaskGroup(of: RelayMeasurement.self) { group in
            var measurements: [RelayMeasurement] = []
            for (index, relay) in relays.enumerated() {
                if index >= transport.limits.measurementsAtOnce, let next = await group.next() {
                    measurements.append(next)
                }
                group.addTask { await self.measure(relay) }
            }
            for await measurement in group { measurements.append(measurement) }
            return measurements
        }
    }

    /// Connects and closes at once: a relay accepts nobody else for the second that it waits for a first byte.
    private func measure(_ relay: RelayAddress) async -> RelayMeasurement {
        let start = transport.time.monotonic()
        do {
            try await transport.dialing.connect(
                to: relay.host, port: relay.port, timeout: transport.limits.measurement
            ) { channel in
                channel.close(promise: nil)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            return RelayMeasurement(address: relay, latency: transport.time.monotonic() - start)
        } catch {
            return RelayMeasurement(address: relay, latency: nil)
        }
    }

    private func wait(_ pause: Duration, after error: RelayError) async -> MembershipMachine.Outcome {
        let (hurries, hurry) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { $0.hurry = hurry }
        defer { state.withLock { $0.hurry = nil } }
        change {
            $0.phase = .waiting
            $0.problem = error
            $0.nextTry = transport.time.monotonic() + pause
        }
        let clock = transport.time.clock
        let outcome = await withTaskGroup(of: MembershipMachine.Outcome.self) { group in
            group.addTask {
                // Ends early by cancellation only, which the caller asks for.
                try? await clock.sleep(for: pause)
                return .waited
            }
            group.addTask {
                for await _ in hurries { return .hurried }
                return .waited
            }
            defer { group.cancelAll() }
            return await group.next() ?? .waited
        }
        change { $0.nextTry = nil }
        return outcome
    }

    // MARK: joined

    private enum JoinEvent: Sendable {
        case report(RelayReport)
        case ended(RelayError?)
    }

    private func stay(at relay: RelayAddress) async -> MembershipMachine.Outcome {
        change {
            $0.phase = .connecting
            $0.relay = relay
            $0.roundTrip = nil
        }
        // Reports are few: `InvitationBudget` bounds those that the relay has a say in.
        let (events, continuation) = AsyncStream.makeStream(of: JoinEvent.self)
        let limits = transport.limits.join
        var joinedSince: Duration?
        var end = RelayError(.closed, "the relay was left")
        do {
            let (channel, reached) = try await transport.converse(with: relay) { channel, reached in
                let handler = RelayConversationHandler(
                    machine: JoinMachine(token: relay.token ?? "", limits: limits),
                    report: { continuation.yield(.report($0)) },
                    ended: {
                        continuation.yield(.ended($0))
                        continuation.finish()
                    })
                try channel.pipeline.syncOperations.addHandler(handler)
                return channel.eventLoop.makeSucceededFuture((channel, reached))
            }
            (joinedSince, end) = await follow(events, at: relay, reached: reached, on: channel)
            channel.close(promise: nil)
            try? await channel.closeFuture.get()
        } catch {
            end = RelayError(reaching: relay, error)
        }
        change { $0.joinedSince = nil }
        return .ended(end, joinedFor: joinedSince.map { transport.time.monotonic() - $0 })
    }

    /// Sets up the sessions that are offered until the relay is left, by either side or by cancellation.
    private func follow(
        _ events: AsyncStream<JoinEvent>, at relay: RelayAddress, reached: IPAddress?, on channel: any Channel
    ) async -> (joinedSince: Duration?, RelayError) {
        var joinedSince: Duration?
        var end = RelayError(.closed, "the relay was left")
        await withDiscardingTaskGroup { group in
            for await event in events {
                switch event {
                case .report(.joined):
                    let now = transport.time.monotonic()
                    joinedSince = now
                    state.withLock { $0.channel = channel }
                    change {
                        $0.phase = .joined
                        $0.joinedSince = now
                        $0.problem = nil
                    }
                case .report(.roundTrip(let roundTrip)): change { $0.roundTrip = roundTrip }
                case .report(.refusedInvitation): change { $0.refusedInvitationCount &+= 1 }
                case .report(.invited(let invitation)):
                    let standing = standing(invitation.from)
                    guard takePlace(standing) else {
                        change { $0.refusedInvitationCount &+= 1 }
                        continue
                    }
                    group.addTask {
                        await self.accept(
                            SessionOffer(invitation: invitation, reached: reached), from: standing, at: relay)
                    }
                case .ended(let error): end = error ?? end
                }
            }
            state.withLock { $0.channel = nil }
            // The relay has ended the sessions of whoever leaves it, those being set up too.
            group.cancelAll()
        }
        return (joinedSince, end)
    }

    /// Joins one session that was offered, and gives its place back.
    private func accept(_ offer: SessionOffer, from standing: InviterStanding, at relay: RelayAddress) async {
        let problem: (any Error)?
        do {
            try await setUp(offer, at: relay)
            problem = nil
        } catch {
            problem = error
        }
        givePlace(standing)
        switch problem {
        case nil: change { $0.sessionCount &+= 1 }
        case is CancellationError: break
        case let error?:
            change {
                $0.failedSessionCount &+= 1
                $0.sessionProblem = RelayError(reaching: relay, error)
            }
        }
    }

    private func setUp(_ offer: SessionOffer, at relay: RelayAddress) async throws {
        let (accepted, install) = (accepted, install)
        if transport.limits.courtesy > .zero {
            try await transport.time.clock.sleep(for: transport.limits.courtesy)
        }
        try await transport.session(
            offer, at: relay, connectLimit: transport.limits.connect, admit: { accepted.admit($0) }
        ) { channel, information in
            let output = install(channel, information)
            accepted.settle(channel, output)
            return output.map { _ in () }
        }
    }

    /// Whether there is room for one more session with such a device; then it is taken, until `givePlace`.
    private func takePlace(_ standing: InviterStanding) -> Bool {
        guard standing != .refused, !accepted.isFull else { return false }
        return state.withLock { state in
            guard state.settingUpCount < transport.limits.sessionsAtOnce else { return false }
            guard standing == .known || transport.strangers.take(at: transport.time.monotonic()) else { return false }
            state.settingUpCount += 1
            return true
        }
    }

    private func givePlace(_ standing: InviterStanding) {
        state.withLock { $0.settingUpCount -= 1 }
        if standing == .stranger { transport.strangers.give() }
    }
}
