import NIOCore

/// What to do after bytes of a proxy were read.
package enum ProxyHandshakeStep: Equatable, Sendable {
    /// The answer is not complete; ask again when more bytes are there.
    case needMore
    case send(ByteBuffer)
    /// The tunnel stands: the bytes left in the buffer, and all that follow, are the target's.
    case established
}

/// The client's side of a handshake with a proxy: bytes in, bytes out.
package protocol ProxyHandshake: Sendable {
    /// What to send first.
    mutating func start() -> ByteBuffer

    /// Consumes one message of the proxy from the front of `buffer`, if it is there.
    ///
    /// To be called until it gives `needMore` or `established`. Never holds bytes of its own: what it has not consumed
    /// stays in the buffer. It decides after at most 8 KiB.
    /// - Throws: `ProxyError`; the connection is useless then.
    mutating func step(_ buffer: inout ByteBuffer) throws(ProxyError) -> ProxyHandshakeStep
}

extension ProxyAddress {
    /// The handshake that asks this proxy to connect to `host`.
    ///
    /// - Throws: `invalidTarget` for a host or port that cannot be asked for.
    package func handshake(to host: String, port: UInt16) throws(ProxyError) -> any ProxyHandshake {
        guard port != 0, HostText.isHost(host), !host.contains("%") else {
            throw ProxyError(
                .invalidTarget,
                "“\(Printable.text(HostText.join(host, port)))” cannot be reached through a proxy; use a name or an IP address without zone, and a port"
            )
        }
        return switch kind {
        case .socks5: SOCKSHandshake(proxy: self, host: host, port: port)
        case .http, .https: ConnectHandshake(proxy: self, host: host, port: port)
        }
    }
}
