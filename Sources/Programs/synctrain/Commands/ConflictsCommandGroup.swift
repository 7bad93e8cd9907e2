import ArgumentParser
import ControlAPI
import Phrases

struct ConflictsCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "conflicts", abstract: translated("List and resolve conflicting versions of files."),
            discussion: translated(
                """
                If two devices change a file independently, the newer version keeps the file's name; the other becomes a \
                conflict copy beside it. Mine is the version this device had, theirs is the other one; on a device that \
                had neither, mine is the one with the file's name.
                """),
            subcommands: [ConflictsListCommand.self, ConflictsShowCommand.self, ConflictsResolveCommand.self])
    }
}

struct ConflictsListCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: translated("List conflicts with device, size and time of both versions."))
    }

    @Argument(help: ArgumentHelp(translated("Folder id; all folders if omitted.")))
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
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show",
            abstract: translated("Show the conflicts of a file and the differences between texts."),
            discussion: translated("Shows the output of diff(1), from theirs to mine."))
    }

    @Argument(help: ArgumentHelp(translated("File, or one of its conflict copies.")), completion: .file())
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
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "resolve", abstract: translated("Resolve conflicts on all devices."),
            discussion: translated(
                """
                mine and theirs keep one version under the file's name; the other is archived if the folder has an \
                archive (`synctrain versions`), else deleted. both gives the conflict copy an ordinary name.

                Example: synctrain conflicts resolve docs:report.txt --keep mine
                """))
    }

    enum Keep: String, ExpressibleByArgument, CaseIterable { case mine, theirs, both }

    @Argument(help: ArgumentHelp(translated("Files, or their conflict copies.")), completion: .file())
    var paths: [String]

    @Option(help: ArgumentHelp(translated("Version to keep: mine, theirs or both."), valueName: "which"))
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
            throw ControlError(.someFailed, "\(Quantity.conflicts(Int64(failed))) could not be resolved.")
        }
    }
}
