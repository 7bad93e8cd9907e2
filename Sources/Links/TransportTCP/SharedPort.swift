import Glibc
import NIOCore
import NIOPosix
import Synchronization
import Transport

/// The port that this device listens on at all of its addresses. What is dialled from it, too, opens it in routers that let
/// in what comes to a port that was used outward: the device becomes reachable by the address that it announces.
package final class SharedPort: Sendable {
    /// How long a dial from a port of its own has before one from the shared port is made beside it. Where nothing is in the
    /// way it is done by then, so that two devices that dial each other do not meet in the middle of one connection.
    static let delay: TimeAmount = .seconds(1)

    /// What is listened on: `0.0.0.0` for IPv4 alone, `::` for both families.
    private let listened = Mutex<[SocketAddress]>([])

    package init() {}

    /// Lets others bind to the port of a channel that listens at all addresses: after it was bound, so that a second agent still finds
    /// it in use.
    func share(_ server: any Channel) async {
        guard let options = server as? any SocketOptionProvider, let address = server.localAddress else { return }
        let sharing = options.unsafeSetSocketOption(
            level: .init(rawValue: SOL_SOCKET), name: .init(rawValue: SO_REUSEPORT), value: CInt(1))
        guard (try? await sharing.get()) != nil else { return }
        listened.withLock { $0.append(address) }
        server.closeFuture.whenComplete { _ in
            self.listened.withLock { listened in
                if let index = listened.firstIndex(of: address) { listened.remove(at: index) }
            }
        }
    }

    /// What to bind to before `remote` is dialled, so that its packets leave from the shared port; nil where there is none, or
    /// no router in between.
    func origin(for remote: SocketAddress) -> SocketAddress? {
        guard let ip = IPAddress(remote), ip.isPublic else { return nil }
        return origin(isIPv4: ip.isIPv4)
    }

    /// The same for a host that may be a name; routers that translate addresses do so for IPv4.
    func origin(forHost host: String) -> SocketAddress? {
        guard let literal = try? SocketAddress(ipAddress: host, port: 0) else { return origin(isIPv4: true) }
        return origin(for: literal)
    }

    private func origin(isIPv4: Bool) -> SocketAddress? {
        let port = listened.withLock { listened in
            listened.first { if case .v6 = $0 { true } else { isIPv4 } }?.port
        }
        return port.flatMap { try? SocketAddress(ipAddress: isIPv4 ? "0.0.0.0" : "::", port: $0) }
    }

    /// Connects by `bootstrap`, and if that takes longer than `delay`, from `origin` as well; gives the channel that is
    /// connected first, and closes the other.
    static func connect(
        _ remote: SocketAddress, from origin: SocketAddress, on loop: any EventLoop,
        _ bootstrap: @escaping @Sendable () -> ClientBootstrap
    ) -> EventLoopFuture<any Channel> {
        let promise = loop.makePromise(of: (any Channel).self)
        let isDecided = Mutex(false)
        /// True for the first who asks.
        @Sendable func decide() -> Bool {
            isDecided.withLock { isDecided in
                defer { isDecided = true }
                return !isDecided
            }
        }
        @Sendable func take(_ channel: any Channel) {
            decide() ? promise.succeed(channel) : channel.close(promise: nil)
        }
        loop.scheduleTask(in: delay) {
            guard !isDecided.withLock({ $0 }) else { return }
            bootstrap().bind(sharing: origin).connect(to: remote).whenSuccess(take)
        }
        bootstrap().connect(to: remote).whenComplete { result in
            switch result {
            case .success(let channel): take(channel)
            // The other began later, and would say the same.
            case .failure(let error): if decide() { promise.fail(error) }
            }
        }
        return promise.futureResult
    }
}

extension ClientBootstrap {
    /// Connects from an address that a listener has too.
    func bind(sharing origin: SocketAddress) -> ClientBootstrap {
        channelOption(.socketOption(.so_reuseaddr), value: 1)
            .channelOption(.socketOption(NIOBSDSocket.Option(rawValue: SO_REUSEPORT)), value: 1)
            .bind(to: origin)
    }
}
