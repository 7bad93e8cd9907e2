import BlockExchange
import LinkSecurity
import NIOCore
import Synchronization
import Transport

/// Links through relays (Syncthing's relay protocol v1): for devices that cannot reach one another directly.
///
/// A link ends at a plain byte stream on which the devices run their own TLS: the relay can drop, delay and cut it off, and
/// reads nothing. Which side is the TLS client is the relay's to say (`LinkInformation.isInitiator`), not who dialled.
///
/// What the owner of a link has to keep in mind: a relay does not pass on the end of one side's stream, so say goodbye
/// (BEP's Close, TLS's close_notify) before closing; and it stops each direction in which nothing was sent for 120 s, so
/// both sides send something more often than that, as BEP's pings do.
package struct RelayTransport: Sendable {
    package struct Limits: Sendable {
        /// For a TCP connection, name resolution and proxy included.
        package var connect = Duration.seconds(10)
        package var handshake = Duration.seconds(10)
        /// For a dial until the invitation is there, all together.
        package var invitation = Duration.seconds(10)
        /// For the response that opens a session.
        package var session = Duration.seconds(10)
        /// How long the side that is dialled lets the other go first: a relay drops one of two that come at the same
        /// moment (`sessionMissed`), as they do where it is near both.
        package var courtesy = Duration.milliseconds(20)
        /// How often a dial asks for another invitation after a session that the relay dropped.
        package var dialAttempts = 3
        /// For the connection that measures a relay of a pool.
        package var measurement = Duration.seconds(1)
        /// How many relays are measured at the same time.
        package var measurementsAtOnce = 10
        /// How many sessions of one listener are set up, or wait to be taken, at the same time.
        package var sessionsAtOnce = 32
        package var join = JoinMachine.Limits()

        package init() {}
    }

    /// Gives the bytes of a pool's list, at most `RelayPool.maximumByteCount` of them.
    package typealias PoolFetch = @Sendable (_ url: String) async throws -> [UInt8]

    let dialing: any StreamDialing
    let time: RelayTime
    let limits: Limits
    let fetchPool: PoolFetch
    let strangers = SharedStrangerBudget()
    private let identity: LinkIdentity
    private let isProxied: Bool

    /// - Parameters:
    ///   - identity: the device's, which relays know it by.
    ///   - isProxied: whether `dialing` goes through a proxy, so that a socket's address is not the relay's.
    package init(
        identity: LinkIdentity, dialing: any StreamDialing, isProxied: Bool = false, limits: Limits = Limits(),
        time: RelayTime = .system, fetchPool: @escaping PoolFetch
    ) {
        self.identity = identity
        self.dialing = dialing
        self.isProxied = isProxied
        self.limits = limits
        self.time = time
        self.fetchPool = fetchPool
    }

    /// Connects to `device` through the relay that it has joined, and gives what `install` makes of the link.
    ///
    /// - Parameter timeout: for the invitation, at most 10 s, and for the connection after it, at most 10 s; the relay's
    ///   response there has 10 s more, and `install` has limits of its own.
    /// - Throws: `LinkError` (`unreachable` if the device has not joined that relay), or what `install` failed with. When
    ///   it throws, nothing is left open; on cancellation that is `CancellationError`, at once.
    package func dial<Output: Sendable>(
        _ relay: RelayAddress, device: DeviceID, timeout: Duration, install: @escaping LinkInstaller<Output>
    ) async throws -> Output {
        let deadline = time.monotonic() + timeout
        var attempt = 1
        while true {
            do {
                return try await dialOnce(relay, device: device, deadline: deadline, install: install)
            } catch let error as RelayError {
                guard error.code == .sessionMissed, attempt < limits.dialAttempts else { throw LinkError(error) }
                attempt += 1
            }
        }
    }

    private func dialOnce<Output: Sendable>(
        _ relay: RelayAddress, device: DeviceID, deadline: Duration, install: @escaping LinkInstaller<Output>
    ) async throws -> Output {
        let offer: SessionOffer
        do {
            offer = try await within(min(limits.invitation, deadline - time.monotonic())) {
                try await invitation(to: device, at: relay)
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw RelayError(reaching: relay, error)
        }
        return try await session(
            offer, at: relay, connectLimit: min(limits.connect, deadline - time.monotonic()), admit: { _ in },
            install: install)
    }

    /// Asks `relay` for a session with `device`.
    private func invitation(to device: DeviceID, at relay: RelayAddress) async throws -> SessionOffer {
        let limit = limits.invitation
        return try await converse(with: relay) { channel, reached in
            let promise = channel.eventLoop.makePromise(of: SessionOffer.self)
            let handler = RelayConversationHandler(
                machine: InvitationMachine(device: device, limit: limit),
                report: { report in
                    guard case .invited(let invitation) = report else { return }
                    promise.succeed(SessionOffer(invitation: invitation, reached: reached))
                },
                ended: { error in
                    // After a success this changes nothing.
                    promise.fail(error ?? RelayError(.closed, "the relay closed the connection"))
                })
            try channel.pipeline.syncOperations.addHandler(handler)
            return promise.futureResult
        }
    }

    /// Opens a connection to a relay in protocol mode. `start` runs on its event loop when the relay is known to be the
    /// right one; the first message leaves in the same tick as the relay's part of the handshake arrives.
    func converse<Output: Sendable>(
        with relay: RelayAddress,
        start: @escaping @Sendable (any Channel, _ reached: IPAddress?) throws -> EventLoopFuture<Output>
    ) async throws -> Output {
        let tls = try serviceTLS(for: relay)
        let isProxied = isProxied
        return try await dialing.connect(to: relay.host, port: relay.port, timeout: limits.connect) { channel in
            let reached = isProxied ? nil : channel.remoteAddress.flatMap { IPAddress($0) }
            return tls.install(on: channel, host: relay.host).flatMap { service in
                do {
                    guard service.applicationProtocol == Self.applicationProtocol else { throw RelayError.notRelay }
                    return try start(channel, reached)
                } catch {
                    return channel.eventLoop.makeFailedFuture(error)
                }
            }
        }
    }

    /// Joins the session of an invitation.
    ///
    /// - Parameter admit: gets the channel before anything else happens on it.
    func session<Output: Sendable>(
        _ offer: SessionOffer, at relay: RelayAddress, connectLimit: Duration,
        admit: @escaping @Sendable (any Channel) -> Void, install: @escaping LinkInstaller<Output>
    ) async throws -> Output {
        guard connectLimit > .zero else {
            throw RelayError(.timedOut, "the relay took too long; no time was left for the session")
        }
        let place = SessionPlace(offer.invitation, relay: relay.host, reached: offer.reached)
        let information = LinkInformation(
            kind: .relay, remoteAddress: relay.authority, isInitiator: !offer.invitation.isServer)
        let limit = limits.session
        let key = offer.invitation.key
        return try await dialing.connect(to: place.host, port: place.port, timeout: connectLimit) { channel in
            admit(channel)
            LinkStream.prepare(channel)
            let promise = channel.eventLoop.makePromise(of: Output.self)
            do {
                try channel.pipeline.syncOperations.addHandler(
                    RelaySessionHandler(machine: SessionMachine(key: key), limit: limit, promise: promise) {
                        information.start(on: $0, install: install)
                    })
            } catch {
                promise.fail(error)
            }
            return promise.futureResult
        }
    }

    /// The name of protocol mode in the TLS handshake.
    package static let applicationProtocol = "bep-relay"

    private func serviceTLS(for relay: RelayAddress) throws -> ServiceTLS {
        let trust: ServiceTLS.Trust
        if let id = relay.id {
            do throws(DeviceIDError) {
                trust = .pinned(try DeviceID(parsing: id))
            } catch {
                throw RelayError(.invalidAddress, "the id in the relay's address is not a device id: \(error)")
            }
        } else {
            trust = .unchecked
        }
        return try ServiceTLS(
            identity: identity, trust: trust, applicationProtocols: [Self.applicationProtocol],
            handshakeLimit: limits.handshake)
    }

    private func within<Output: Sendable>(
        _ limit: Duration, _ body: @escaping @Sendable () async throws -> Output
    ) async throws -> Output {
        try await withThrowingTaskGroup(of: Output.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await time.clock.sleep(for: limit)
                throw RelayError(.timedOut, "the relay did not answer within \(limit)")
            }
            defer { group.cancelAll() }
            guard let output = try await group.next() else { throw CancellationError() }
            return output
        }
    }
}

