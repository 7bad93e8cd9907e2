import NIOCore
import Transport

/// Opens byte streams through the proxies of the settings.
///
/// With fallback, a direct connection is begun when the proxy has failed, or after a third of the timeout; the first to
/// connect gets the installer, the other is closed. Without, nothing is ever connected directly but the proxy itself and
/// the user's exceptions, and no name is resolved on this machine but the proxy's.
package struct ProxiedStreams: StreamDialing {
    /// Puts TLS on a connection to an `https://` proxy with the given host, and completes once that stands; on the
    /// channel's loop. What it adds to the pipeline must let no byte pass before it completes.
    package typealias Securing = @Sendable (_ channel: any Channel, _ host: String) -> EventLoopFuture<Void>

    private let settings: ProxySettings
    private let use: ProxySettings.Use
    private let direct: any StreamDialing
    private let secure: Securing
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - use: what the streams are for, as each has a proxy of its own.
    ///   - direct: connects to proxies, to exceptions, and as fallback.
    ///   - secure: for `https://` proxies.
    ///   - clock: what timeouts are measured with.
    package init(
        settings: ProxySettings, use: ProxySettings.Use, direct: any StreamDialing, secure: @escaping Securing,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.settings = settings
        self.use = use
        self.direct = direct
        self.secure = secure
        self.clock = clock
    }

    /// Connects to `host`, through the proxy if one is set.
    ///
    /// - Throws: `LinkError`, or what `install` failed with; nothing is left open then. `CancellationError`.
    package func connect<Output: Sendable>(
        to host: String, port: UInt16, timeout: Duration,
        install: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> Output {
        try await connect(to: host, port: port, timeout: timeout) { channel, _ in install(channel) }
    }

    /// Connects to `host`, through the proxy if one is set. `install` must add its handlers at the pipeline's end; it is told
    /// whether the channel leads through the proxy.
    ///
    /// - Parameter timeout: for the connection, the proxy's part included; `install` has limits of its own.
    /// - Throws: `LinkError`, or what `install` failed with; nothing is left open then. `CancellationError`.
    package func connect<Output: Sendable>(
        to host: String, port: UInt16, timeout: Duration,
        install: @escaping @Sendable (any Channel, _ isProxied: Bool) -> EventLoopFuture<Output>
    ) async throws -> Output {
        guard let proxy = settings.proxy(for: use), !settings.exceptions.contain(host, port: port) else {
            return try await direct.connect(to: host, port: port, timeout: timeout) { install($0, false) }
        }
        guard settings.fallsBackToDirect else {
            return try await connect(through: proxy, to: host, port: port, timeout: timeout) { install($0, true) }
        }
        let elapsed = Self.stopwatch(clock)
        let race = DialRace(clock: clock, headStart: timeout / 3)
        return try await race.run(
            first: { claim in
                try await connect(through: proxy, to: host, port: port, timeout: timeout) { channel in
                    claim(channel) ?? install(channel, true)
                }
            },
            second: { claim in
                try await direct.connect(to: host, port: port, timeout: max(.zero, timeout - elapsed())) { channel in
                    claim(channel) ?? install(channel, false)
                }
            })
    }

    private func connect<Output: Sendable>(
        through proxy: ProxyAddress, to host: String, port: UInt16, timeout: Duration,
        install: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> Output {
        let elapsed = Self.stopwatch(clock)
        do {
            let handshake = try proxy.handshake(to: host, port: port)
            return try await direct.connect(to: proxy.host, port: proxy.port, timeout: timeout) { channel in
                let secured =
                    proxy.kind == .https ? secure(channel, proxy.host) : channel.eventLoop.makeSucceededVoidFuture()
                return secured.flatMapErrorThrowing { error in
                    throw ProxyError(
                        .notAProxy,
                        "no TLS connection to the proxy \(proxy) could be made; check its certificate, or whether it is an http:// proxy",
                        cause: String(describing: error))
                }.flatMap {
                    let output = channel.eventLoop.makePromise(of: Output.self)
                    let handler = ProxyHandshakeHandler(
                        proxy: proxy, target: HostText.join(host, port), handshake: handshake,
                        limit: TimeAmount(max(.zero, timeout - elapsed())), output: output
                    ) { channel in
                        install(channel).flatMapErrorThrowing { throw InstallFailure(error: $0) }
                    }
                    do {
                        try channel.pipeline.syncOperations.addHandler(handler)
                    } catch {
                        output.fail(error)
                    }
                    return output.futureResult
                }
            }
        } catch let failure as InstallFailure {
            throw failure.error
        } catch let error as ProxyError {
            throw LinkError(error)
        } catch let error as LinkError {
            throw LinkError(ProxyError(connectingTo: proxy, error))
        }
    }

    /// How long ago this was called.
    private static func stopwatch(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}

/// An error of the installer, so that it is not taken for one of the proxy's.
private struct InstallFailure: Error {
    let error: any Error
}
