import Archives
import Synchronization

/// An archive in memory that keeps what was asked of it. Where it has no bytes there are zeros.
final class MemorySource: ArchiveSource {
    let size: Int64
    private let pieces: [(start: Int64, bytes: [UInt8])]
    private let asked = Mutex<[Range<Int64>]>([])
    /// Bytes that it gives at a time.
    private let step: Int

    init(_ bytes: [UInt8], step: Int = 1 << 20) {
        size = Int64(bytes.count)
        pieces = [(0, bytes)]
        self.step = step
    }

    init(size: Int64, pieces: [(start: Int64, bytes: [UInt8])], step: Int = 1 << 20) {
        self.size = size
        self.pieces = pieces
        self.step = step
    }

    var reads: [Range<Int64>] { asked.withLock { $0 } }

    func read(_ range: Range<Int64>, emit: @Sendable ([UInt8]) async throws -> Void) async throws {
        asked.withLock { $0.append(range) }
        precondition(range.lowerBound >= 0 && range.upperBound <= size && !range.isEmpty, "a read outside of the file")
        var position = range.lowerBound
        while position < range.upperBound {
            let end = min(position + Int64(step), range.upperBound)
            var bytes = [UInt8](repeating: 0, count: Int(end - position))
            for piece in pieces {
                let first = max(position, piece.start)
                let last = min(end, piece.start + Int64(piece.bytes.count))
                guard first < last else { continue }
                let part = piece.bytes[Int(first - piece.start)..<Int(last - piece.start)]
                bytes.replaceSubrange(Int(first - position)..<Int(last - position), with: part)
            }
            try await emit(bytes)
            position = end
        }
    }
}

extension Archive {
    func content(_ member: ArchiveMember, _ range: ClosedRange<Int64>? = nil) async throws -> [UInt8] {
        let content = Mutex<[UInt8]>([])
        try await read(member, range: range) { bytes in content.withLock { $0 += bytes } }
        return content.withLock { $0 }
    }

    func all() throws -> [ArchiveMember] { try members(offset: 0, limit: .max) }
}

/// The code of the `ArchiveError` that `body` throws; nil if it throws none.
func archiveError(_ body: () async throws -> Void) async throws -> ArchiveError.Code? {
    do {
        try await body()
        return nil
    } catch let error as ArchiveError {
        return error.code
    }
}
