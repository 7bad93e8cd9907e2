import Phrases
import Synchronization

/// Turns the packed bytes of a zip's member into its own, and holds the last ones back until they are known to be right:
/// who has got all of the announced bytes has got the member.
final class MemberDecoder: Sendable {
    private struct State {
        var crc: UInt32 = 0
        var count: Int64 = 0
        var held: [UInt8] = []
    }

    private let member: ArchiveMember
    private let data: ZipData
    /// Nil for a stored member.
    private let inflater: Inflater?
    private let state = Mutex(State())

    /// Throws `unsupported`, `encrypted`, and `damaged` for a size that cannot be.
    init(_ member: ArchiveMember, _ data: ZipData) throws(ArchiveError) {
        guard !member.isEncrypted else {
            throw ArchiveError(
                .encrypted,
                "\(member.path) is encrypted. Fetch the archive and unpack it with a program that asks for "
                    + "the password.")
        }
        switch data.method {
        case .stored:
            guard data.packedSize == member.size else { throw ArchiveError.damaged(Phrase("a member has two sizes")) }
            inflater = nil
        case .deflated:
            // Deflate makes no more than 1,032 of one byte.
            guard member.size / 1032 <= data.packedSize else {
                throw ArchiveError.damaged(Phrase("\(member.path) has an impossible size"))
            }
            inflater = try Inflater()
        case .other(let method):
            throw ArchiveError(
                .unsupported,
                "\(member.path) uses compression method \(method), which is not supported. Fetch the archive and unpack it."
            )
        }
        self.member = member
        self.data = data
    }

    /// Gives what can be given of the packed bytes that come next.
    func take(_ bytes: [UInt8], emit: @Sendable ([UInt8]) async throws -> Void) async throws {
        guard let inflater else { return try await advance(bytes, emit) }
        inflater.give(bytes)
        while true {
            let piece = try inflater.next(upTo: ArchiveLimits.piece)
            guard !piece.isEmpty else { return }
            try await advance(piece, emit)
        }
    }

    /// Gives the rest. Throws `damaged` if anything is not as announced.
    func finish(emit: @Sendable ([UInt8]) async throws -> Void) async throws {
        let (crc, count, held) = state.withLock { ($0.crc, $0.count, $0.held) }
        guard inflater?.hasEnded ?? true, count == member.size else {
            throw ArchiveError.damaged(Phrase("\(member.path) is shorter than announced"))
        }
        guard crc == data.crc else { throw ArchiveError.damaged(Phrase("\(member.path): checksum mismatch")) }
        if !held.isEmpty { try await emit(held) }
    }

    private func advance(_ bytes: [UInt8], _ emit: @Sendable ([UInt8]) async throws -> Void) async throws {
        let ready = try state.withLock { state throws(ArchiveError) -> [UInt8] in
            state.count += Int64(bytes.count)
            guard state.count <= member.size else {
                throw ArchiveError.damaged(Phrase("\(member.path) is longer than announced"))
            }
            state.crc = CRC32.of(bytes, continuing: state.crc)
            defer { state.held = bytes }
            return state.held
        }
        if !ready.isEmpty { try await emit(ready) }
    }
}
