import ControlAPI
import NIOCore
import NIOHTTP1

/// Writes one response. Each write returns when the kernel has the bytes, so the writer goes at the reader's pace and
/// at most one chunk waits here.
struct ResponseSink: Sendable {
    let channel: any Channel
    /// A reader that takes nothing for so long is cut off; nil for one that is waited for.
    var stallTime: TimeAmount?
    /// The request is a `HEAD`: the same head is answered and no body.
    var isHead = false
    /// What every answer says unless it says something else under the same name.
    var standing: [(String, String)] = [("cache-control", "no-store"), ("x-content-type-options", "nosniff")]

    /// Begins a response. Without `contentLength` the body is chunked.
    func begin(status: Int, contentType: String, contentLength: Int64? = nil, headers: [(String, String)] = [])
        async throws
    {
        var fields = HTTPHeaders([("content-type", contentType), ("connection", "close")])
        if let contentLength { fields.add(name: "content-length", value: String(contentLength)) }
        fields.add(contentsOf: headers)
        for (name, value) in standing where !fields.contains(name: name) { fields.add(name: name, value: value) }
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: fields)
        try await channel.writeAndFlush(HTTPServerResponsePart.head(head)).get()
    }

    func write(_ bytes: some Collection<UInt8>) async throws {
        guard !isHead else { return }
        let stall = stallTime.map { time in channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) } }
        defer { stall?.cancel() }
        try await channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: bytes)))).get()
    }

    func end() async throws {
        // The answer to a `HEAD` is over with its head, and the connection is closed: not even the end of a body is sent.
        guard !isHead else { return }
        try await channel.writeAndFlush(HTTPServerResponsePart.end(nil)).get()
    }

    /// Over TCP a browser reads the answer: nothing in it is to run, be shown in a frame, or be read by other pages.
    static func overNetwork(_ channel: any Channel, stallTime: TimeAmount) -> ResponseSink {
        var sink = ResponseSink(channel: channel, stallTime: stallTime)
        sink.standing += [
            ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
            ("cross-origin-resource-policy", "same-origin"), ("referrer-policy", "no-referrer"),
        ]
        return sink
    }

    /// A whole response of one JSON document.
    func answer(status: Int = 200, json: [UInt8], headers: [(String, String)] = []) async throws {
        try await begin(
            status: status, contentType: "application/json", contentLength: Int64(json.count), headers: headers)
        try await write(json)
        try await end()
    }

    /// A whole response that is the error. Says nothing if the client is gone: nobody is left to hear it.
    func answer(_ error: ControlError) async {
        let headers = error.code == .methodNotAllowed ? [("allow", "GET, HEAD, POST, PATCH, DELETE")] : []
        do {
            let json = try ControlJSON.encode(error)
            try await begin(
                status: error.httpStatus, contentType: "application/json", contentLength: Int64(json.count),
                headers: headers)
            try await write(json)
            try await end()
        } catch {
            channel.close(promise: nil)
        }
    }
}
