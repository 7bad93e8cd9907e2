import CLinux
import Glibc
import Threads

/// A connection to another program of this machine, over which messages and descriptors go.
///
/// `send` never blocks: what does not fit into the socket at once is queued, and written by a thread of the connection's own. `receive`
/// blocks its thread. The socket is closed
/// when the last reference and the writing thread are gone.
package final class LocalSocket: Sendable {
    /// What keeps a descriptor open until it is sent.
    package struct Enclosed: Sendable {
        package let number: CInt
        private let owner: any Sendable

        package init(number: CInt, owner: any Sendable) {
            self.number = number
            self.owner = owner
        }
    }

    private struct Message {
        let bytes: [UInt8]
        /// So many of them were sent.
        let done: Int
        let enclosed: Enclosed?
    }

    private struct Queue {
        var messages: [Message] = []
        var byteCount = 0
        /// The thread writes a message that it took out.
        var isWriting = false
        var isClosed = false
    }

    private final class Handle: Sendable {
        let number: CInt

        init(_ number: CInt) { self.number = number }

        deinit { close(number) }
    }

    private let handle: Handle
    private let queue = Guarded(Queue())
    private let limit: Int

    /// - Parameters:
    ///   - descriptor: a connected stream socket, from now on this object's.
    ///   - limit: bytes that may wait to be sent.
    package init(owning descriptor: CInt, limit: Int = 64 << 20) {
        handle = Handle(descriptor)
        self.limit = limit
    }

    deinit { end() }

    /// Connects to the socket at `path`; nil and errno if nobody listens there.
    package static func connect(to path: String) -> LocalSocket? {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        let result = withAddress(path) { Glibc.connect(descriptor, $0, $1) }
        guard result == 0 else {
            let number = errno
            close(descriptor)
            errno = number
            return nil
        }
        return LocalSocket(owning: descriptor)
    }

    /// Listens at `path`, which only this user may connect to; -1 and errno if that cannot be. What was there is replaced.
    package static func listen(at path: String) -> CInt {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return -1 }
        // Under another name until it has its mode.
        let provisional = path + ".new"
        unlink(provisional)
        guard withAddress(provisional, { bind(descriptor, $0, $1) }) == 0, chmod(provisional, 0o600) == 0,
            Glibc.listen(descriptor, 64) == 0, rename(provisional, path) == 0
        else {
            let number = errno
            close(descriptor)
            unlink(provisional)
            errno = number
            return -1
        }
        return descriptor
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            errno = ENAMETOOLONG
            return -1
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Whether the other end runs as this process's user.
    package var isOwnUser: Bool { clinux_peer_user(handle.number) == Int64(geteuid()) }

    /// The process at the other end, as the kernel noted it when it connected; 0 if that is not known.
    package var process: Int32 { Int32(clamping: max(0, clinux_peer_process(handle.number))) }

    /// Starts the thread that writes; once.
    package func startSending(_ name: String) -> Bool {
        OwnedThread.start(name) { [handle, queue] in
            while true {
                let next = queue.wait { queue -> Message?? in
                    queue.isWriting = !queue.messages.isEmpty
                    if queue.isClosed { return .some(nil) }
                    guard !queue.messages.isEmpty else { return nil }
                    let message = queue.messages.removeFirst()
                    queue.byteCount -= message.bytes.count
                    return message
                }
                guard let next, Self.write(next, to: handle.number) == next.bytes.count else { break }
            }
            queue.with { $0.isClosed = true }
            shutdown(handle.number, Int32(SHUT_RDWR))
        }
    }

    /// Sends a message, now or later. False if the connection is closed, or closes now since the other end takes nothing.
    @discardableResult
    package func send(_ bytes: [UInt8], _ enclosed: Enclosed? = nil) -> Bool {
        enum Outcome { case sent, queued, refused }
        let outcome = queue.quietly { queue -> Outcome in
            guard !queue.isClosed, queue.byteCount <= limit - min(limit, bytes.count) else { return .refused }
            var message = Message(bytes: bytes, done: 0, enclosed: enclosed)
            // Nobody has to be woken for what fits into the socket, which is what most messages do.
            if queue.messages.isEmpty, !queue.isWriting {
                guard let done = Self.write(message, to: handle.number, waits: false) else { return .refused }
                if done == bytes.count { return .sent }
                message = Message(bytes: bytes, done: done, enclosed: done == 0 ? enclosed : nil)
            }
            queue.messages.append(message)
            queue.byteCount += bytes.count
            return .queued
        }
        switch outcome {
        case .sent: return true
        case .queued:
            queue.with { _ in }
            return true
        case .refused:
            end()
            return false
        }
    }

    /// How many bytes of the message are sent by now; nil if the connection is over. The descriptor goes with the first.
    private static func write(_ message: Message, to descriptor: CInt, waits: Bool = true) -> Int? {
        message.bytes.withUnsafeBytes { bytes in
            var done = message.done
            while done < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                let count = clinux_send(
                    descriptor, rest.baseAddress, rest.count, done == 0 ? message.enclosed?.number ?? -1 : -1,
                    waits ? 1 : 0)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN, !waits { return done }
                guard count > 0 else { return nil }
                done += Int(count)
            }
            return done
        }
    }

    /// Waits for bytes and gives how many were put into `buffer`, and a descriptor that came along, which is the caller's. Nil
    /// when the connection is over.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, descriptor: CInt?)? {
        guard case .bytes(let count, let descriptor) = receive(into: buffer, waits: true) else { return nil }
        return (count, descriptor)
    }

    package enum Received {
        /// So many were put into the buffer; the descriptor that came along is the receiver's.
        case bytes(Int, descriptor: CInt?)
        case nothing
        /// The connection is over.
        case over
    }

    /// What has come by now.
    package func receiveNow(into buffer: UnsafeMutableRawBufferPointer) -> Received {
        receive(into: buffer, waits: false)
    }

    private func receive(into buffer: UnsafeMutableRawBufferPointer, waits: Bool) -> Received {
        while true {
            // Who waits in recvmsg(2) is also woken when the other end has taken what was sent to it.
            var arrival = pollfd(fd: handle.number, events: Int16(POLLIN), revents: 0)
            if waits { poll(&arrival, 1, -1) }
            var descriptor: CInt = -1
            let count = clinux_receive(handle.number, buffer.baseAddress, buffer.count, &descriptor)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                if waits { continue }
                return .nothing
            }
            guard count > 0 else { return .over }
            return .bytes(Int(count), descriptor: descriptor >= 0 ? descriptor : nil)
        }
    }

    /// What threads wait by for more to come; nil and errno if the process has too many descriptors.
    package func arrivals() -> SocketArrivals? { SocketArrivals(of: handle.number, owner: handle) }

    /// Ends the connection: what is queued may be lost, whoever waits in `receive` returns.
    package func end() {
        queue.with { $0.isClosed = true }
        shutdown(handle.number, Int32(SHUT_RDWR))
    }
}
