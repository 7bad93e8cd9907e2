import ControlAPI

extension ControlResponder {
    /// Who asks for a link may do nothing but read that file, wherever it comes from.
    func answerLink(_ request: ControlRequest, through sink: ResponseSink) async throws {
        guard let links else {
            throw ControlError(.notFound, "No such resource: \(LinkTarget.path); see docs/control-api.md.")
        }
        guard request.method == "GET" || request.method == "HEAD" else {
            throw ControlError(.methodNotAllowed, "\(LinkTarget.path) does not support \(request.method).")
        }
        let target = try LinkTarget(target: request.target, key: links.key, now: links.now())
        let response = FileResponse(
            control: handlers, sink: sink, presentation: { _ in .link(path: target.file) },
            expected: .init(folder: target.folder, path: target.file), pace: pace)
        let path = PathReference(text: "\(target.folder):\(target.file)", workingDirectory: "/")
        if request.method == "HEAD" {
            try await response.sendHead(path)
        } else {
            try await response.send(path, ranges: request.ranges)
        }
    }
}
