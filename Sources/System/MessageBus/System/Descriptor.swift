import CLinux
import Glibc

/// A file descriptor that closes when nobody holds it any more.
package final class Descriptor: Sendable {
    package let number: CInt

    /// Takes `number` over.
    package init(owning number: CInt) { self.number = number }

    deinit { close(number) }

    /// Another descriptor of the same open file.
    package static func duplicate(of number: CInt) throws(SystemError) -> Descriptor {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw SystemError("fcntl") }
        return Descriptor(owning: copy)
    }

    package enum PairKind: Sendable {
        /// Bytes.
        case stream
        /// Packets in order, each whole.
        case packets
    }

    /// Two ends of a local connection; reading and writing never wait.
    package static func pair(_ kind: PairKind) throws(SystemError) -> (Descriptor, Descriptor) {
        var numbers: [CInt] = [-1, -1]
        let type = kind == .stream ? SOCK_STREAM : SOCK_SEQPACKET
        let flags = CInt(type.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, flags, 0, &numbers) == 0 else { throw SystemError("socketpair") }
        return (Descriptor(owning: numbers[0]), Descriptor(owning: numbers[1]))
    }

    package func makeNonBlocking() throws(SystemError) {
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, fcntl(number, F_SETFL, flags | O_NONBLOCK) >= 0 else { throw SystemError("fcntl") }
    }

    package func set(_ option: CInt, level: CInt = SOL_SOCKET, to value: CInt) throws(SystemError) {
        var value = value
        guard setsockopt(number, level, option, &value, socklen_t(MemoryLayout<CInt>.size)) == 0 else {
            throw SystemError("setsockopt")
        }
    }

    /// The error that a socket has kept, as after a connection that was made without waiting.
    package func pendingError() -> CInt {
        var code: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno
    }
}

/// A flag that ends a `poll` in another thread.
package final class WakeFlag: Sendable {
    package let descriptor: Descriptor

    package init() throws(SystemError) {
        let number = eventfd(0, CLINUX_EVENTFD_FLAGS)
        guard number >= 0 else { throw SystemError("eventfd") }
        descriptor = Descriptor(owning: number)
    }

    package func raise() {
        // Fails only when it is raised already, some 2^64 times.
        eventfd_write(descriptor.number, 1)
    }

    package func lower() {
        var count: eventfd_t = 0
        eventfd_read(descriptor.number, &count)
    }
}
