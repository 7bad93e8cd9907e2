import Phrases
import Synchronization

/// The bytes of an archive, wherever they are: all that is known of it.
package protocol ArchiveSource: Sendable {
    /// In bytes.
    var size: Int64 { get }
    /// Gives exactly the bytes of `range`, which lies within `0..<size` and is not empty, in order. Throws if it cannot.
    func read(_ range: Range<Int64>, emit: @Sendable ([UInt8]) async throws -> Void) async throws
}

/// Reads what is small in windows that lie within one block each, and keeps the last ones: directories lie side by side.
final class WindowReader: Sendable {
    /// The smallest block there is.
    static let windowByteCount: Int64 = 128 << 10
    private static let windowLimit = 32

    private struct Kept {
        var windows: [Int64: [UInt8]] = [:]
        /// Oldest first.
        var order: [Int64] = []
    }

    let source: any ArchiveSource
    private let kept = Mutex(Kept())

    var size: Int64 { source.size }

    init(_ source: any ArchiveSource) { self.source = source }

    /// Throws `damaged` for what lies outside of the archive.
    func bytes(_ start: Int64, count: Int64) async throws -> [UInt8] {
        guard start >= 0, count >= 0, start <= size, count <= size - start else {
            throw ArchiveError.damaged(Phrase("it points beyond its end"))
        }
        guard count > 0 else { return [] }
        let end = start + count
        guard count <= 4 * Self.windowByteCount else { return try await read(start..<end) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(count))
        var position = start
        while position < end {
            let number = position / Self.windowByteCount
            let window = try await window(number)
            let first = number * Self.windowByteCount
            let last = min(end, first + Self.windowByteCount)
            bytes += window[Int(position - first)..<Int(last - first)]
            position = last
        }
        return bytes
    }

    private func window(_ number: Int64) async throws -> [UInt8] {
        if let window = kept.withLock({ $0.windows[number] }) { return window }
        let start = number * Self.windowByteCount
        let window = try await read(start..<min(size, start + Self.windowByteCount))
        kept.withLock { kept in
            if kept.windows.updateValue(window, forKey: number) == nil { kept.order.append(number) }
            if kept.order.count > Self.windowLimit { kept.windows[kept.order.removeFirst()] = nil }
        }
        return window
    }

    private func read(_ range: Range<Int64>) async throws -> [UInt8] {
        let collected = Mutex<[UInt8]>([])
        try await source.read(range) { bytes in collected.withLock { $0 += bytes } }
        let bytes = collected.withLock { $0 }
        guard bytes.count == range.count else { throw ArchiveError.damaged(Phrase("it is shorter than it was")) }
        return bytes
    }
}
