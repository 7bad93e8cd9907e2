import ArgumentParser
import Arithmetic
import ControlAPI
import Phrases

struct ExtraneousResolveCommand: RunnableCommand {
    enum Keep: String, ExpressibleByArgument, CaseIterable, Sendable { case mine, theirs, both }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "resolve", abstract: translated("Resolve files on this disk that are not selected."),
            discussion: translated(
                """
                Give exactly one action; a directory stands for all such files in it. Only --select and --keep are \
                visible to other devices. Asks for confirmation before removing anything that they do not have.

                Example: synctrain extraneous resolve photos:drafts --move-to ~/Drafts
                """))
    }

    @Argument(help: ArgumentHelp(translated("Files and directories.")), completion: .file())
    var paths: [String]

    @Flag(help: ArgumentHelp(translated("Select the files and share them with the other devices.")))
    var select = false

    @Flag(help: ArgumentHelp(translated("Delete the files from this disk.")))
    var delete = false

    @Flag(help: ArgumentHelp(translated("Ignore the files and stop listing them.")))
    var ignore = false

    @Option(help: ArgumentHelp(translated("Directory outside the folder to move the files to."), valueName: "dir"))
    var moveTo: String?

    @Option(
        help: ArgumentHelp(
            translated(
                """
                Version to keep if other devices have another one: mine, theirs, or both (as a conflict copy).
                """)))
    var keep: Keep?

    @Flag(help: ArgumentHelp(translated("Show what would be done; do nothing.")))
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    private var actions: [ExtraneousResolution.Action] {
        var actions: [ExtraneousResolution.Action] = []
        if select { actions.append(.select) }
        if delete { actions.append(.delete) }
        if ignore { actions.append(.ignore) }
        if moveTo != nil { actions.append(.moveTo) }
        switch keep {
        case nil: break
        case .mine: actions.append(.keepMine)
        case .theirs: actions.append(.keepTheirs)
        case .both: actions.append(.keepBoth)
        }
        return actions
    }

    func validate() throws {
        guard actions.count == 1 else {
            throw ValidationError(
                translated("Give one of --select, --delete, --ignore, --move-to DIR or --keep mine|theirs|both."))
        }
    }

    func execute(in context: CommandContext) async throws {
        guard let action = actions.first else { return }
        let agent = try context.agent()
        var resolution = ExtraneousResolution(
            paths: paths.map(context.path), action: action, directory: moveTo.map(context.absolute), isDryRun: true)
        if !dryRun, [.delete, .keepTheirs, .ignore, .moveTo].contains(action) {
            try await confirm(agent, resolution, context)
        }
        resolution.isDryRun = dryRun
        let answer = try await agent.call(Endpoints.resolve, resolution)
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
        } else {
            for outcome in answer.folders { try show(outcome, context) }
        }
        if answer.folders.contains(where: { !$0.staying.isEmpty }) {
            throw ExitCode(answer.folders.contains { $0.files > 0 } ? 2 : 1)
        }
    }

    private func confirm(
        _ agent: any AgentControl, _ resolution: ExtraneousResolution, _ context: CommandContext
    ) async throws {
        let plans = try await agent.call(Endpoints.resolve, resolution).folders
        let removes = resolution.action == .delete || resolution.action == .keepTheirs
        let (files, bytes) =
            removes
            ? plans.reduce((Int64(0), Int64(0))) {
                ($0.0.addingClamped($1.lostFiles), $0.1.addingClamped($1.lostBytes))
            } : (0, 0)
        let elsewhere = plans.reduce(0) { $0 + ($1.deletedElsewhere?.count ?? 0) }
        guard files > 0 || elsewhere > 0 else { return }
        let style = Style(hasColor: false, escapesNames: true)
        for plan in plans {
            for name in removes ? plan.lost.prefix(20) : [] {
                try context.process.errors.print(
                    "  \(style.name("\(plan.folder):\(name.path)"))  \(Quantity.size(name.size))  \(name.reason)")
            }
            let rest = plan.lostFiles - Int64(min(20, plan.lost.count))
            if removes, rest > 0 { try context.process.errors.print(translated("  and \(rest) more")) }
            for name in (plan.deletedElsewhere ?? []).prefix(20) {
                try context.process.errors.print(
                    translated("  \(style.name("\(plan.folder):\(name)"))  is deleted on all devices"))
            }
        }
        var sentences: [String] = []
        if files > 0 {
            sentences.append(
                translated(
                    "\(Quantity.files(files)), \(Quantity.size(bytes)), exist in this version only on this device."
                )
            )
        }
        if elsewhere > 0 {
            sentences.append(
                translated(
                    "The files moved from \(Quantity.selectedPaths(elsewhere)) are deleted there on all other "
                        + "devices. To keep them there, run `synctrain deselect` on that path first."))
        }
        sentences.append(removes ? translated("Delete them?") : translated("Go on?"))
        try context.confirm(sentences.joined(separator: " "))
    }

    private func show(_ outcome: ResolutionOutcome, _ context: CommandContext) throws {
        let style = context.style
        let words: String =
            switch outcome.action {
            case .select: outcome.isDryRun ? translated("would be selected") : translated("selected")
            case .delete:
                outcome.isDryRun ? translated("would be deleted from this disk") : translated("deleted from this disk")
            case .ignore: outcome.isDryRun ? translated("would be ignored") : translated("ignored")
            case .moveTo: outcome.isDryRun ? translated("would be moved") : translated("moved")
            case .keepMine:
                outcome.isDryRun
                    ? translated("would become the newest version") : translated("is now the newest version")
            case .keepTheirs:
                outcome.isDryRun
                    ? translated("would be replaced by the other version") : translated("replaced by the other version")
            case .keepBoth:
                outcome.isDryRun
                    ? translated("would be kept beside the other version") : translated("kept beside the other version")
            }
        try context.output.print(
            "\(style.name(outcome.folder)): \(Quantity.files(outcome.files)), \(Quantity.size(outcome.bytes)) \(words)"
        )
        for line in outcome.removed { try context.output.print("  - \(style.name(line))") }
        for line in outcome.added { try context.output.print("  + \(style.name(line))") }
        if outcome.isDryRun {
            for name in outcome.names { try context.output.print("  \(style.name("\(outcome.folder):\(name)"))") }
        }
        for name in outcome.staying {
            try context.output.print(
                translated(
                    "stays: \(style.name("\(outcome.folder):\(name.path)"))  \(name.reason): \(translated("\(name.phrase)"))"
                ))
        }
    }
}
