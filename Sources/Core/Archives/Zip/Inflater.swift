import CZlib
import Phrases
import Synchronization

/// Unpacks raw deflate, a piece at a time.
final class Inflater: Sendable {
    private struct State {
        let stream: UnsafeMutablePointer<z_stream>
        var input: [UInt8] = []
        var used = 0
        var hasEnded = false
    }

    /// zlib's state points back to its stream: it has one place.
    private let state: Mutex<State>

    /// Throws if there is no memory.
    init() throws(ArchiveError) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard synctrain_inflate_begin(stream) == Z_OK else {
            stream.deallocate()
            throw ArchiveError(.unsupported, "zlib cannot be initialized. Check the free memory of this machine.")
        }
        state = Mutex(State(stream: stream))
    }

    deinit {
        state.withLock { state in
            inflateEnd(state.stream)
            state.stream.deallocate()
        }
    }

    /// The stream is over: what comes behind it is nobody's.
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// What is unpacked next. Only when `next` has given nothing.
    func give(_ bytes: [UInt8]) {
        state.withLock { state in
            state.input = bytes
            state.used = 0
        }
    }

    /// At most `limit` bytes more; empty if more has to be given, or at the end. Throws `damaged`.
    func next(upTo limit: Int) throws(ArchiveError) -> [UInt8] {
        let result = state.withLock { state -> [UInt8]? in
            guard !state.hasEnded else { return [] }
            var status = Z_OK
            let input = state.input
            let used = state.used
            var left: UInt32 = 0
            let stream = state.stream
            let output = [UInt8](unsafeUninitializedCapacity: limit) { output, count in
                input.withUnsafeBufferPointer { input in
                    // zlib does not write to it; its field is not const.
                    stream.pointee.next_in = input.baseAddress.map { UnsafeMutablePointer(mutating: $0 + used) }
                    stream.pointee.avail_in = UInt32(clamping: input.count - used)
                    stream.pointee.next_out = output.baseAddress
                    stream.pointee.avail_out = UInt32(clamping: limit)
                    status = inflate(stream, Z_NO_FLUSH)
                    left = stream.pointee.avail_in
                    count = limit - Int(stream.pointee.avail_out)
                    stream.pointee.next_in = nil
                    stream.pointee.next_out = nil
                }
            }
            state.used = input.count - Int(left)
            if status == Z_STREAM_END { state.hasEnded = true }
            return [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(status) ? output : nil
        }
        guard let result else { throw ArchiveError.damaged(Phrase("a member cannot be decompressed")) }
        return result
    }
}