/// An invitation, and the address that its relay was reached at; nil through a proxy.
struct SessionOffer: Sendable {
    var invitation: SessionInvitation
    var reached: IPAddress?
}

/// The options of a channel that carries a link, those of links over TCP.
private enum LinkStream {
    static let outboundHighWatermark = 512 * 1024

    static func prepare(_ channel: any Channel) {
        // Reading and writing work without them, so a stream that has no such options is as good.
        _ = channel.setOption(
            .recvAllocator,
            value: AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 16 * 1024, maximum: 256 * 1024))
        _ = channel.setOption(.maxMessagesPerRead, value: 1)
        _ = channel.setOption(
            .writeBufferWaterMark,
            value: ChannelOptions.Types.WriteBufferWaterMark(
                low: outboundHighWatermark / 2, high: outboundHighWatermark))
    }
}

extension RelayError {
    static let notRelay = RelayError(
        .notRelay, "what answers is not a relay; check the host and the port of the relay's address")

    /// What went wrong on the way to a relay.
    init(reaching relay: RelayAddress, _ error: any Error) {
        switch error {
        case let error as RelayError: self = error
        case let error as LinkError: self.init(reaching: relay, error)
        case let error as LinkSecurityError:
            let code: Code =
                switch error.code {
                case .otherDevice: .wrongRelay
                case .notTLS, .otherProtocol, .oldTLS, .noCertificate: .notRelay
                case .handshakeTimeout: .timedOut
                case .closedInHandshake: .closed
                default: .failed
                }
            self.init(code, error.text, cause: error.cause)
        default:
            self.init(.failed, "the connection to \(relay.authority) failed", cause: String(describing: error))
        }
    }

    private init(reaching relay: RelayAddress, _ error: LinkError) {
        let place = relay.authority
        switch error.code {
        case .refused:
            self.init(.unreachable, "nothing listens at \(place); check the address and whether the relay runs")
        case .hostNotFound:
            self.init(.unreachable, "the name in \(place) cannot be resolved; check it and the network connection")
        case .timedOut:
            self.init(.timedOut, "no answer from \(place); check that the relay runs and that no firewall blocks it")
        case .unreachable:
            self.init(.unreachable, "\(place) cannot be reached from here; check the network connection")
        case .invalidAddress: self.init(.invalidAddress, error.text)
        default: self.init(.failed, error.text)
        }
        cause = error.cause ?? error.message
    }
}

/// The budget of all relays that one transport has joined.
final class SharedStrangerBudget: Sendable {
    private let budget = Mutex(StrangerBudget())

    func take(at now: Duration) -> Bool { budget.withLock { $0.take(at: now) } }
    func give() { budget.withLock { $0.give() } }
}
