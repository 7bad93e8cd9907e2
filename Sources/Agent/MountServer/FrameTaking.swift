import Glibc
import LocalSocket
import Logging
import MountProtocol
import Synchronization
import Threads

/// Takes the frames of one mount from its socket, by a few threads: each takes one and answers it. So a request needs no other thread to
/// be woken before its answer is sent, and one that a slow disk keeps waiting does not hold up the others.
final class FrameTaking: Sendable {
    static let threadCount = 4
    private static let bufferByteCount = 64 << 10

    private struct Reading: ~Copyable {
        var decoder = MountFrame.Decoder(limit: MountLimits.requestByteCount)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferByteCount, alignment: 16)
        var isOver = false

        deinit { buffer.deallocate() }
    }

    /// What there is for a thread that asks.
    private enum Turn {
        /// - Parameter leavesMore: there is more behind it, or may be, which another thread is to look for.
        case request(MountConnection.Taken, leavesMore: Bool)
        /// All that has come was taken.
        case nothing
        case over
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
        defer { others.finish() }
        guard let arrivals = socket.arrivals() else {
            logger.warning("a mount was refused: \(String(cString: strerror(errno)))")
            return socket.end()
        }
        for _ in 1..<Self.threadCount {
            threads.with { $0 += 1 }
            let isStarted = OwnedThread.start("mount-receive") { [self] in
                takeFrames(arrivals)
                threads.with { $0 -= 1 }
            }
            if !isStarted { threads.with { $0 -= 1 } }
        }
        takeFrames(arrivals)
        threads.wait { $0 == 0 ? () : nil }
    }

    private func takeFrames(_ arrivals: SocketArrivals) {
        while true {
            switch next(arrivals) {
            case .request(let taken, _): connection.answer(taken)
            case .nothing: arrivals.wait()
            case .over: return
            }
        }
    }

    private func next(_ arrivals: SocketArrivals) -> Turn {
        reading.withLock { reading in
            let turn = Self.next(&reading, socket, connection, others, logger)
            switch turn {
            // This thread is busy for a while.
            case .request(_, leavesMore: true): arrivals.leave()
            // One thread after the other gets to know it.
            case .over: arrivals.leave()
            default: break
            }
            return turn
        }
    }

    private static func next(
        _ reading: inout Reading, _ socket: LocalSocket, _ connection: MountConnection,
        _ others: AsyncStream<MountFrame>.Continuation, _ logger: Logger
    ) -> Turn {
        // Whether what this thread was woken for is in the decoder: it may be in the socket, behind frames that another thread read.
        var isAllRead = false
        while !reading.isOver {
            do throws(MountProtocolError) {
                while let frame = try reading.decoder.next() {
                    switch connection.take(frame) {
                    case .now(let taken):
                        return .request(taken, leavesMore: !isAllRead || !reading.decoder.isEmpty)
                    case .done: break
                    case .forRun:
                        // More under way than any mount sends.
                        if case .dropped = others.yield(frame) { end(&reading, socket) }
                    }
                }
            } catch {
                logger.warning("a mount sent an invalid message: \(error.reason)")
                end(&reading, socket)
            }
            guard !reading.isOver else { break }
            switch socket.receiveNow(into: reading.buffer) {
            case .bytes(let count, let descriptor):
                if let descriptor { close(descriptor) }
                isAllRead = count < reading.buffer.count && descriptor == nil
                reading.decoder.append(UnsafeRawBufferPointer(rebasing: reading.buffer[..<count]))
            case .nothing: return .nothing
            case .over: end(&reading, socket)
            }
        }
        return .over
    }

    private static func end(_ reading: inout Reading, _ socket: LocalSocket) {
        reading.isOver = true
        socket.end()
    }
}
