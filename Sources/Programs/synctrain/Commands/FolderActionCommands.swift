import ArgumentParser
import ControlAPI
import Phrases

struct FolderModeCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "mode", abstract: translated("Switch a folder between full and selective mode."),
            discussion: translated(
                """
                Rewrites .stignore and keeps its ignore patterns. In selective mode, files that no line selects are no \
                longer synced; copies on this disk stay, and `synctrain extraneous list` shows them.

                Example: synctrain folder mode photos selective --dry-run
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @Argument(help: ArgumentHelp(translated("Mode: selective (only selected files) or full (everything).")))
    var mode: FolderAddCommand.Mode

    @Flag(help: ArgumentHelp(translated("Show what would change and how much would be downloaded; change nothing.")))
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let change = FolderModeChange(folder: folder, mode: mode.rawValue, isDryRun: dryRun)
        try SelectionReport(context: context).show(try await context.agent().call(Endpoints.setFolderMode, change))
    }
}

struct FolderOverrideCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "override", abstract: translated("Overwrite other devices' changes in a send-only folder."),
            discussion: translated(
                "The other devices get this device's files and delete what it does not have. Asks for confirmation.")
        )
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @Flag(help: ArgumentHelp(translated("Show what would change; change nothing.")))
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await FolderActionRun(context: context, folder: folder).run(.override, isDryRun: dryRun)
    }
}

struct FolderRevertCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "revert", abstract: translated("Undo local changes in a receive-only folder."),
            discussion: translated(
                "Restores the other devices' files and deletes files they do not have. Asks for confirmation."))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @Flag(help: ArgumentHelp(translated("Show what would change; change nothing.")))
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await FolderActionRun(context: context, folder: folder).run(.revert, isDryRun: dryRun)
    }
}

struct FolderConfirmCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "confirm", abstract: translated("Accept a mass deletion: the files were deleted on purpose."),
            discussion: translated(
                """
                If files were deleted here and the folder halted, it resumes and the other devices delete them too. If other \
                devices deleted them and this device held that back, it deletes them too. Asks for confirmation. To restore \
                files that were deleted here instead, use `synctrain folder repair`.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @Flag(help: ArgumentHelp(translated("Show what would be deleted; change nothing.")))
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await FolderActionRun(context: context, folder: folder).run(.confirm, isDryRun: dryRun)
    }
}

struct FolderRepairCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "repair", abstract: translated("Resume a halted folder: restore the missing files."),
            discussion: translated(
                """
                Recreates the folder's directory and marker and downloads the missing files from the other devices. \
                Nothing is deleted anywhere. If the disk is not mounted, mount it instead.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @Flag(help: ArgumentHelp(translated("Show what would be downloaded; change nothing.")))
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await FolderActionRun(context: context, folder: folder).run(.repair, isDryRun: dryRun)
    }
}

/// Settles something in a folder, after a question where something is lost.
struct FolderActionRun: Sendable {
    let context: CommandContext
    let folder: String

    func run(_ kind: FolderAction.Kind, isDryRun: Bool) async throws {
        let agent = try context.agent()
        let rendering = FolderActionRendering(style: context.style)
        let asks = kind != .repair
        if isDryRun || asks {
            let plan = try await agent.call(
                Endpoints.perform, FolderAction(folder: folder, action: kind, isDryRun: true))
            // A halted folder is to go on even if nothing is deleted by it.
            if isDryRun || (!plan.isChange && kind != .confirm) {
                return try show(plan, rendering)
            }
            var question = FolderActionRendering(style: Style(hasColor: false, escapesNames: true)).question(plan)
            if kind == .confirm, let why = try await haltMessage(agent) {
                question = "\(EscapedName.escape(why)) \(question)"
            }
            try context.confirm(question)
        }
        try show(try await agent.call(Endpoints.perform, FolderAction(folder: folder, action: kind)), rendering)
    }

    private func haltMessage(_ agent: any AgentControl) async throws -> String? {
        try await agent.call(Endpoints.status).folders.first { $0.id == folder }?.message
    }

    private func show(_ outcome: FolderActionOutcome, _ rendering: FolderActionRendering) throws {
        if context.options.json {
            try context.output.print(bytes: try ControlJSON.encode(outcome))
        } else {
            for line in rendering.lines(outcome) { try context.output.print(line) }
        }
        if outcome.lostFiles ?? 0 > 0 { throw ExitCode(2) }
    }
}
