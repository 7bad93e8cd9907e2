import NIOCore
import NIOPosix
import Synchronization
import TransportBluetooth

/// Bytes of a pattern sent over a link and compared at its other end.
enum Transfer {
    /// What arrived of one direction.
    struct Result: Sendable {
        var byteCount = 0
        /// Where the first piece begins that is not as it was sent.
        var firstWrong: Int?
        /// From the first byte to the last.
        var duration = Duration.zero
        /// Most bytes that were written and had not arrived: what is urgent waits behind so many.
        var mostUnderWay = 0
    }

    private static let pieceByteCount = 16 * 1024

    /// Sends `byteCount` bytes from one end, takes them at the other, and gives what came, which is less if the link
    /// ends. The taking end has bytes to skip that were sent before.
    ///
    /// - Parameter interruption: called once, in a thread of its own, when so many bytes have come.
    static func send(
        _ byteCount: Int, from sender: Endpoint, to receiver: Endpoint, skipping skipped: Int = 0, seed: UInt64 = 1,
        interruption: Interruption? = nil
    ) async throws -> Result {
        let pattern = Pattern(seed: seed)
        let written = Count()
        let loop = receiver.channel.eventLoop
        let done = loop.makePromise(of: Result.self)
        try await loop.submit {
            receiver.inlet.value.begin(
                Receipt(byteCount, pattern, skipping: skipped, written, interruption, done))
        }.get()
        sender.channel.eventLoop.execute { write(byteCount, pattern, from: 0, to: sender.channel, written) }
        return try await withTaskCancellationHandler {
            try await done.futureResult.get()
        } onCancel: {
            // Which ends the receipt, with what came.
            for end in [sender, receiver] { end.channel.close(promise: nil) }
        }
    }

    /// One piece at a time, on the channel's event loop: a piece's future is the back-pressure. Ends early when the link
    /// does; the receipt tells what that meant.
    private static func write(
        _ byteCount: Int, _ pattern: Pattern, from offset: Int, to channel: any Channel, _ written: Count
    ) {
        let count = min(pieceByteCount, byteCount - offset)
        guard count > 0 else { return }
        channel.writeAndFlush(pattern.bytes(at: offset, count: count)).whenSuccess {
            written.set(offset + count)
            write(byteCount, pattern, from: offset + count, to: channel, written)
        }
    }

    /// Throws unless everything came as it was sent; gives the rate in KB/s.
    @discardableResult
    static func check(_ result: Result, _ byteCount: Int, _ what: String) throws -> Int {
        guard result.byteCount == byteCount, result.firstWrong == nil else {
            throw Probe.Failure(
                "\(what): \(result.byteCount) of \(byteCount) bytes, first wrong piece at "
                    + (result.firstWrong.map(String.init) ?? "none"))
        }
        let rate = Report.rate(byteCount, result.duration)
        say("  \(what): \(byteCount) bytes right, \(rate) KB/s")
        return rate
    }
}

/// What breaks a transfer in its middle.
struct Interruption: Sendable {
    var byteCount: Int
    var action: @Sendable () -> Void
}

/// Compares what comes with what was sent, on the event loop of the end where it comes.
final class Receipt {
    private let byteCount: Int
    private let pattern: Pattern
    private var skip: Int
    private let written: Count
    private var interruption: Interruption?
    private let done: EventLoopPromise<Transfer.Result>
    private var result = Transfer.Result()
    private var start: ContinuousClock.Instant?

    init(
        _ byteCount: Int, _ pattern: Pattern, skipping skip: Int, _ written: Count, _ interruption: Interruption?,
        _ done: EventLoopPromise<Transfer.Result>
    ) {
        (self.byteCount, self.pattern, self.skip) = (byteCount, pattern, skip)
        (self.written, self.interruption, self.done) = (written, interruption, done)
    }

    /// Whether that was all.
    func take(_ piece: ByteBuffer) -> Bool {
        var bytes = piece
        let count = min(skip, bytes.readableBytes)
        skip -= count
        bytes.moveReaderIndex(forwardBy: count)
        if bytes.readableBytes == 0 { return false }
        start = start ?? ContinuousClock.now
        if bytes != pattern.bytes(at: result.byteCount, count: bytes.readableBytes), result.firstWrong == nil {
            result.firstWrong = result.byteCount
        }
        result.byteCount += bytes.readableBytes
        result.mostUnderWay = max(result.mostUnderWay, written.value - result.byteCount)
        if let interruption, result.byteCount > interruption.byteCount {
            self.interruption = nil
            NIOThreadPool.singleton.submit { _ in interruption.action() }
        }
        guard result.byteCount >= byteCount else { return false }
        end()
        return true
    }

    /// Nothing more comes.
    func end() {
        result.duration = start.map { ContinuousClock.now - $0 } ?? .zero
        done.succeed(result)
    }
}

/// A number that one end sets and the other reads.
final class Count: Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .acquiring) }

    func set(_ value: Int) { number.store(value, ordering: .releasing) }
}
