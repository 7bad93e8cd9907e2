import LinkSecurity
import NIOCore
import Synchronization

/// The first handler of a connection at an address that other machines reach: adds TLS when the first byte is that of a
/// handshake, and notes when it is not, so that a browser that was sent to `http://` is told.
final class TLSDoor: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// How a connection began.
    final class Arrival: Sendable {
        private let plain = Mutex(true)

        /// Whether it is not encrypted. True until the first byte.
        var isPlain: Bool {
            get { plain.withLock { $0 } }
            set { plain.withLock { $0 = newValue } }
        }
    }

    /// Of a record with a handshake (RFC 8446, 5.1).
    private static let handshake: UInt8 = 22

    private let tls: ServerTLS
    private let arrival: Arrival
    private var hasBegun = false

    init(tls: ServerTLS, arrival: Arrival) {
        self.tls = tls
        self.arrival = arrival
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Self.unwrapInboundIn(data)
        if !hasBegun, let first = bytes.readableBytesView.first {
            hasBegun = true
            if first == Self.handshake {
                arrival.isPlain = false
                do {
                    try tls.add(to: context.pipeline.syncOperations, after: self)
                } catch {
                    context.close(promise: nil)
                    return
                }
            }
        }
        context.fireChannelRead(Self.wrapInboundOut(bytes))
    }
}
