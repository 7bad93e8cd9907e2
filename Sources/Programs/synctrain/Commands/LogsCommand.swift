import ArgumentParser
import ControlAPI
import Foundation
import Phrases

struct LogsCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "logs", abstract: translated("Show the background agent's log, or follow its events."),
            discussion: translated(
                """
                Without -f: the log of an agent started with `synctrain agent start`. An agent under systemd logs to the \
                journal: journalctl --user -u synctrain. With -f: one line of JSON for each event of the running agent.
                """))
    }

    @Flag(name: [.short, .long], help: ArgumentHelp(translated("Print new events until interrupted.")))
    var follow = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        if follow {
            let output = context.output
            try await context.agent().call(Endpoints.events) { event in
                try output.print(bytes: try ControlJSON.encode(event))
                try output.flush()
            }
            return
        }
        let path = try context.places().logFile
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw ControlError(
                .noSuchPath, "\(path): no log. Under systemd, run journalctl --user -u synctrain.", path: path)
        }
        defer { try? file.close() }
        while let chunk = try file.read(upToCount: 1 << 20), !chunk.isEmpty {
            try context.output.write(bytes: [UInt8](chunk))
        }
    }
}
