import AgentContext
import AsyncTools
import CLinux
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Follows which networks this machine is in.
package final class NetworkWatch: Sendable {
    /// Changes come in bursts: an interface goes, its addresses, its routes.
    private static let calm: Duration = .milliseconds(200)
    /// How long to wait before the system is asked again for what it has closed.
    private static let reopeningPause: Duration = .seconds(10)

    private let openEvents: @Sendable () -> CInt
    private let state = Mutex(MachineNetworks.current())

    package convenience init() { self.init(openEvents: Self.systemEvents) }

    /// - Parameter openEvents: opens a descriptor that becomes readable at each change, or gives -1.
    init(openEvents: @escaping @Sendable () -> CInt) { self.openEvents = openEvents }

    /// What the system tells of changes by: a descriptor that becomes readable, or -1 and errno.
    static func systemEvents() -> CInt { clinux_network_events() }

    /// As they are now, as far as the system has told.
    package var current: MachineNetworks { state.withLock { $0 } }

    /// Calls `changed` at the beginning, as there may have been a change since this object was made, and after each change of the
    /// addresses or routes, until cancelled. Returns at once where the system does not tell of changes.
    package func run(
        clock: any Clock<Duration>, logger: Logger, changed: @escaping @Sendable () async -> Void
    ) async {
        var isFirst = true
        while !Task.isCancelled {
            let events = Signal()
            if let channel = await open(events) {
                // The system does not report what changed since this object was made, or since the last socket was closed.
                state.withLock { $0 = MachineNetworks.current() }
                events.notify()
                while true {
                    await events.wait()
                    guard channel.isActive else { break }
                    try? await clock.sleep(for: Self.calm)
                    guard !Task.isCancelled else { break }
                    state.withLock { $0 = MachineNetworks.current() }
                    await changed()
                }
                try? await channel.close()
                guard !Task.isCancelled else { return }
                logger.warning("the socket for network changes was closed; it is opened again")
            } else if isFirst {
                return
            }
            isFirst = false
            try? await clock.sleep(for: Self.reopeningPause)
        }
    }

    /// Notifies `events` of each event, and of the end of the channel.
    private func open(_ events: Signal) async -> (any Channel)? {
        let descriptor = openEvents()
        guard descriptor >= 0 else { return nil }
        do {
            return try await NIOPipeBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(EventHandler(events))
                    }
                }
                .takingOwnershipOfDescriptor(input: descriptor).get()
        } catch {
            close(descriptor)
            return nil
        }
    }

    /// What an event says is not read: the system is asked instead.
    private final class EventHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let events: Signal

        init(_ events: Signal) { self.events = events }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { events.notify() }

        func channelInactive(context: ChannelHandlerContext) { events.notify() }
    }
}
