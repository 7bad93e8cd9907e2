import Foundation
import Glibc

enum FileDescriptors {
    static func count() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
}

/// A socket made by hand, for what NIO's channels would not do.
final class PlainSocket: Sendable {
    let descriptor: CInt
    let port: UInt16

    /// Binds a socket to a free port of the loopback, or to the one given.
    init?(type: __socket_type, port: UInt16 = 0) {
        descriptor = socket(AF_INET, CInt(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
            }
        }
        self.port = UInt16(bigEndian: address.sin_port)
        if !isBound { return nil }
    }

    deinit { close(descriptor) }

    /// Lets peers connect, up to about `backlog` of them, and never takes one.
    func ignorePeers(backlog: CInt) { listen(descriptor, backlog) }
}

extension PlainSocket {
    /// A listening socket whose queue is full, so that further peers hang in connecting.
    static func full() -> FullSocket? { FullSocket() }

    func connect(to port: UInt16) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}

final class FullSocket: Sendable {
    let socket: PlainSocket
    private let first: PlainSocket

    init?() {
        guard let socket = PlainSocket(type: SOCK_STREAM), let first = PlainSocket(type: SOCK_STREAM) else {
            return nil
        }
        // A queue of zero takes one peer on Linux; the next one's SYN is dropped.
        socket.ignorePeers(backlog: 0)
        guard first.connect(to: socket.port) else { return nil }
        self.socket = socket
        self.first = first
    }
}

extension PlainSocket {
    func send(_ bytes: [UInt8]) { _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, 0) } }
}
