import BlockExchange
import Cryptography
import LinkSecurity
import NIOCore
import NIOPosix
import Synchronization
import Testing
import Transport
import TransportTCP

/// All tests that open sockets: one after the other, as one of them counts the process's descriptors.
@Suite(.serialized, .timeLimit(.minutes(2)))
enum LinkTests {}

typealias RawLink = NIOAsyncChannel<ByteBuffer, ByteBuffer>

let anyPort = LinkAddress.tcp(host: "127.0.0.1", port: 0)

/// Makes a plain channel of a link.
let raw: LinkInstaller<RawLink> = { channel, _ in
    channel.eventLoop.makeCompletedFuture { try RawLink(wrappingChannelSynchronously: channel) }
}

func authenticator(
    _ kind: TestIdentity.Kind = .p256, limit: Duration = .seconds(10),
    protocols: [String] = [LinkAuthenticator.blockExchangeProtocol]
) throws -> LinkAuthenticator {
    try LinkAuthenticator(
        identity: #require(TestIdentity.shared[kind]).identity, applicationProtocols: protocols, handshakeLimit: limit)
}

/// The other device's.
func otherAuthenticator(
    _ identity: TestIdentity? = nil, protocols: [String] = [LinkAuthenticator.blockExchangeProtocol],
    limit: Duration = .seconds(10)
) throws -> LinkAuthenticator {
    try LinkAuthenticator(
        identity: (identity ?? TestIdentity.other.get()).identity, applicationProtocols: protocols,
        handshakeLimit: limit)
}

/// An installer's results in order, whether links or refusals.
struct Outcomes: Sendable {
    let results: AsyncStream<Result<DeviceID, any Error>>
    let install: LinkInstaller<SecureLink>

    init(_ authenticator: LinkAuthenticator) {
        let (results, continuation) = AsyncStream.makeStream(of: Result<DeviceID, any Error>.self)
        self.results = results
        install = { channel, information in
            let link = authenticator.install(channel, information)
            link.whenComplete { continuation.yield($0.map(\.peer)) }
            return link
        }
    }

    /// The next result as an error of LinkSecurity; nil for a link that came about.
    func nextRefusal() async -> LinkSecurityError? {
        for await result in results {
            if case .failure(let error) = result { return error as? LinkSecurityError }
            return nil
        }
        return nil
    }
}

/// Runs `body` with a listener for TLS links, whose results are in the outcomes.
func withListener<Output>(
    _ authenticator: LinkAuthenticator, transport: TCPTransport = TCPTransport(),
    _ body: (LinkListener<SecureLink>, UInt16, Outcomes) async throws -> Output
) async throws -> Output {
    let outcomes = Outcomes(authenticator)
    let listener = try await transport.listen(on: anyPort, install: outcomes.install)
    guard case .tcp(_, let port) = listener.address else { throw LinkError(.failed, "no port", isTransient: false) }
    do {
        let output = try await body(listener, port, outcomes)
        await listener.close()
        return output
    } catch {
        await listener.close()
        throw error
    }
}

/// Runs `body` with both ends of a link: that of the dialling side and that of the listening side.
func withSecurePair(
    _ dialling: LinkAuthenticator, _ listening: LinkAuthenticator,
    _ body: (SecureLink, SecureLink) async throws -> Void
) async throws {
    try await withListener(listening) { listener, _, _ in
        let link = try await TCPTransport().dial(listener.address, timeout: .seconds(10), install: dialling.install)
        var links = listener.makeAsyncIterator()
        let accepted = try #require(await links.next())
        try await body(link, accepted)
        await link.close()
        await accepted.close()
    }
}

/// Bytes that look random and are the same for the same seed.
func pattern(seed: UInt64, byteCount: Int) -> ByteBuffer {
    var state = seed
    var buffer = ByteBuffer()
    for _ in 0..<byteCount / 8 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        buffer.writeInteger(state ^ state >> 29)
    }
    return buffer
}

/// Reads exactly `byteCount` bytes and gives their digest; less when the stream ends before.
func digest(
    of inbound: NIOAsyncChannelInboundStream<ByteBuffer>, byteCount: Int, progress: (Int) -> Void = { _ in }
) async throws -> (SHA256Digest, byteCount: Int) {
    var hasher = SHA256Hasher()
    var count = 0
    for try await piece in inbound {
        piece.withUnsafeReadableBytes { hasher.update($0) }
        count += piece.readableBytes
        progress(piece.readableBytes)
        if count >= byteCount { break }
    }
    return (hasher.finalize(), count)
}

extension Collection<UInt8> {
    var sha256: SHA256Digest { SHA256.digest(self) }
}
