import BlockExchange
import NIOCore

/// One header line.
package struct HTTPField: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A request. `Host`, `Content-Length` and `Connection` are added when it is sent; compression is never asked for.
package struct HTTPRequest: Sendable, Equatable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    package var method: Method
    package var url: HTTPURL
    package var fields: [HTTPField]
    package var body: ByteBuffer
    package var limits: HTTPLimits

    package init(
        _ method: Method, _ url: HTTPURL, fields: [HTTPField] = [], body: ByteBuffer = ByteBuffer(),
        limits: HTTPLimits = HTTPLimits()
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.limits = limits
    }
}

/// What a server may cost.
package struct HTTPLimits: Sendable, Equatable {
    /// From the start of connecting to the last byte of the answer.
    package var timeout: Duration
    /// All header lines, of interim answers and trailers too.
    package var headerByteCount: Int
    package var bodyByteCount: Int

    package init(timeout: Duration = .seconds(30), headerByteCount: Int = 16_384, bodyByteCount: Int = 1 << 20) {
        self.timeout = timeout
        self.headerByteCount = headerByteCount
        self.bodyByteCount = bodyByteCount
    }
}

/// A whole answer, other than a redirect.
package struct HTTPAnswer: Sendable, Equatable {
    package var status: Int
    package var fields: [HTTPField]
    package var body: ByteBuffer
    /// The SHA-256 of the server's certificate; nil without TLS.
    package var certificate: DeviceID?

    package init(status: Int, fields: [HTTPField] = [], body: ByteBuffer = ByteBuffer(), certificate: DeviceID? = nil) {
        self.status = status
        self.fields = fields
        self.body = body
        self.certificate = certificate
    }

    /// The first header line of this name, in any case.
    package subscript(name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }

    /// How long the server asks to wait, of its `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date as seen from
    /// the answer's own `Date`, so that no clock of ours matters. Never negative; nil when it says nothing that makes
    /// sense.
    package var retryAfter: Duration? {
        guard let text = self["retry-after"] else { return nil }
        if let delay = Self.seconds(text) { return delay }
        guard let date = HTTPDate(parsing: text), let now = self["date"].flatMap({ HTTPDate(parsing: $0) }) else {
            return nil
        }
        return .seconds(max(0, date.secondsSince1970 - now.secondsSince1970))
    }

    /// A header that holds whole seconds, such as `Reannounce-After`; a number too large is a century.
    package func duration(_ name: String) -> Duration? { self[name].flatMap(Self.seconds) }

    private static let century: Int64 = 3_155_760_000

    private static func seconds(_ text: String) -> Duration? {
        let start = text.drop { $0 == " " }
        let digits = start.prefix { $0.isASCII && $0.isNumber }
        guard (1...19).contains(digits.utf8.count), start[digits.endIndex...].allSatisfy({ $0 == " " }),
            let value = UInt64(digits)
        else { return nil }
        return .seconds(Int64(clamping: min(value, UInt64(century))))
    }
}
