import BlockExchange
import NIOCore
import Transport

/// A link to an authenticated peer: bytes in order both ways, encrypted.
///
/// Who holds a `SecureLink` owns its channel: when the last copy goes, the link is closed.
package struct SecureLink: Sendable {
    /// The peer's id: the SHA-256 of its certificate as it was sent.
    package let peer: DeviceID
    /// The names in the peer's certificate.
    package let names: CertificateNames
    package let information: LinkInformation
    /// What both agreed to speak; nil when the peer named nothing, which Syncthing takes for BEP with a warning.
    package let applicationProtocol: String?
    private let lease: Lease
    private let writer: LinkWriter

    init(
        peer: DeviceID, names: CertificateNames, information: LinkInformation, applicationProtocol: String?,
        channel: NIOAsyncChannel<ByteBuffer, Never>, writer: LinkWriter
    ) {
        self.peer = peer
        self.names = names
        self.information = information
        self.applicationProtocol = applicationProtocol
        lease = Lease(channel: channel)
        self.writer = writer
    }

    /// Whether the peer's certificate is named `syncthing`, as Syncthing asks of its peers; the caller decides.
    package var isNamedSyncthing: Bool { names.isNamedSyncthing }

    /// The channel under the two directions, for an owner that keeps its messages in order itself: what is written to it
    /// leaves in the order of the calls. Reading is `executeThenClose`'s.
    package var channel: any Channel { lease.channel.channel }

    /// Completes when the link is closed, by either side.
    package var closeFuture: EventLoopFuture<Void> { lease.channel.channel.closeFuture }

    /// Gives `body` the link's two directions, and closes the link when `body` returns or throws. To be called once.
    ///
    /// - Inbound: pieces of at most 256 KiB or so; when eight wait to be taken, reading stops until two are left. It ends
    ///   with the peer's end of the link, with a close_notify or without, and throws `LinkSecurityError` or `IOError`
    ///   when the link breaks.
    /// - Outbound: `write` waits while more than 512 KiB wait to be sent; any number of tasks may write.
    /// - There is no half-closed link: the peer's end ends both directions, and writing throws from then on. What was
    ///   written before closing is sent, and the closing waits one second at most for the peer's end.
    /// - Cancellation ends the inbound sequence and makes writes throw.
    /// - Throws: what `body` throws; what the channel throws if closing fails.
    package func executeThenClose<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ outbound: LinkWriter) async throws ->
            sending Result
    ) async throws -> sending Result {
        try await lease.channel.executeThenClose(isolation: isolation) { inbound in
            try await body(inbound, writer)
        }
    }

    /// Closes a link that is not wanted, or one from under its user; returns when it is closed.
    package func close() async {
        lease.channel.channel.close(promise: nil)
        try? await closeFuture.get()
    }

    /// Owns the async channel, whose own release closes nothing.
    private final class Lease: Sendable {
        let channel: NIOAsyncChannel<ByteBuffer, Never>

        init(channel: NIOAsyncChannel<ByteBuffer, Never>) { self.channel = channel }

        deinit {
            channel.channel.close(promise: nil)
        }
    }
}
