import Dispatch
import Glibc
import Synchronization

/// Lines of standard input for a reader that may be cancelled while nothing is typed.
final class InputLines: Sendable {
    /// Longest line; what is behind it belongs to the next.
    private static let byteLimit = 4096
    private static let interval: Int32 = 100

    private enum Piece: Sendable {
        case bytes([UInt8])
        case nothing
        case end
    }

    private let waiting = Mutex<[UInt8]>([])

    /// The next line without its line feed; nil at the end of the input. Throws `CancellationError`.
    @Sendable func next() async throws -> String? {
        while true {
            if let line = takeLine() { return line }
            try Task.checkCancellation()
            switch await Self.read() {
            case .bytes(let bytes): waiting.withLock { $0 += bytes }
            case .nothing: break
            case .end: return takeRest()
            }
        }
    }

    /// The next byte; nil at the end of the input. For a terminal that hands over each key at once. Throws `CancellationError`.
    @Sendable func nextByte() async throws -> UInt8? {
        while true {
            if let byte = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return byte }
            try Task.checkCancellation()
            switch await Self.read() {
            case .bytes(let bytes): waiting.withLock { $0 += bytes }
            case .nothing: break
            case .end: return nil
            }
        }
    }

    private func takeLine() -> String? {
        waiting.withLock { bytes in
            let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
            guard end != nil || bytes.count >= Self.byteLimit else { return nil }
            let line = bytes[..<(end ?? Self.byteLimit)]
            defer { bytes.removeFirst(min(bytes.count, line.count + (end == nil ? 0 : 1))) }
            return String(decoding: line, as: UTF8.self)
        }
    }

    private func takeRest() -> String? {
        waiting.withLock { bytes in
            defer { bytes = [] }
            return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Waits a moment for input, on a thread that may wait.
    private static func read() async -> Piece {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: readNow()) }
        }
    }

    private static func readNow() -> Piece {
        var descriptor = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, interval) > 0 else { return .nothing }
        var bytes = [UInt8](repeating: 0, count: byteLimit)
        let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return .nothing }
        return count > 0 ? .bytes(Array(bytes[..<count])) : .end
    }
}
