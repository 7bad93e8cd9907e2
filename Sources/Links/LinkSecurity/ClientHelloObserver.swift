import NIOCore

/// Looks at the first message of a TLS client as it passes, because the TLS handler does not tell a client that offers
/// no application protocol from one that offers only others.
final class ClientHelloObserver: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var seen = ByteBuffer()
    private(set) var reading = ClientHelloReading.incomplete

    /// Whether the client left the list of protocols out; false as well when its message could not be read.
    var offersNoProtocol: Bool { reading == .offers(applicationProtocols: []) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .incomplete = reading {
            seen.writeImmutableBuffer(unwrapInboundIn(data))
            reading = ClientHelloReading(seen)
        }
        context.fireChannelRead(data)
        if reading != .incomplete {
            seen = ByteBuffer()
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        }
    }
}

/// What the bytes that a TLS client has sent so far say of the application protocols that it offers (RFC 8446,
/// section 4.1.2; RFC 7301).
enum ClientHelloReading: Equatable {
    case incomplete
    /// Not a client's first message, or one beyond all sense.
    case unreadable
    case offers(applicationProtocols: [String])

    /// No client sends a first message of more than a few kilobytes.
    static let maximumByteCount = 32 * 1024

    init(_ bytes: ByteBuffer) {
        guard let message = Self.message(in: bytes) else {
            self = bytes.readableBytes > Self.maximumByteCount ? .unreadable : .incomplete
            return
        }
        guard let protocols = message.flatMap(Self.protocols(in:)) else {
            self = .unreadable
            return
        }
        self = .offers(applicationProtocols: protocols)
    }

    /// The ClientHello put together from its records; nil while it is incomplete, and `.some(nil)` for anything else.
    private static func message(in bytes: ByteBuffer) -> ByteBuffer?? {
        var bytes = bytes
        var fragments = ByteBuffer()
        while true {
            if fragments.readableBytes >= 4 {
                var header = fragments
                guard let type = header.readInteger(as: UInt8.self), type == 1,
                    let high = header.readInteger(as: UInt8.self), let low = header.readInteger(as: UInt16.self)
                else { return .some(nil) }
                let length = Int(high) << 16 | Int(low)
                guard length <= maximumByteCount else { return .some(nil) }
                if let body = header.readSlice(length: length) { return .some(body) }
            }
            guard let type = bytes.readInteger(as: UInt8.self) else { return nil }
            guard type == 22 else { return .some(nil) }
            guard bytes.readInteger(as: UInt16.self) != nil else { return nil }
            guard let length = bytes.readInteger(as: UInt16.self) else { return nil }
            guard length > 0, length <= 1 << 14 else { return .some(nil) }
            guard var fragment = bytes.readSlice(length: Int(length)) else { return nil }
            fragments.writeBuffer(&fragment)
        }
    }

    private static func protocols(in message: ByteBuffer) -> [String]? {
        var message = message
        // legacy_version and random, session id, cipher suites, compression methods
        guard message.readSlice(length: 34) != nil,
            message.readLengthPrefixedSlice(as: UInt8.self) != nil,
            message.readLengthPrefixedSlice(as: UInt16.self) != nil,
            message.readLengthPrefixedSlice(as: UInt8.self) != nil
        else { return nil }
        guard message.readableBytes > 0 else { return [] }
        guard var extensions = message.readLengthPrefixedSlice(as: UInt16.self) else { return nil }
        while let type = extensions.readInteger(as: UInt16.self) {
            guard var body = extensions.readLengthPrefixedSlice(as: UInt16.self) else { return nil }
            guard type == 16 else { continue }
            guard var list = body.readLengthPrefixedSlice(as: UInt16.self) else { return nil }
            var names: [String] = []
            while list.readableBytes > 0 {
                guard let name = list.readLengthPrefixedSlice(as: UInt8.self) else { return nil }
                names.append(String(buffer: name))
            }
            return names.isEmpty ? nil : names
        }
        return extensions.readableBytes == 0 ? [] : nil
    }
}
