import AgentConfiguration
import ArgumentParser
import ControlAPI
import Phrases

struct FreeCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "free",
            abstract: translated("Deselect files that other devices have until enough space is free."),
            discussion: translated(
                """
                Deselects single files as `synctrain deselect` does, those with the largest product of size and time \
                since last use first. Last use is the last read or change that the file system records: with `relatime` \
                to the day, with `noatime` only the download.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id; all folders that are not paused if omitted.")))
    var folder: String?

    @Option(
        help: ArgumentHelp(
            translated("Space to have free on the folder's file system: 5G, 500MB or 2GiB."), valueName: "size"),
        transform: FreeCommand.size)
    var until: Int64

    @Option(
        help: ArgumentHelp(translated("Minimum time since last use: 30d, 12h or 4w."), valueName: "age"),
        transform: FreeCommand.age)
    var older: Int64?

    @Flag(help: ArgumentHelp(translated("Show what would be freed; change nothing.")))
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        var request = SpaceRequest(folder: folder, until: until, unusedFor: older, isDryRun: true)
        if !dryRun {
            try confirm(try await agent.call(Endpoints.free, request), context)
            request.isDryRun = false
        }
        let answer = try await agent.call(Endpoints.free, request)
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
        } else {
            let rendering = SelectionRendering(style: context.style)
            for folder in answer.folders {
                let name = context.style.name(folder.outcome.folder)
                guard folder.outcome.freeing != nil || folder.missing > 0 else {
                    try context.output.print(translated("\(name): \(Quantity.size(folder.available)) free"))
                    continue
                }
                for line in rendering.lines(folder.outcome) { try context.output.print(line) }
            }
        }
        guard let short = answer.folders.first(where: { $0.missing > 0 }) else { return }
        throw ControlError(
            .noSpace,
            "\(short.outcome.folder): \(Quantity.size(short.missing)) short; no other file can be "
                + "freed safely. `synctrain extraneous list` shows files on this disk that are not selected.",
            path: short.outcome.folder
        )
    }

    /// Asks before all goes that may go, and it is not enough all the same.
    private func confirm(_ plan: SpaceAnswer, _ context: CommandContext) throws {
        for folder in plan.folders where folder.missing > 0 {
            guard let freeing = folder.outcome.freeing, freeing.freedFiles > 0 else { continue }
            try context.confirm(
                translated(
                    "\(EscapedName.escape(folder.outcome.folder)): all files that can be freed, "
                        + "\(Quantity.files(freeing.freedFiles)), \(Quantity.size(freeing.freedBytes)), is not enough; "
                        + "\(Quantity.size(folder.missing)) more would be needed. Free them anyway?"))
        }
    }

    /// `5G` is `5GiB`.
    static func size(_ text: String) throws -> Int64 {
        let short = text.last.map { "KMGTkmgt".contains($0) } ?? false
        guard let size = ByteCountText.parse(short ? text + "iB" : text) else {
            throw ValidationError(translated("\(text) is not a size. Use 5G, 500MB or 2GiB."))
        }
        return size
    }

    static func age(_ text: String) throws -> Int64 {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ units[$0] }), let number = Int64(text.dropLast()), number >= 0,
            number <= 1_000_000
        else { throw ValidationError(translated("\(text) is not a duration. Use 30d, 12h or 4w.")) }
        return number * unit
    }
}
