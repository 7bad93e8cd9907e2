import ControlAPI
import Cryptography
import ServiceLifecycle
import Synchronization

/// A response that is a file's bytes or parts of them.
struct FileResponse: Sendable {
    /// What is said of the bytes.
    struct Presentation: Sendable {
        var contentType = "application/octet-stream"
        var headers: [(String, String)] = []

        /// For browsers and programs of other people: nothing in the file is to be taken for a page of this machine's.
        ///
        /// - Parameter isDownload: it is offered to be saved, whatever it is.
        static func link(path: String, isDownload: Bool = false) -> Presentation {
            var type = MediaType(path: path)
            if isDownload { type.isShown = false }
            return Presentation(
                contentType: type.text,
                headers: [
                    ("content-disposition", type.disposition(path: path)),
                    ("content-security-policy", type.contentSecurityPolicy),
                    ("cross-origin-resource-policy", "same-origin"), ("referrer-policy", "no-referrer"),
                ])
        }
    }

    /// Which file or directory it has to be: a path as text may mean another folder's, where ids hold colons.
    struct Expected: Sendable {
        var folder: String
        var path: String

        /// Throws `noSuchPath` if `reference` led to another.
        func check(_ entry: Entry, _ reference: PathReference) throws(ControlError) {
            guard entry.folder == folder, entry.path.utf8.elementsEqual(path.utf8) else {
                throw ControlError(
                    .noSuchPath,
                    "\(reference.text) is ambiguous: it could be a file of the folder \(entry.folder). Read that with "
                        + "`synctrain cat`.", path: reference.text)
            }
        }
    }

    /// Written at a time: what a slow reader is given time for.
    private static let pieceByteCount = 256 << 10

    let control: any AgentControl
    let sink: ResponseSink
    /// Of the file that is found.
    var presentation: @Sendable (Entry) -> Presentation = { _ in Presentation() }
    var expected: Expected?
    /// Returns when so many bytes may go.
    var pace: @Sendable (Int) async -> Void = { _ in }

    /// An error before the first byte is thrown. After it the connection is cut, so that the client sees fewer bytes
    /// than were announced: nothing else can be said in the middle of a body.
    func send(_ path: PathReference, ranges: ByteRangeSet?) async throws {
        let progress = Progress()
        do {
            try await cancelWhenGracefulShutdown {
                if let ranges, ranges.ranges.count > 1 {
                    try await sendSome(path, ranges, progress)
                } else {
                    try await sendOne(path, ranges?.ranges.first, progress)
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

    func sendHead(_ path: PathReference) async throws {
        let entry = try await stat(path)
        let presentation = presentation(entry)
        try await sink.begin(
            status: 200, contentType: presentation.contentType, contentLength: entry.size,
            headers: [("accept-ranges", "bytes")] + presentation.headers)
        try await sink.end()
    }

    private func sendOne(_ path: PathReference, _ range: ByteRange?, _ progress: Progress) async throws {
        try await control.read(path, range: range) { entry, part in
            try check(entry, path)
            if range != nil, part == nil { throw unsatisfiable(path, size: entry.size) }
            let length = part.map { $0.upperBound - $0.lowerBound + 1 } ?? 0
            progress.begin(length: length)
            let presentation = presentation(entry)
            var headers = [("accept-ranges", "bytes")] + presentation.headers
            if range != nil, let part {
                headers.append(("content-range", MultipartRanges.contentRange(part, of: entry.size)))
            }
            try await sink.begin(
                status: range == nil ? 200 : 206, contentType: presentation.contentType, contentLength: length,
                headers: headers)
        } emit: { chunk in
            try await write(chunk, progress)
        }
    }

    private func sendSome(_ path: PathReference, _ ranges: ByteRangeSet, _ progress: Progress) async throws {
        let entry = try await stat(path)
        let parts: [ClosedRange<Int64>]
        switch ranges.answer(size: entry.size) {
        case .whole: return try await sendOne(path, nil, progress)
        case .unsatisfiable: throw unsatisfiable(path, size: entry.size)
        case .parts(let answered): parts = answered
        }
        if let part = parts.first, parts.count == 1 {
            let range = ByteRange.bytes(from: part.lowerBound, through: part.upperBound)
            return try await sendOne(path, range, progress)
        }
        let multipart = MultipartRanges(
            parts: parts, size: entry.size, contentType: presentation(entry).contentType,
            boundary: "part-" + String(SecureRandom.uint64(), radix: 16))
        for (index, part) in parts.enumerated() {
            let range = ByteRange.bytes(from: part.lowerBound, through: part.upperBound)
            try await control.read(path, range: range) { current, given in
                // Each part is read by itself: all have to be of one version.
                guard given == part, current.size == entry.size, current.details?.version == entry.details?.version
                else {
                    throw ControlError(
                        .interrupted, "\(path.text) has just changed. Try again.", isRetryable: true, path: path.text)
                }
                if index == 0 {
                    try check(current, path)
                    progress.begin(length: multipart.byteCount)
                    try await sink.begin(
                        status: 206, contentType: "multipart/byteranges; boundary=\(multipart.boundary)",
                        contentLength: multipart.byteCount,
                        headers: [("accept-ranges", "bytes")] + presentation(entry).headers)
                }
                try await write(multipart.heading(of: part), progress)
            } emit: { chunk in
                try await write(chunk, progress)
            }
        }
        try await write(multipart.end, progress)
    }

    private func write(_ bytes: [UInt8], _ progress: Progress) async throws {
        try progress.take(bytes.count)
        for start in stride(from: 0, to: bytes.count, by: Self.pieceByteCount) {
            let piece = bytes[start..<min(bytes.count, start + Self.pieceByteCount)]
            await pace(piece.count)
            try Task.checkCancellation()
            try await sink.write(piece)
        }
    }

    private func stat(_ path: PathReference) async throws -> Entry {
        let entry = try await control.call(Endpoints.stat, path)
        try check(entry, path)
        guard entry.kind == .file else {
            throw ControlError(
                .invalidRequest, "\(path.text) is a \(entry.kind.rawValue), not a file.", path: path.text)
        }
        return entry
    }

    private func check(_ entry: Entry, _ path: PathReference) throws(ControlError) {
        try expected?.check(entry, path)
    }

    private func unsatisfiable(_ path: PathReference, size: Int64) -> ControlError {
        ControlError(
            .rangeNotSatisfiable, "The range is beyond the \(size) bytes of \(path.text). Ask for less.",
            path: path.text)
    }

    /// 416 names the size, so that the client can ask better (RFC 9110, 15.5.17).
    private func answerUnsatisfiable(_ path: PathReference, _ error: ControlError) async throws {
        let json = try ControlJSON.encode(error)
        let size = try await control.call(Endpoints.stat, path).size
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
        guard isWithin else { throw ControlError(.failed, "More bytes arrived than announced. This is a bug.") }
    }

    /// Throws if the agent gave less than it announced.
    func finish() throws(ControlError) {
        guard remaining.withLock({ $0 == 0 }) else {
            throw ControlError(.failed, "Fewer bytes arrived than announced. This is a bug.")
        }
    }
}
