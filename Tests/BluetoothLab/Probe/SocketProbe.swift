import CBluetooth
import Glibc
import MessageBus
import NIOPosix
import TransportBluetooth

/// The same transfer with nothing but two sockets and packets of one size: what the kernel gives.
enum SocketProbe {
    /// Sends `byteCount` bytes from the second adapter to the first; gives the time from the first byte's arrival to the
    /// last one's.
    static func run(
        _ byteCount: Int, from: BluetoothAddress, to: BluetoothAddress, packetByteCount: Int = L2CAPSocket.sendLimit
    ) async throws -> Duration {
        let (listening, psm) = try L2CAPSocket.listen(at: to, .public, preferred: 0xC0)
        let client = try L2CAPSocket.connect(from: from, .public, to: to, .public, psm: psm)[0]
        return try await withThrowingTaskGroup(of: Duration?.self) { group in
            group.addTask { try await Blocking.run { try take(listening, byteCount) } }
            group.addTask {
                try await Blocking.run {
                    try send(client, byteCount, packetByteCount)
                    return nil
                }
            }
            var duration: Duration?
            while let next = try await group.next() { duration = next ?? duration }
            guard let duration else { throw Probe.Failure("the plain sockets gave nothing") }
            return duration
        }
    }

    private static func wait(_ descriptor: CInt, _ events: CInt) {
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        poll(&entry, 1, 20_000)
    }

    private static func send(_ socket: L2CAPSocket, _ byteCount: Int, _ packetByteCount: Int) throws {
        let number = socket.descriptor.number
        wait(number, POLLOUT)
        guard socket.descriptor.pendingError() == 0 else { throw Probe.Failure("the plain socket does not connect") }
        let bytes = [UInt8](repeating: 7, count: min(packetByteCount, try socket.packetLimit()))
        var sent = 0
        while sent < byteCount {
            let count = Glibc.send(number, bytes, min(bytes.count, byteCount - sent), CInt(MSG_NOSIGNAL))
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                wait(number, POLLOUT)
            } else {
                throw SystemError("send")
            }
        }
        // Until the other end has it all and closes.
        wait(number, POLLIN)
    }

    private static func take(_ listening: L2CAPSocket, _ byteCount: Int) throws -> Duration? {
        wait(listening.descriptor.number, POLLIN)
        guard let (socket, _) = try listening.accept() else { throw Probe.Failure("the plain socket takes nobody") }
        var bytes = [UInt8](repeating: 0, count: 65536)
        var count = 0
        var start: ContinuousClock.Instant?
        while count < byteCount {
            wait(socket.descriptor.number, POLLIN)
            let taken = recv(socket.descriptor.number, &bytes, bytes.count, 0)
            if taken > 0 {
                start = start ?? ContinuousClock.now
                count += taken
            } else if taken == 0 || errno != EAGAIN {
                throw Probe.Failure("the plain socket ended after \(count) bytes")
            }
        }
        return start.map { ContinuousClock.now - $0 }
    }
}

/// Runs what waits in system calls outside of the tasks' threads.
enum Blocking {
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await NIOThreadPool.singleton.runIfActive(body)
    }
}
