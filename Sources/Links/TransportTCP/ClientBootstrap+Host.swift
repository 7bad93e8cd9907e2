import NIOCore
import NIOPosix

extension ClientBootstrap {
    /// Connects to a host. A number is dialled as it is; only a name is resolved.
    func connect(toNameOrNumber host: String, port: UInt16) -> EventLoopFuture<any Channel> {
        guard let literal = try? SocketAddress(ipAddress: host, port: Int(port)) else {
            return connect(host: host, port: Int(port))
        }
        return connect(to: literal)
    }
}
