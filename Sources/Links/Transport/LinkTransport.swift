import NIOCore
import Phrases

/// Makes something of a link that has just connected, such as a TLS session on it.
///
/// Called once per link on the channel's event loop, when the channel is active and before a byte was read from it: what
/// the installer adds to the pipeline before it returns sees every byte. The future must complete within a time of the
/// installer's own; when it fails, the transport closes the channel. A transport closes and drops what nobody takes, as
/// after a cancelled dial, so an output must bear to be dropped.
package typealias LinkInstaller<Output: Sendable> =
    @Sendable (_ channel: any Channel, _ information: LinkInformation) -> EventLoopFuture<Output>

/// A way to connect two devices: it ends at a connected byte stream, and who is at the other end is no matter of it.
///
/// The channels are stream channels of `ByteBuffer` with back-pressure by writability and by `autoRead`. The end of the
/// peer's stream closes the channel both ways unless the installer sets `allowRemoteHalfClosure`.
package protocol LinkTransport: Sendable {
    /// Whether this transport serves addresses such as `address`.
    func serves(_ address: LinkAddress) -> Bool

    /// Connects to `address` and gives what `install` makes of the link.
    ///
    /// - Parameter timeout: for the connection alone, name resolution included; `install` has limits of its own.
    /// - Throws: `LinkError`, or what `install` failed with. When it throws, nothing is left open; on cancellation that
    ///   is `CancellationError`, at once.
    func dial<Output: Sendable>(
        _ address: LinkAddress, timeout: Duration, install: @escaping LinkInstaller<Output>
    ) async throws -> Output

    /// Listens at `address` until the listener is closed; each accepted link goes through `install`.
    ///
    /// A link whose `install` fails is closed and does not end the listener; an installer that wants the reason in a
    /// log looks at its own future.
    /// - Throws: `LinkError`.
    func listen<Output: Sendable>(
        on address: LinkAddress, install: @escaping LinkInstaller<Output>
    ) async throws -> LinkListener<Output>
}

extension LinkInformation {
    /// Runs `install` on a connected channel that has `autoRead` off, and lets the channel read from then on.
    ///
    /// For transports; to be called on the channel's event loop. The channel is closed when the installer fails.
    package func start<Output: Sendable>(
        on channel: any Channel, install: LinkInstaller<Output>
    ) -> EventLoopFuture<Output> {
        channel.eventLoop.assertInEventLoop()
        // What is added to a channel that has closed meanwhile would never hear of the end.
        guard channel.isActive else {
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(
                LinkError(
                    .failed,
                    "the other side at \(remoteAddress) closed the link at once; it will be tried "
                        + "again", isTransient: true))
        }
        let output = install(channel, self)
        output.whenFailure { _ in channel.close(promise: nil) }
        // Fails only on a channel that has closed meanwhile, which the installer's handlers have seen.
        _ = channel.setOption(.autoRead, value: true)
        return output
    }
}
