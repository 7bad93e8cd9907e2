import ControlAPI
import NIOHTTP1

/// What the control server reads of an HTTP request.
struct ControlRequest: Equatable, Sendable {
    var method: String
    var target: String
    /// Of the file that is asked for; nil for all of it.
    var ranges: ByteRangeSet?
    var acceptsEventStream: Bool
    /// The `Host` and `Origin` fields, as they are.
    var hosts: [String]
    var origins: [String]
    var body: [UInt8]

    /// The target without its query.
    var path: Substring { target.prefix { $0 != "?" } }

    init(head: HTTPRequestHead, body: [UInt8]) {
        method = head.method.rawValue
        target = head.uri
        // There is no validator that `If-Range` could match, so it asks for the whole file (RFC 9110, 13.1.5).
        let fields = head.headers["range"]
        ranges = fields.count == 1 && !head.headers.contains(name: "if-range") ? ByteRangeSet(header: fields[0]) : nil
        acceptsEventStream = head.headers[canonicalForm: "accept"].contains {
            $0.split(separator: ";").first?.lowercased() == "text/event-stream"
        }
        hosts = head.headers["host"]
        origins = head.headers["origin"]
        self.body = body
    }
}
