import ControlAPI

extension ControlResponder {
    /// A picture, and nothing that a browser could take for more.
    func answerThumbnail(of path: PathReference, through sink: ResponseSink) async throws {
        let bytes = try await control.thumbnail(path)
        try await sink.begin(
            status: 200, contentType: "image/jpeg", contentLength: Int64(bytes.count),
            headers: [
                ("content-security-policy", "default-src 'none'; sandbox"),
                ("cross-origin-resource-policy", "same-origin"), ("referrer-policy", "no-referrer"),
            ])
        try await sink.write(bytes)
        try await sink.end()
    }
}
