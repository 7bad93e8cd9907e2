import ArgumentParser
import ControlAPI
import Phrases

/// A file and how long a link to it is good for.
struct LinkSubject: ParsableArguments {
    @Argument(help: ArgumentHelp(translated("File, present on this device or not.")), completion: .file())
    var path: String

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(translated("Lifetime of the link: 30m, 2h or 7d."), valueName: "time"),
        transform: LinkSubject.duration)
    var seconds: Int64?

    func request(_ context: CommandContext) -> LinkRequest {
        LinkRequest(path: context.path(path), seconds: seconds ?? LinkRequest.usual)
    }

    static func duration(_ text: String) throws -> Int64 {
        guard let seconds = TimeSpan.seconds(text), (1...Double(LinkRequest.longest)).contains(seconds) else {
            throw ValidationError(translated("\(text) is not a valid lifetime. Use 30m, 2h or 7d, at most a year."))
        }
        return Int64(seconds)
    }
}

struct URLCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "url", abstract: translated("Print a link to a file for any program on this machine."),
            discussion: translated(
                """
                Only the blocks that are read are downloaded; players and browsers can seek. Anyone who has the link can \
                read the file until the link expires, after two hours unless --for is given. While the agent is stopped, \
                or if it is started at another port, the link does not work.
                """))
    }

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
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "open", abstract: translated("Open or play a file, downloading it on demand."),
            discussion: translated(
                """
                Runs $SYNCTRAIN_OPEN (for example `mpv --fs`) or `xdg-open` with a link as printed by `synctrain url`, \
                and waits for it to exit. If neither exists, prints the link.
                """))
    }

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
            return try context.remark(
                translated("xdg-open is not installed: open the link yourself, or set SYNCTRAIN_OPEN."))
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
