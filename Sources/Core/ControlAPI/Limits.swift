/// What both ends of the control API hold each other to.
package enum ControlLimits {
    /// Bytes of a request's body.
    package static let requestBody = 4 << 20
    /// Bytes of a request's line and headers.
    package static let requestHead = 64 << 10
    /// Paths in one request.
    package static let paths = 10_000
    /// Bytes of a path in a request, and of the directory that it was typed in.
    package static let path = 4_096
    /// Bytes of one line of NDJSON.
    package static let line = 16 << 20
    /// Bytes of an answer that is one document.
    package static let document = 64 << 20
}
