import ControlAPI
import NIOCore
import NIOHTTP1

/// The parts of one HTTP answer. Transport errors come out as `ControlError.interrupted`.
struct AnswerBody {
    private var parts: NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator

    init(parts: NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator) { self.parts = parts }

    /// The final head; informational ones before it are passed over.
    mutating func head() async throws -> HTTPResponseHead {
        while let part = try await nextPart() {
            if case .head(let head) = part, head.status.code >= 200 { return head }
        }
        throw ControlError.brokenOff
    }

    /// Some bytes; nil at the end of a body that is whole.
    mutating func next() async throws -> ByteBuffer? {
        while let part = try await nextPart() {
            switch part {
            case .head: continue
            case .body(let bytes): return bytes
            case .end: return nil
            }
        }
        throw ControlError.brokenOff
    }

    mutating func collect(upTo limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let part = try await next() {
            guard bytes.count + part.readableBytes <= limit else {
                throw ControlError(
                    .tooLarge, "The agent's answer is larger than \(ByteText.size(Int64(limit))). Ask for less.")
            }
            bytes += part.readableBytesView
        }
        return bytes
    }

    private mutating func nextPart() async throws -> HTTPClientResponsePart? {
        do {
            let part = try await parts.next()
            // A cancelled iterator ends as if the connection had.
            if part == nil { try Task.checkCancellation() }
            return part
        } catch {
            try Task.checkCancellation()
            throw ControlError.brokenOff
        }
    }
}

extension ControlError {
    static let brokenOff = ControlError(
        .interrupted, "The agent's answer ended early. Repeat the command; `synctrain logs` may show why.",
        isRetryable: true)
}
