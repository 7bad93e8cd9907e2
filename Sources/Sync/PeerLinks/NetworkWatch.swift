import AgentContext
import AsyncTools
import CLinux
import NIOCore
import NIOPosix
import Synchronization

/// Follows which networks this machine is in.
package final class NetworkWatch: Sendable {
    /// Changes come in bursts: an interface goes, its addresses, its routes.
    private static let calm: Duration = .milliseconds(200)

    private let state = Mutex(MachineNetworks.current())

    package init() {}

    /// As they are now, as far as the system has told.
    package var current: MachineNetworks { state.withLock { $0 } }

    /// Calls `changed` after each change of the addresses or routes, until cancelled. Returns at once where the system does not
    /// tell of changes.
    package func run(clock: any Clock<Duration>, changed: @escaping @Sendable () async -> Void) async {
        let descriptor = clinux_network_events()
        guard descriptor >= 0 else { return }
        let events = Signal()
        guard
            let channel = try? await NIOPipeBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .channelInitializer({ channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(EventHandler(events))
                    }
                })
                .takingOwnershipOfDescriptor(input: descriptor).get()
        else { return }
        while !Task.isCancelled {
            await events.wait()
            try? await clock.sleep(for: Self.calm)
            guard !Task.isCancelled else { break }
            state.withLock { $0 = MachineNetworks.current() }
            await changed()
        }
        try? await channel.close()
    }

    /// What an event says is not read: the system is asked instead.
    private final class EventHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let events: Signal

        init(_ events: Signal) { self.events = events }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { events.notify() }
    }
}
