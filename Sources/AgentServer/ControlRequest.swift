import ControlAPI
import NIOHTTP1

/// What the control server reads of an HTTP request.
struct ControlRequest: Equatable, Sendable {
    var method: String
    var target: String
    /// Of the file that is asked for; nil for all of it.
    var range: ByteRange?
    var acceptsEventStream: Bool
    var body: [UInt8]

    init(head: HTTPRequestHead, body: [UInt8]) {
        method = head.method.rawValue
        target = head.uri
        // There is no validator that `If-Range` could match, so it asks for the whole file (RFC 9110, 13.1.5).
        let ranges = head.headers["range"]
        range = ranges.count == 1 && !head.headers.contains(name: "if-range") ? ByteRange(header: ranges[0]) : nil
        acceptsEventStream = head.headers[canonicalForm: "accept"].contains {
            $0.split(separator: ";").first?.lowercased() == "text/event-stream"
        }
        self.body = body
    }
}
