import ControlAPI
import ServiceLifecycle
import Synchronization

/// A response that is a file's bytes or part of them.
struct FileResponse: Sendable {
    let control: any AgentControl
    let sink: ResponseSink

    /// An error before the first byte is thrown. After it the connection is cut, so that the client sees fewer bytes
    /// than were announced: nothing else can be said in the middle of a body.
    func send(_ path: PathReference, range: ByteRange?) async throws {
        let progress = Progress()
        do {
            try await cancelWhenGracefulShutdown {
                try await control.read(path, range: range) { entry, part in
                    try await begin(path, entry, range: range, part: part, progress)
                } emit: { chunk in
                    try progress.take(chunk.count)
                    try Task.checkCancellation()
                    try await sink.write(chunk)
                }
            }
            try progress.finish()
            try await sink.end()
        } catch let error as ControlError where error.code == .rangeNotSatisfiable && !progress.hasBegun {
            try await answerUnsatisfiable(path, error)
        } catch {
            guard progress.hasBegun else { throw error }
            try? await sink.channel.close()
        }
    }

    private func begin(
        _ path: PathReference, _ entry: Entry, range: ByteRange?, part: ClosedRange<Int64>?, _ progress: Progress
    ) async throws {
        if range != nil, part == nil {
            throw ControlError(
                .rangeNotSatisfiable,
                "The range lies beyond the \(entry.size) bytes of \(path.text). Ask for less.", path: path.text)
        }
        let length = part.map { $0.upperBound - $0.lowerBound + 1 } ?? 0
        progress.begin(length: length)
        var headers = [("accept-ranges", "bytes")]
        if range != nil, let part {
            headers.append(("content-range", "bytes \(part.lowerBound)-\(part.upperBound)/\(entry.size)"))
        }
        try await sink.begin(
            status: range == nil ? 200 : 206, contentType: "application/octet-stream", contentLength: length,
            headers: headers)
    }

    func sendHead(_ path: PathReference) async throws {
        let entry = try await control.stat(path)
        guard entry.kind == .file else {
            throw ControlError(
                .invalidRequest, "\(path.text) is a \(entry.kind.rawValue), not a file.", path: path.text)
        }
        try await sink.begin(
            status: 200, contentType: "application/octet-stream", contentLength: entry.size,
            headers: [("accept-ranges", "bytes")])
        try await sink.end()
    }

    /// 416 names the size, so that the client can ask better (RFC 9110, 15.5.17).
    private func answerUnsatisfiable(_ path: PathReference, _ error: ControlError) async throws {
        let json = try ControlJSON.encode(error)
        let size = try await control.stat(path).size
        try await sink.begin(
            status: error.httpStatus, contentType: "application/json", contentLength: Int64(json.count),
            headers: [("content-range", "bytes */\(size)"), ("accept-ranges", "bytes")])
        try await sink.write(json)
        try await sink.end()
    }
}

/// How much of the announced body is still to come.
private final class Progress: Sendable {
    private let remaining = Mutex<Int64?>(nil)

    var hasBegun: Bool { remaining.withLock { $0 != nil } }

    func begin(length: Int64) { remaining.withLock { $0 = length } }

    /// Throws if the agent gives more than it announced.
    func take(_ count: Int) throws(ControlError) {
        let isWithin = remaining.withLock { remaining in
            guard let left = remaining, Int64(count) <= left else { return false }
            remaining = left - Int64(count)
            return true
        }
        guard isWithin else { throw ControlError(.failed, "More bytes came than were announced. This is a bug.") }
    }

    /// Throws if the agent gave less than it announced.
    func finish() throws(ControlError) {
        guard remaining.withLock({ $0 == 0 }) else {
            throw ControlError(.failed, "Fewer bytes came than were announced. This is a bug.")
        }
    }
}
