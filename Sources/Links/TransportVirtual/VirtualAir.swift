import Glibc
import NIOCore
import NIOPosix
import Transport

/// An air: what devices with a `VirtualTransport` of the same path see, dial and speak to one another over, whether in
/// one process or several. It plays both ends' Bluetooth hosts and controllers; a device's part ends at a socket.
///
/// For tests and demonstrations. Whoever may open the socket, which is this user, may take part and change the radio.
package final class VirtualAir: Sendable {
    package let path: String
    private let eventLoop: any EventLoop
    private let server: any Channel
    private let switchboard: NIOLoopBound<AirSwitchboard>

    private init(
        path: String, eventLoop: any EventLoop, server: any Channel, switchboard: NIOLoopBound<AirSwitchboard>
    ) {
        self.path = path
        self.eventLoop = eventLoop
        self.server = server
        self.switchboard = switchboard
    }

    /// Opens an air at `path`, at most 103 bytes, replacing a socket that nobody listens at any more.
    ///
    /// - Parameters:
    ///   - speed: how many times as fast as in the world time passes there.
    ///   - seed: of what happens by chance.
    /// - Throws: `LinkError`.
    package static func open(
        at path: String, conditions: RadioConditions = RadioConditions(), speed: Double = 1, seed: UInt64 = 1,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws -> VirtualAir {
        let eventLoop = group.next()
        let clock = AirClock(speed: speed)
        do {
            // All of it lives on one loop: nothing is locked and nothing races.
            let switchboard = try await eventLoop.submit {
                NIOLoopBound(
                    AirSwitchboard(conditions, clock: clock, seed: seed, eventLoop: eventLoop), eventLoop: eventLoop)
            }.get()
            let server = try await ServerBootstrap(group: eventLoop)
                .childChannelOption(.autoRead, value: false)
                .childChannelOption(.maxMessagesPerRead, value: 1)
                .childChannelOption(.socketOption(.so_sndbuf), value: VirtualTransport.socketByteCount)
                .childChannelOption(
                    .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: StreamPump.readByteCount)
                )
                .serverChannelOption(.backlog, value: 1024)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            AirClient(switchboard: switchboard.value, channel: channel))
                    }
                }
                .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
            chmod(path, 0o600)
            return VirtualAir(path: path, eventLoop: eventLoop, server: server, switchboard: switchboard)
        } catch {
            throw LinkError(
                .addressUnavailable,
                "cannot open a virtual air at \(path): choose a path of at most 103 bytes in a directory of yours",
                isTransient: false, cause: String(describing: error))
        }
    }

    /// Changes the radio for all connections, those that there are and those to come.
    ///
    /// - Throws: what the event loop throws after its end.
    package func change(_ change: @escaping @Sendable (inout RadioConditions) -> Void) async throws {
        try await perform { switchboard in
            var conditions = switchboard.conditions
            change(&conditions)
            switchboard.change(conditions)
        }
    }

    /// Moves a device: its signal, -60 dBm at first. Below -100 dBm it is out of range of everyone.
    ///
    /// - Throws: what the event loop throws after its end.
    package func setSignal(_ strength: Int, of name: String) async throws {
        try await perform { $0.setSignal(strength, of: name) }
    }

    /// Ends all connections without a word, and gives their number. What is under way is lost.
    ///
    /// - Throws: what the event loop throws after its end.
    @discardableResult
    package func cut() async throws -> Int { try await perform { $0.cut() } }

    /// What has happened on the air so far.
    ///
    /// - Throws: what the event loop throws after its end.
    package func statistics() async throws -> AirStatistics { try await perform { $0.statistics } }

    /// Closes the air and all connections on it.
    package func close() async {
        server.close(promise: nil)
        try? await server.closeFuture.get()
        _ = try? await perform { $0.closeAll() }
        unlink(path)
    }

    private func perform<Result: Sendable>(
        _ body: @escaping @Sendable (AirSwitchboard) -> Result
    ) async throws -> Result {
        let switchboard = switchboard
        return try await eventLoop.submit { body(switchboard.value) }.get()
    }
}
