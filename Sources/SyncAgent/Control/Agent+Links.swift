import BlockExchange
import ControlAPI

/// Links by which other programs read files.
extension Agent {
    public func link(_ request: LinkRequest) async throws -> FileLink {
        try await answering {
            guard let web = setup.web else {
                throw ControlError(.failed, "this agent cannot create links to files; use `synctrain cat`")
            }
            let entry = try await stat(request.path)
            guard entry.kind == .file else {
                throw ControlError(
                    .invalidRequest, "\(request.path.text) is a \(entry.kind.rawValue); only files have links",
                    path: request.path.text)
            }
            guard try await index.file(FolderID(entry.folder), entry.path) != nil else {
                throw ControlError(
                    .noSuchPath,
                    "\(entry.path) exists only on this disk, not in the index of \(entry.folder); read it directly",
                    path: entry.path)
            }
            let expires = setup.time.wall().seconds + request.seconds
            return FileLink(
                url: try web.link(entry.folder, entry.path, expires), folder: entry.folder, path: entry.path,
                size: entry.size, expires: WallTime(seconds: expires).rfc3339)
        }
    }

    public func logIn(_ request: LoginRequest) async throws -> LoginLink {
        try await answering {
            guard let web = setup.web else { throw ControlError(.failed, "this agent has no page") }
            guard request.hasPage else { return try web.logIn({}) }
            let used = Signal()
            var link = try web.logIn { used.notify() }
            let (clock, seconds) = (setup.time.clock, link.seconds)
            let page = try LoginPage(leadingTo: link.url, in: setup.places.runtimeDirectory)
            start(.loginPage { await page.stay(until: used, atMost: .seconds(seconds), clock: clock) })
            link.page = page.path
            return link
        }
    }

    public func logOut() async throws -> LogOutAnswer { LogOutAnswer(ended: setup.web?.logOut() ?? 0) }

    /// Returns when so many bytes of files that links lead to may go, or when the task is cancelled.
    public func paceLinks(_ byteCount: Int) async { await linkPace.wait(for: byteCount) }
}
