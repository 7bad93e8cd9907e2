import ArgumentParser
import Arithmetic
import ControlAPI

struct ExtraneousResolveCommand: RunnableCommand {
    enum Keep: String, ExpressibleByArgument, CaseIterable, Sendable { case mine, theirs, both }

    static let configuration = CommandConfiguration(
        commandName: "resolve", abstract: "Resolve files on this disk that are not selected.",
        discussion: """
            Give exactly one action; a directory stands for all such files in it. Only --select and --keep are \
            visible to other devices. Asks for confirmation before removing anything that they do not have.

            Example: synctrain extraneous resolve photos:drafts --move-to ~/Drafts
            """)

    @Argument(help: "Files and directories.", completion: .file())
    var paths: [String]

    @Flag(help: "Select the files and share them with the other devices.")
    var select = false

    @Flag(help: "Delete the files from this disk.")
    var delete = false

    @Flag(help: "Ignore the files and stop listing them.")
    var ignore = false

    @Option(help: ArgumentHelp("Directory outside the folder to move the files to.", valueName: "dir"))
    var moveTo: String?

    @Option(
        help: """
            Version to keep if other devices have another one: mine, theirs, or both (as a conflict copy).
            """)
    var keep: Keep?

    @Flag(help: "Show what would be done; do nothing.")
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
            throw ValidationError("Give one of --select, --delete, --ignore, --move-to DIR or --keep mine|theirs|both.")
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
            if removes, rest > 0 { try context.process.errors.print("  and \(rest) more") }
            for name in (plan.deletedElsewhere ?? []).prefix(20) {
                try context.process.errors.print("  \(style.name("\(plan.folder):\(name)"))  is deleted on all devices")
            }
        }
        var sentences: [String] = []
        if files > 0 {
            sentences.append(
                "\(Quantity.count(files, "file")), \(Quantity.size(bytes)), exist in this version only on this device."
            )
        }
        if elsewhere > 0 {
            sentences.append(
                "The files moved from \(Quantity.count(Int64(elsewhere), "selected path")) are deleted there on all other "
                    + "devices; to keep them there, run `synctrain deselect` on that path first.")
        }
        sentences.append(removes ? "Delete them?" : "Go on?")
        try context.confirm(sentences.joined(separator: " "))
    }

    private func show(_ outcome: ResolutionOutcome, _ context: CommandContext) throws {
        let style = context.style
        let words: String =
            switch outcome.action {
            case .select: outcome.isDryRun ? "would be selected" : "selected"
            case .delete: outcome.isDryRun ? "would be deleted from this disk" : "deleted from this disk"
            case .ignore: outcome.isDryRun ? "would be ignored" : "ignored"
            case .moveTo: outcome.isDryRun ? "would be moved" : "moved"
            case .keepMine: outcome.isDryRun ? "would become the newest version" : "is now the newest version"
            case .keepTheirs:
                outcome.isDryRun ? "would be replaced by the other version" : "replaced by the other version"
            case .keepBoth:
                outcome.isDryRun ? "would be kept beside the other version" : "kept beside the other version"
            }
        try context.output.print(
            "\(style.name(outcome.folder)): \(Quantity.count(outcome.files, "file")), \(Quantity.size(outcome.bytes)) \(words)"
        )
        for line in outcome.removed { try context.output.print("  - \(style.name(line))") }
        for line in outcome.added { try context.output.print("  + \(style.name(line))") }
        if outcome.isDryRun {
            for name in outcome.names { try context.output.print("  \(style.name("\(outcome.folder):\(name)"))") }
        }
        for name in outcome.staying {
            try context.output.print(
                "stays: \(style.name("\(outcome.folder):\(name.path)"))  \(name.reason): \(name.message)")
        }
    }
}
