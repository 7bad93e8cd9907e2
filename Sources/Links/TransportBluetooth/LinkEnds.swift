import Glibc
import MessageBus
import NIOCore
import NIOPosix
import Synchronization
import Transport

/// Makes a stream channel of one end of a socket pair; packets are pumped to and from the other.
struct StreamEnds {
    /// What the kernel may hold between the channel and the pump, before its own doubling. Small, as what is written
    /// next waits behind it, and a Bluetooth link carries a few ten kilobytes a second. With GATT the stream holds more of
    /// the 64 KiB that are the most: it has to repeat what is lost.
    enum Buffer: CInt {
        case forPackets = 16_384
        case forValues = 4_096
    }

    private static let writeBufferWaterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 8 * 1024, high: 16 * 1024)
    /// One byte more than the pair's buffer holds would never come in one read.
    private static let readByteCount = 32 * 1024

    /// The pump's end.
    let pumped: Descriptor
    private let channelEnd: ChannelEnd

    /// The other end until the channel takes it.
    private final class ChannelEnd: Sendable {
        private let number: Mutex<CInt?>

        init(_ number: CInt) { self.number = Mutex(number) }

        deinit {
            if let number = take() { Glibc.close(number) }
        }

        func take() -> CInt? { number.withLock { $0.take() } }
    }

    init(_ buffer: Buffer) throws(SystemError) {
        let (pumped, other) = try Descriptor.pair(.stream)
        for end in [pumped, other] { try end.set(SO_SNDBUF, to: buffer.rawValue) }
        let number = fcntl(other.number, F_DUPFD_CLOEXEC, 3)
        guard number >= 0 else { throw SystemError("fcntl") }
        self.pumped = pumped
        channelEnd = ChannelEnd(number)
    }

    /// The channel, which owns its end from then on; it reads nothing until a link is started on it.
    ///
    /// To be called once.
    /// - Parameter initialize: called on the channel's event loop before it is active.
    func channel(
        on group: any EventLoopGroup, initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<any Channel> {
        let eventLoop = group.next()
        guard let number = channelEnd.take() else {
            return eventLoop.makeFailedFuture(SystemError("dup", EBADF))
        }
        return ClientBootstrap(group: eventLoop)
            .channelOption(.autoRead, value: false)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readByteCount))
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.writeBufferWaterMark, value: Self.writeBufferWaterMark)
            .channelInitializer(initialize)
            .withConnectedSocket(number)
    }
}

/// Where accepted links go: the listener of the moment.
struct LinkSink: Sendable {
    var isFull: @Sendable () -> Bool
    /// Takes a channel's place before it is active; see `AcceptedLinks.admit`.
    var admit: @Sendable (any Channel) -> Void
    /// Starts a link on the channel's event loop.
    var start: @Sendable (any Channel, LinkInformation) -> Void

    init<Output: Sendable>(_ accepted: AcceptedLinks<Output>, install: @escaping LinkInstaller<Output>) {
        isFull = { accepted.isFull }
        admit = { accepted.admit($0) }
        start = { channel, information in
            accepted.settle(channel, information.start(on: channel, install: install))
        }
    }

    /// Makes an accepted link of the ends and hands it to the listener.
    func accept(_ ends: StreamEnds, _ information: LinkInformation, on group: any EventLoopGroup) {
        let (admit, start) = (admit, start)
        ends.channel(on: group) { channel in
            admit(channel)
            return channel.eventLoop.makeSucceededVoidFuture()
        }.whenSuccess { channel in
            start(channel, information)
        }
    }
}
