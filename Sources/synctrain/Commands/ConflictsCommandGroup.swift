import ArgumentParser
import ControlAPI

struct ConflictsCommandGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts", abstract: "Files that were changed on two devices at once.",
        discussion: """
            Of two versions that do not know of each other, the newer one bears the file's name; the other is the conflict \
            copy beside it. Mine is what this device had, theirs is the other one; on a device that had neither, mine is \
            what bears the file's name.
            """,
        subcommands: [ConflictsListCommand.self, ConflictsShowCommand.self, ConflictsResolveCommand.self])
}

struct ConflictsListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List conflicts: each file, and both versions with device, size and time.")

    @Argument(help: "The folder's id; all folders if not given.")
    var folder: String?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let (output, isJSON) = (context.output, global.json)
        let rendering = ConflictRendering(style: context.style)
        try await context.agent().call(Endpoints.conflicts, folder) { conflict in
            if isJSON { return try output.print(bytes: try ControlJSON.encode(conflict)) }
            for line in rendering.lines(conflict) { try output.print(line) }
        }
    }
}

struct ConflictsShowCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the conflicts of a file, and how texts differ.",
        discussion: "The differences are those that diff(1) shows, from theirs to mine.")

    @Argument(help: "The file, or one of its conflict copies.", completion: .file())
    var path: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let list = try await context.agent().call(Endpoints.conflictDetails, context.path(path))
        if global.json { return try context.output.print(bytes: try ControlJSON.encode(list)) }
        let rendering = ConflictRendering(style: context.style)
        for details in list.conflicts {
            for line in rendering.lines(details.conflict) + rendering.differences(details) {
                try context.output.print(line)
            }
        }
    }
}

struct ConflictsResolveCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve", abstract: "Settle conflicts, here and on all devices.",
        discussion: """
            mine and theirs keep one version under the file's name; the other goes, to the archive if the folder has one \
            (`synctrain versions`). both gives the conflict copy an ordinary name.
            """)

    enum Keep: String, ExpressibleByArgument, CaseIterable { case mine, theirs, both }

    @Argument(help: "The files, or their conflict copies.", completion: .file())
    var paths: [String]

    @Option(help: ArgumentHelp("What to keep: mine, theirs or both.", valueName: "which"))
    var keep: Keep

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let kept = ConflictResolution.Keep(rawValue: keep.rawValue) ?? .both
        let answer = try await context.agent()
            .call(Endpoints.resolveConflicts, ConflictResolution(paths: paths.map(context.path), keep: kept))
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
        } else {
            let rendering = ConflictRendering(style: context.style)
            for line in answer.outcomes.flatMap(rendering.lines) { try context.output.print(line) }
        }
        let failed = answer.outcomes.count { $0.problem != nil }
        if failed > 0 {
            throw ControlError(.someFailed, "\(Quantity.count(Int64(failed), "conflict")) could not be settled.")
        }
    }
}
