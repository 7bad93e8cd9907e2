import ArgumentParser
import ControlAPI

struct UICommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ui", abstract: "Open the web page in a browser, logged in.",
        discussion: """
            Creates a login link for one browser, writes a file in the runtime directory that redirects to it, and \
            opens that file with $SYNCTRAIN_OPEN or `xdg-open`. The link works once and for one minute; the login \
            lasts for 30 days without use, for 180 days at most, until --logout, or until the agent is started at \
            another port. A sandboxed browser (snap, flatpak) may not be able to read the file: use --no-open and \
            open the link in it.

            With a path, the page shows that file or directory.
            """)

    @Argument(help: "File or directory to show.", completion: .file())
    var path: String?

    @Flag(help: "Print the link instead of opening it.")
    var noOpen = false

    @Flag(help: "Start the agent first if it is not running.")
    var start = false

    @Flag(help: "Log out all browsers.")
    var logout = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if noOpen, logout { throw ValidationError("--no-open cannot be combined with --logout.") }
        if path != nil, logout { throw ValidationError("A path cannot be combined with --logout.") }
        if start, logout { throw ValidationError("--start cannot be combined with --logout.") }
    }

    func execute(in context: CommandContext) async throws {
        if logout { return try await endSessions(in: context) }
        if start { _ = try await AgentProcess.startIfNeeded(in: context, timeout: .seconds(30)) }
        let command = noOpen ? nil : context.environment.opener(context.process.variables)
        let request = LoginRequest(hasPage: command != nil, path: path.map { context.path($0) })
        let link = try await context.agent().call(Endpoints.logIn, request)
        if let remark = link.remark { try context.remark(remark) }
        if global.json {
            let opened = OpenedPage(
                url: link.url, seconds: link.seconds, page: link.page, remark: link.remark, with: command)
            try context.output.print(bytes: try ControlJSON.encode(opened))
        }
        guard let command, let page = link.page else {
            if !global.json { try context.output.print(link.url) }
            guard !noOpen else { return }
            return try context.remark(
                "xdg-open is not installed: open the link yourself within a minute, or set SYNCTRAIN_OPEN.")
        }
        try context.output.flush()
        do {
            // Never the link itself: arguments are shown to every user of the machine.
            try await context.environment.open(command, page, context.process.variables)
        } catch let error as ControlError {
            if !global.json { try context.output.print(link.url) }
            throw error
        }
    }

    private func endSessions(in context: CommandContext) async throws {
        let answer = try await context.agent().call(Endpoints.logOut)
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
        } else {
            try context.output.print(
                answer.ended == 1 ? "1 browser was logged out." : "\(answer.ended) browsers were logged out.")
        }
    }
}

/// The link, and what it is opened with.
private struct OpenedPage: Encodable {
    var schema = 1
    var url: String
    var seconds: Int
    /// The file that was opened.
    var page: String?
    /// Why it is at another port than the configuration says.
    var remark: String?
    var with: String?
}
