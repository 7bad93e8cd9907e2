import ArgumentParser
import ControlAPI

/// A file and how long a link to it is good for.
struct LinkSubject: ParsableArguments {
    @Argument(help: "The file, here or not.", completion: .file())
    var path: String

    @Option(
        name: .customLong("for"), help: ArgumentHelp("How long the link is good: 30m, 2h, 7d.", valueName: "time"),
        transform: LinkSubject.duration)
    var seconds: Int64?

    func request(_ context: CommandContext) -> LinkRequest {
        LinkRequest(path: context.path(path), seconds: seconds ?? LinkRequest.usual)
    }

    static func duration(_ text: String) throws -> Int64 {
        guard let seconds = TimeSpan.seconds(text), (1...Double(LinkRequest.longest)).contains(seconds) else {
            throw ValidationError("\(text) is no time for a link; write 30m, 2h or 7d, up to a year.")
        }
        return Int64(seconds)
    }
}

struct URLCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "url", abstract: "Print a link by which any program here reads a file, fetching what is not here.",
        discussion: """
            Players and browsers seek in it: only the blocks that are read are fetched. Whoever has the link can read the \
            file until it expires, after two hours if --for does not say otherwise; with `listen = "127.0.0.1:0"`, as \
            usual, also no longer than the agent runs.
            """)

    @OptionGroup var subject: LinkSubject

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let link = try await context.agent().call(Endpoints.link, subject.request(context))
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(link))
        } else {
            try context.output.print(link.url)
        }
    }
}

struct OpenCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "Open or play a file with the program for it, fetching what is read of it.",
        discussion: """
            Runs $SYNCTRAIN_OPEN, such as `mpv --fs`, or else `xdg-open`, with a link as `synctrain url` makes it, and \
            waits for it to end. Where there is neither, the link is printed.
            """)

    @OptionGroup var subject: LinkSubject

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let link = try await context.agent().call(Endpoints.link, subject.request(context))
        let command = context.environment.opener(context.process.variables)
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(OpenedLink(link: link, with: command)))
        }
        guard let command else {
            if !global.json { try context.output.print(link.url) }
            return try context.remark("There is no xdg-open: open the link yourself, or set SYNCTRAIN_OPEN.")
        }
        try context.output.flush()
        try await context.environment.open(command, link.url, context.process.variables)
    }
}

/// The link, and what it is opened with.
private struct OpenedLink: Encodable {
    var schema = 1
    var link: FileLink
    var with: String?
}
