/// Asks for a link by which any program of this machine reads a file without more.
package struct LinkRequest: Codable, Equatable, Sendable, CheckedRequest {
    /// In seconds.
    package static let usual: Int64 = 2 * 3600
    package static let longest: Int64 = 366 * 86_400

    package var path: PathReference
    /// How long the link is good for; 1 to `longest`.
    package var seconds: Int64

    package init(path: PathReference, seconds: Int64 = LinkRequest.usual) {
        self.path = path
        self.seconds = seconds
    }

    func check() throws(ControlError) {
        try PathReference.check([path])
        guard (1...Self.longest).contains(seconds) else {
            throw ControlError(
                .invalidRequest,
                "The lifetime of a link must be between 1 and \(Self.longest) "
                    + "seconds, not \(seconds).")
        }
    }
}

/// A link to a file's bytes, signed by the agent.
package struct FileLink: Codable, Equatable, Sendable {
    package var schema = 1
    /// `http://127.0.0.1:PORT/file?…`; whoever has it can read the file until it expires.
    package var url: String
    package var folder: String
    package var path: String
    /// Bytes.
    package var size: Int64
    /// RFC 3339.
    package var expires: String

    package init(url: String, folder: String, path: String, size: Int64, expires: String) {
        self.url = url
        self.folder = folder
        self.path = path
        self.size = size
        self.expires = expires
    }
}
