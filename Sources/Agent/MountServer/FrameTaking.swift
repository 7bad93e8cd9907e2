import Glibc
import LocalSocket
import Logging
import MountProtocol
import Synchronization
import Threads

/// Takes the frames of one mount from its socket, by a few threads in turn: while one answers a request, the next one waits for
/// another. So a request needs no other thread to be woken before its answer is sent, and one that a slow disk keeps waiting does not
/// hold up the others.
final class FrameTaking: Sendable {
    static let threadCount = 4
    private static let bufferByteCount = 64 << 10

    private struct Reading: ~Copyable {
        var decoder = MountFrame.Decoder(limit: MountLimits.requestByteCount)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferByteCount, alignment: 16)
        var isOver = false

        deinit { buffer.deallocate() }
    }

    private let socket: LocalSocket
    private let connection: MountConnection
    private let others: AsyncStream<MountFrame>.Continuation
    private let logger: Logger
    private let reading: Mutex<Reading>
    private let threads = Guarded(0)

    /// - Parameter others: gets the frames that no thread answers; finished once no thread does anything any more.
    init(
        socket: LocalSocket, connection: MountConnection, others: AsyncStream<MountFrame>.Continuation, logger: Logger
    ) {
        self.socket = socket
        self.connection = connection
        self.others = others
        self.logger = logger
        reading = Mutex(Reading())
    }

    /// Returns when the connection is over and nothing is answered any more. The caller's thread is the first of those that take frames.
    func run() {
        for _ in 1..<Self.threadCount {
            threads.with { $0 += 1 }
            let isStarted = OwnedThread.start("mount-receive") { [self] in
                takeFrames()
                threads.with { $0 -= 1 }
            }
            if !isStarted { threads.with { $0 -= 1 } }
        }
        takeFrames()
        threads.wait { $0 == 0 ? () : nil }
        others.finish()
    }

    private func takeFrames() {
        while let taken = next() { connection.answer(taken) }
    }

    /// The next request for this thread; nil when the connection is over. Waits for the socket with the lock held, which is what the
    /// other threads wait for.
    private func next() -> MountConnection.Taken? {
        reading.withLock { reading in
            while !reading.isOver {
                do throws(MountProtocolError) {
                    while let frame = try reading.decoder.next() {
                        switch connection.take(frame) {
                        case .now(let taken): return taken
                        case .done: break
                        case .forRun:
                            // More under way than any mount sends.
                            if case .dropped = others.yield(frame) { end(&reading) }
                        }
                    }
                } catch {
                    logger.warning("a mount sent an invalid message: \(error.reason)")
                    end(&reading)
                }
                guard !reading.isOver, let (count, descriptor) = socket.receive(into: reading.buffer) else {
                    end(&reading)
                    break
                }
                if let descriptor { close(descriptor) }
                reading.decoder.append(reading.buffer[..<count])
            }
            return nil
        }
    }

    private func end(_ reading: inout Reading) {
        reading.isOver = true
        socket.end()
    }
}
