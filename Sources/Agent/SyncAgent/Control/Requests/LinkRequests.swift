import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import Names

/// Links by which other programs read files and browsers log in.
struct LinkRequests: RequestGroup {
    let web: AgentSetup.Web?
    let entries: EntrySource
    let places: AgentPlaces
    let tasks: AgentTasks
    let time: AgentTime

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.link) { try await link($0) }
        table.on(Endpoints.logIn) { try await logIn($0) }
        table.on(Endpoints.logOut) { LogOutAnswer(ended: try await web?.logOut() ?? 0) }
        table.on(Endpoints.setPassword) { change in
            guard let web else { throw ControlError(.failed, "This agent has no page.") }
            return PasswordAnswer(ended: try await web.setPassword(change.password), problem: web.problem())
        }
    }

    private func link(_ request: LinkRequest) async throws -> FileLink {
        guard let web else {
            throw ControlError(.failed, "this agent cannot create links to files; use `synctrain cat`")
        }
        let entry = try await entries.stat(request.path)
        guard entry.kind == .file else {
            throw ControlError(
                .invalidRequest, "\(request.path.text) is a \(entry.kind.rawValue); only files have links",
                path: request.path.text)
        }
        guard try await entries.index.file(FolderID(entry.folder), entry.path) != nil else {
            throw ControlError(
                .noSuchPath,
                "\(entry.path) exists only on this disk, not in the index of \(entry.folder); read it directly",
                path: entry.path)
        }
        let expires = time.wall().seconds + request.seconds
        return FileLink(
            url: try web.link(entry.folder, entry.path, expires), folder: entry.folder, path: entry.path,
            size: entry.size, expires: WallTime(seconds: expires).rfc3339)
    }

    private func logIn(_ request: LoginRequest) async throws -> LoginLink {
        var place = ""
        if let path = request.path { place = Self.address(try await entries.stat(path)) }
        return try logIn(at: place, hasPage: request.hasPage)
    }

    /// - Parameter place: what the page shows, `#/…`; empty for its start.
    func logIn(at place: String, hasPage: Bool) throws -> LoginLink {
        guard let web else { throw ControlError(.failed, "this agent has no page") }
        guard hasPage else {
            var link = try web.logIn({})
            link.url += place
            return link
        }
        let used = Signal()
        var link = try web.logIn { used.notify() }
        link.url += place
        let (clock, seconds) = (time.clock, link.seconds)
        let page = try LoginPage(leadingTo: link.url, in: places.runtimeDirectory)
        tasks.start { await page.stay(until: used, atMost: .seconds(seconds), clock: clock) }
        link.page = page.path
        return link
    }

    /// Where the page shows it, as the page writes its addresses.
    static func address(_ entry: Entry) -> String {
        let parts = entry.path.pathComponents.map(String.init)
        return "#/files" + ([entry.folder] + parts).map { "/" + part($0) }.joined()
    }

    private static func part(_ text: String) -> String {
        RequestQuery.encode(text).replacing("/", with: "%2F")
    }
}
