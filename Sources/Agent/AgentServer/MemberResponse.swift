import ControlAPI
import ServiceLifecycle
import Synchronization

/// A response that is a file in an archive, or one range of it if the archive has it as it is.
struct MemberResponse: Sendable {
    /// Written at a time: what a slow reader is given time for.
    private static let pieceByteCount = 256 << 10

    let control: any AgentControl
    let sink: ResponseSink
    /// It is offered to be saved, whatever it is.
    var isDownload = false
    /// Returns when so many bytes may go.
    var pace: @Sendable (Int) async -> Void = { _ in }

    /// An error before the first byte is thrown. After it the connection is cut: the client sees fewer bytes than were
    /// announced.
    func send(_ member: MemberReference, ranges: ByteRangeSet?) async throws {
        let range = ranges.flatMap { $0.ranges.count == 1 ? $0.ranges.first : nil }
        let remaining = Mutex<Int64?>(nil)
        do {
            try await cancelWhenGracefulShutdown {
                try await control.readMember(member, range: range) { facts, part in
                    let length = part.map { $0.upperBound - $0.lowerBound + 1 } ?? 0
                    remaining.withLock { $0 = length }
                    var headers = headers(member, facts)
                    let isPart = range != nil && facts.isSeekable
                    if isPart, let part {
                        headers.append(("content-range", MultipartRanges.contentRange(part, of: facts.size)))
                    }
                    try await sink.begin(
                        status: isPart ? 206 : 200, contentType: contentType(member), contentLength: length,
                        headers: headers)
                } emit: { bytes in
                    let isWithin = remaining.withLock { remaining in
                        guard let left = remaining, Int64(bytes.count) <= left else { return false }
                        remaining = left - Int64(bytes.count)
                        return true
                    }
                    guard isWithin else {
                        throw ControlError(.failed, "More bytes arrived than announced. This is a bug.")
                    }
                    for start in stride(from: 0, to: bytes.count, by: Self.pieceByteCount) {
                        let piece = bytes[start..<min(bytes.count, start + Self.pieceByteCount)]
                        await pace(piece.count)
                        try Task.checkCancellation()
                        try await sink.write(piece)
                    }
                }
            }
            guard remaining.withLock({ $0 == 0 }) else {
                throw ControlError(.failed, "Fewer bytes arrived than announced. This is a bug.")
            }
            try await sink.end()
        } catch let error as ControlError where error.code == .rangeNotSatisfiable && remaining.withLock({ $0 == nil })
        {
            let json = try ControlJSON.encode(error)
            let size = try await control.memberFacts(member).size
            try await sink.begin(
                status: error.httpStatus, contentType: "application/json", contentLength: Int64(json.count),
                headers: [("content-range", "bytes */\(size)"), ("accept-ranges", "bytes")])
            try await sink.write(json)
            try await sink.end()
        } catch {
            guard remaining.withLock({ $0 != nil }) else { throw error }
            try? await sink.channel.close()
        }
    }

    func sendHead(_ member: MemberReference) async throws {
        let facts = try await control.memberFacts(member)
        try await sink.begin(
            status: 200, contentType: contentType(member), contentLength: facts.size, headers: headers(member, facts))
        try await sink.end()
    }

    private func contentType(_ member: MemberReference) -> String { MediaType(path: member.member).text }

    private func headers(_ member: MemberReference, _ facts: MemberFacts) -> [(String, String)] {
        [("accept-ranges", facts.isSeekable ? "bytes" : "none")]
            + FileResponse.Presentation.link(path: member.member, isDownload: isDownload).headers
    }
}

extension ControlResponder {
    /// What a browser may show of an archive; over TCP it goes at the pace of links.
    func memberResponse(to request: ControlRequest, through sink: ResponseSink) throws(ControlError) -> MemberResponse {
        guard case .session = request.admission else { return MemberResponse(control: handlers, sink: sink) }
        return MemberResponse(
            control: handlers, sink: sink, isDownload: try request.query().flag("download"), pace: pace)
    }
}
