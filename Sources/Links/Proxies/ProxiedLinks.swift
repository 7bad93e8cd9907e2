import NIOCore
import Transport

/// Links that are dialled through `streams`, and listened for without it: no proxy passes on what comes from outside.
///
/// A link says that it leads to the address that was dialled, never to the proxy; without the proxy, to the address that the
/// name led to, so that it can be checked.
package struct ProxiedLinks<Base: LinkTransport>: LinkTransport {
    private let base: Base
    private let streams: ProxiedStreams

    /// - Parameter base: what listens, and says which addresses are served.
    package init(base: Base, streams: ProxiedStreams) {
        self.base = base
        self.streams = streams
    }

    package func serves(_ address: LinkAddress) -> Bool { base.serves(address) }

    /// Connects to `address`, through the proxy where it is a host's.
    ///
    /// - Throws: `LinkError`, or what `install` failed with; nothing is left open then. `CancellationError`.
    package func dial<Output: Sendable>(
        _ address: LinkAddress, timeout: Duration, install: @escaping LinkInstaller<Output>
    ) async throws -> Output {
        guard case .tcp(let host, let port) = address, address.isDialable else {
            return try await base.dial(address, timeout: timeout, install: install)
        }
        return try await streams.connect(to: host, port: port, timeout: timeout) { channel, isProxied in
            let reached = isProxied ? nil : channel.remoteAddress.flatMap { LinkAddress($0) }
            return install(
                channel,
                LinkInformation(kind: .tcp, remoteAddress: (reached ?? address).description, isInitiator: true))
        }
    }

    /// Listens at `address` without the proxy.
    ///
    /// - Throws: `LinkError`.
    package func listen<Output: Sendable>(
        on address: LinkAddress, install: @escaping LinkInstaller<Output>
    ) async throws -> LinkListener<Output> {
        try await base.listen(on: address, install: install)
    }
}
