import NIOCore

/// Opens byte streams to hosts: directly, or through a proxy.
///
/// For what is not a link to a device: discovery servers, relays, pools. The channels are stream channels of
/// `ByteBuffer`; who is at the other end is for the caller to verify.
package protocol StreamDialing: Sendable {
    /// Connects to `host` and gives what `install` makes of the channel.
    ///
    /// - Parameters:
    ///   - host: a name, or a number without brackets. A proxy resolves the name itself.
    ///   - timeout: for the connection alone, name resolution and proxy included; `install` has limits of its own.
    ///   - install: runs on the channel's event loop before any byte is read. When its future fails, the channel is
    ///     closed. An output that nobody takes, as after a cancellation, is dropped and its channel closed.
    /// - Throws: `LinkError`, or what `install` failed with; nothing is left open then. `CancellationError` at once when
    ///   the task is cancelled.
    func connect<Output: Sendable>(
        to host: String, port: UInt16, timeout: Duration,
        install: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> Output
}
