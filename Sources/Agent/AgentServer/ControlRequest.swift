import ControlAPI
import NIOCore
import NIOHTTP1

/// What the control server reads of an HTTP request.
struct ControlRequest: Equatable, Sendable {
    var method: String
    var target: String
    /// Of the file that is asked for; nil for all of it.
    var ranges: ByteRangeSet?
    var acceptsEventStream: Bool
    /// Whether whoever asks shows web pages: it would rather have words than JSON.
    var acceptsHTML: Bool
    /// The `Host` and `Origin` fields, as they are.
    var hosts: [String]
    var origins: [String]
    /// The `Sec-Fetch-Site`, `Cookie`, `If-None-Match` and `X-Synctrain` fields.
    var fetchSites: [String]
    var cookies: [String]
    var entityTags: [String]
    var pageFields: [String]
    /// The client does not wait for what may take long (RFC 7240).
    var prefersAsync: Bool
    /// The last server-sent event that the client has; nil if it has none.
    var lastEventID: String?
    var body: [UInt8] = []
    /// What it is let in for; set when its head has come.
    var admission = Admission.user
    /// Who asks; nil where that is not known.
    var source: SocketAddress?

    /// The target without its query.
    var path: Substring { target.prefix { $0 != "?" } }

    /// Throws `invalidRequest` for what is no query.
    func query() throws(ControlError) -> RequestQuery {
        try RequestQuery(encoded: String(target.drop { $0 != "?" }.dropFirst()))
    }

    init(head: HTTPRequestHead) {
        method = head.method.rawValue
        target = head.uri
        // There is no validator that `If-Range` could match, so it asks for the whole file (RFC 9110, 13.1.5).
        let fields = head.headers["range"]
        ranges = fields.count == 1 && !head.headers.contains(name: "if-range") ? ByteRangeSet(header: fields[0]) : nil
        let accepted = head.headers[canonicalForm: "accept"].map { $0.split(separator: ";").first?.lowercased() }
        acceptsEventStream = accepted.contains("text/event-stream")
        acceptsHTML = accepted.contains("text/html")
        hosts = head.headers["host"]
        origins = head.headers["origin"]
        fetchSites = head.headers["sec-fetch-site"]
        cookies = head.headers["cookie"]
        entityTags = head.headers[canonicalForm: "if-none-match"].map { String($0) }
        prefersAsync = head.headers[canonicalForm: "prefer"].contains {
            $0.split(separator: ";").first?.lowercased() == "respond-async"
        }
        lastEventID = head.headers.first(name: "last-event-id").flatMap { $0.isEmpty ? nil : $0 }
        pageFields = head.headers[NetworkGuard.pageHeader]
    }
}
