import ArgumentParser
import ControlAPI
import Phrases

struct ScanCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "scan", abstract: translated("Scan folders for local changes now, and wait."),
            discussion: translated("Exits with 2 if some files could not be read."))
    }

    @Argument(
        help: ArgumentHelp(translated("Files, directories or folder ids; every folder that is not paused if omitted.")),
        completion: .file())
    var paths: [String] = []

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        let request = ScanRequest(paths: paths.map(context.path))
        let summary = try await StatusProgress(context, agent).during { try await agent.call(Endpoints.scan, request) }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(summary))
        } else {
            let style = context.style
            for folder in summary.folders { try context.output.print(Self.line(folder, style)) }
            try context.output.flush()
            for folder in summary.folders {
                for problem in folder.problemList {
                    let name = EscapedName.escape("\(folder.folder):\(problem.path)")
                    try context.process.errors.print(
                        "synctrain: \(name): \(EscapedName.escape(problem.phrase.shown))")
                }
                let rest = folder.problems - Int64(folder.problemList.count)
                if rest > 0 {
                    let name = EscapedName.escape(folder.folder)
                    try context.process.errors.print(
                        "synctrain: " + translated("\(name): and \(Quantity.names(rest)) more"))
                }
            }
        }
        if summary.folders.contains(where: { $0.problems > 0 }) { throw ExitCode(2) }
    }

    static func line(_ folder: ScanSummary.Folder, _ style: Style) -> String {
        var parts = [
            translated("\(Quantity.files(folder.files)) and \(Quantity.directories(folder.directories)) seen")
        ]
        parts.append(translated("\(folder.changed) changed"))
        parts.append(translated("\(folder.deleted) deleted"))
        if folder.bytesHashed > 0 { parts.append(translated("\(Quantity.size(folder.bytesHashed)) hashed")) }
        if folder.problems > 0 { parts.append(Quantity.problems(folder.problems)) }
        return translated(
            "\(style.name(folder.folder)): \(parts.joined(separator: ", ")) in \(Quantity.time(folder.seconds))")
    }
}
