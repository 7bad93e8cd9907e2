import ArgumentParser
import ControlAPI

struct UICommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ui", abstract: "Open the page in a browser, logged in.",
        discussion: """
            Makes a link that logs one browser in and opens it with $SYNCTRAIN_OPEN or `xdg-open`. The link is good once and \
            for a minute; the login lasts until the agent ends, 30 days without use, or --logout.
            """)

    @Flag(help: "Print the link instead of opening it.")
    var noOpen = false

    @Flag(help: "End the login of all browsers.")
    var logout = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if noOpen, logout { throw ValidationError("--no-open goes with a login, not with --logout.") }
    }

    func execute(in context: CommandContext) async throws {
        if logout { return try await endSessions(in: context) }
        let link = try await context.agent().logIn()
        let command = noOpen ? nil : context.environment.opener(context.process.variables)
        if global.json {
            let opened = OpenedPage(url: link.url, seconds: link.seconds, with: command)
            try context.output.print(bytes: try ControlJSON.encode(opened))
        }
        guard let command else {
            if !global.json { try context.output.print(link.url) }
            guard !noOpen else { return }
            return try context.remark(
                "There is no xdg-open: open the link yourself within a minute, or set SYNCTRAIN_OPEN.")
        }
        try context.output.flush()
        try await context.environment.open(command, link.url, context.process.variables)
    }

    private func endSessions(in context: CommandContext) async throws {
        let answer = try await context.agent().logOut()
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
    var with: String?
}
