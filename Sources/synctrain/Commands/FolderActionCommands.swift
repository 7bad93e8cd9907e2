import ArgumentParser
import ControlAPI

struct FolderModeCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mode", abstract: "Keep all of a folder, or only what is selected.",
        discussion: """
            Writes .stignore anew and keeps what it ignores everywhere. In selective mode, what no line selects \
            is kept no more; what is on this disk stays where it is, and `synctrain extraneous list` shows it.
            """)

    @Argument(help: "The folder's id.")
    var folder: String

    @Argument(help: "selective keeps what is picked, full keeps everything.")
    var mode: FolderAddCommand.Mode

    @Flag(help: "Say what would change and what it would cost; change nothing.")
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let change = FolderModeChange(folder: folder, mode: mode.rawValue, isDryRun: dryRun)
        try SelectionReport(context: context).show(try await context.agent().call(Endpoints.setFolderMode, change))
    }
}

struct FolderOverrideCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "override", abstract: "Undo what other devices changed in a folder that only sends.",
        discussion: "The other devices get this device's files, and delete what it has not. Asks first.")

    @Argument(help: "The folder's id.")
    var folder: String

    @Flag(help: "Say what would change; change nothing.")
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await FolderActionRun(context: context, folder: folder).run(.override, isDryRun: dryRun)
    }
}

struct FolderRevertCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revert", abstract: "Undo what was changed here in a folder that only receives.",
        discussion: "This device gets the other devices' files back, and deletes what they have not. Asks first.")

    @Argument(help: "The folder's id.")
    var folder: String

    @Flag(help: "Say what would change; change nothing.")
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await FolderActionRun(context: context, folder: folder).run(.revert, isDryRun: dryRun)
    }
}

struct FolderConfirmCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm", abstract: "Let a halted folder go on: what is gone was deleted on purpose.",
        discussion: """
            The other devices delete it too. Asks first. To get the files back instead: `synctrain folder repair`.
            """)

    @Argument(help: "The folder's id.")
    var folder: String

    @Flag(help: "Say what would be deleted; change nothing.")
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await FolderActionRun(context: context, folder: folder).run(.confirm, isDryRun: dryRun)
    }
}

struct FolderRepairCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair", abstract: "Let a halted folder go on: what is gone comes back.",
        discussion: """
            Makes the folder's directory and its marker anew and fetches what is missing from the other devices. \
            Nothing is deleted anywhere. If the disk is only not mounted, mount it instead.
            """)

    @Argument(help: "The folder's id.")
    var folder: String

    @Flag(help: "Say what would be fetched; change nothing.")
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
    }
}
