import AgentServer
import ArgumentParser
import ControlAPI
import Phrases

struct ServeCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "serve",
            abstract: translated("Serve a directory as a web site on this machine, downloading files on demand."),
            discussion: translated(
                """
                Prints the site's address and serves it until Ctrl-C. A directory is shown as its index.html or as a \
                list of its contents. Pages and scripts run as on any site, under a host name of their own, and cannot \
                reach the agent's page. Anyone who has the address can read the directory.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Directory.")), completion: .directory)
    var directory: String

    @Option(help: ArgumentHelp(translated("Port on 127.0.0.1; a free port if omitted."), valueName: "n"))
    var port: UInt16 = 0

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        let entry = try await agent.call(Endpoints.stat, context.path(directory))
        guard entry.kind == .directory else {
            throw ControlError(
                .invalidRequest,
                "\(directory) is a \(Word.shown(entry.kind.rawValue)), not a directory; `synctrain url` links to files.",
                path: directory)
        }
        let server = SiteServer(control: agent, folder: entry.folder, directory: entry.path, port: Int(port))
        let isJSON = global.json
        try await server.run { address in
            if isJSON {
                let site = ServedSite(url: address, folder: entry.folder, path: entry.path)
                try context.output.print(bytes: try ControlJSON.encode(site))
            } else {
                try context.output.print(address)
                try context.remark(translated("Press Ctrl-C to stop."))
            }
            try context.output.flush()
        }
    }
}

/// Where a directory is shown.
private struct ServedSite: Encodable {
    var schema = 1
    var url: String
    var folder: String
    var path: String
}
