import Glibc
import Phrases
import Synchronization

/// Why something could not be printed.
struct OutputError: Error, Equatable, CustomStringConvertible {
    var errno: Int32

    /// The reader has gone.
    var isBrokenPipe: Bool { errno == EPIPE }

    var description: String { translated("The output cannot be written: \(String(cString: strerror(errno))).") }
}

/// A place to print to. Buffered, it writes 256 KiB at a time and when flushed; else every print goes out at once.
final class Output: Sendable {
    private static let capacity = 256 << 10

    private let waiting = Mutex<[UInt8]>([])
    private let isBuffered: Bool
    private let sink: @Sendable ([UInt8]) throws(OutputError) -> Void

    init(isBuffered: Bool, sink: @escaping @Sendable ([UInt8]) throws(OutputError) -> Void) {
        self.isBuffered = isBuffered
        self.sink = sink
    }

    convenience init(descriptor: Int32, isBuffered: Bool) {
        self.init(isBuffered: isBuffered) { bytes throws(OutputError) in
            try Self.write(bytes, to: descriptor)
        }
    }

    /// Prints text and a line feed.
    func print(_ text: String) throws(OutputError) {
        try append { bytes in
            bytes += text.utf8
            bytes.append(UInt8(ascii: "\n"))
        }
    }

    /// Prints bytes and a line feed.
    func print(bytes new: [UInt8]) throws(OutputError) {
        try append { bytes in
            bytes += new
            bytes.append(UInt8(ascii: "\n"))
        }
    }

    func write(_ text: String) throws(OutputError) { try append { $0 += text.utf8 } }

    func write(bytes new: [UInt8]) throws(OutputError) { try append { $0 += new } }

    func flush() throws(OutputError) { try append(flushing: true) { _ in } }

    private func append(flushing: Bool = false, _ change: (inout [UInt8]) -> Void) throws(OutputError) {
        // The lock is held while writing, so that what two tasks print stays in order.
        let failure: OutputError? = waiting.withLock { bytes in
            change(&bytes)
            guard !bytes.isEmpty, flushing || !isBuffered || bytes.count >= Self.capacity else { return nil }
            defer { bytes.removeAll(keepingCapacity: true) }
            do throws(OutputError) {
                try sink(bytes)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(OutputError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Glibc.poll(&poll, 1, -1)
            } else if errno != EINTR {
                throw OutputError(errno: errno)
            }
        }
    }
}
