import NIOCore
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

    /// Sends `byteCount` bytes from one end, takes them at the other, and gives what came. The taking end has bytes to
    /// skip that were sent before.
    static func send(
        _ byteCount: Int, from sender: Endpoint, to receiver: Endpoint, skipping skipped: Int = 0, seed: UInt64 = 1,
        progress: @escaping @Sendable (Int) async -> Void = { _ in }
    ) async throws -> Result {
        let pattern = Pattern(seed: seed)
        let written = Count()
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                // Ends early when the link does; the receiver tells what that meant.
                try? await write(byteCount, pattern, to: sender, written)
                return nil
            }
            group.addTask { try await receive(byteCount, pattern, at: receiver, skipping: skipped, written, progress) }
            var result: Result?
            while let next = try await group.next() { result = next ?? result }
            guard let result else { throw Probe.Failure("nothing was received") }
            return result
        }
    }

    private static func write(
        _ byteCount: Int, _ pattern: Pattern, to end: Endpoint, _ written: Count
    ) async throws {
        var offset = 0
        while offset < byteCount {
            let count = min(pieceByteCount, byteCount - offset)
            // One piece at a time: its promise is the back-pressure.
            try await end.channel.writeAndFlush(pattern.bytes(at: offset, count: count)).get()
            offset += count
            written.set(offset)
        }
    }

    private static func receive(
        _ byteCount: Int, _ pattern: Pattern, at end: Endpoint, skipping skipped: Int, _ written: Count,
        _ progress: @Sendable (Int) async -> Void
    ) async throws -> Result {
        var result = Result()
        var skip = skipped
        var start: ContinuousClock.Instant?
        for await piece in end.inbound {
            var bytes = piece
            let count = min(skip, bytes.readableBytes)
            skip -= count
            bytes.moveReaderIndex(forwardBy: count)
            if bytes.readableBytes == 0 { continue }
            start = start ?? ContinuousClock.now
            if bytes != pattern.bytes(at: result.byteCount, count: bytes.readableBytes), result.firstWrong == nil {
                result.firstWrong = result.byteCount
            }
            result.byteCount += bytes.readableBytes
            result.mostUnderWay = max(result.mostUnderWay, written.value - result.byteCount)
            await progress(result.byteCount)
            if result.byteCount >= byteCount { break }
        }
        result.duration = start.map { ContinuousClock.now - $0 } ?? .zero
        return result
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

/// A number that one task sets and another reads.
private final class Count: Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .acquiring) }

    func set(_ value: Int) { number.store(value, ordering: .releasing) }
}
