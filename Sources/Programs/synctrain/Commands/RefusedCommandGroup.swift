import ArgumentParser
import ControlAPI
import Phrases

struct RefusedCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "refused", abstract: translated("Review refused changes from read-only devices."),
            discussion: translated(
                """
                Changes from a device whose role in a folder is read (`synctrain folder role`) are not applied here. \
                They are listed until they are accepted or reverted, or until that device has the folder's version \
                again.
                """),
            subcommands: [RefusedListCommand.self, RefusedAcceptCommand.self, RefusedRevertCommand.self])
    }
}

struct RefusedListCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: translated("List refused changes and the versions in the folder."))
    }

    @Argument(help: ArgumentHelp(translated("Folder id; all folders if omitted.")))
    var folder: String?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let (output, isJSON, style) = (context.output, global.json, context.style)
        try await context.agent().call(Endpoints.refused, folder) { change in
            if isJSON { return try output.print(bytes: try ControlJSON.encode(change)) }
            try output.print(Self.line(change, style))
        }
    }

    private static func line(_ change: RefusedChange, _ style: Style) -> String {
        let device = change.name.isEmpty ? StatusRendering.short(change.device) : change.name
        let name = style.name("\(change.folder):\(change.path)")
        let what =
            switch change.change {
            case .new: translated("new \(change.kind), \(words(change.size, change.modified))")
            case .changed: translated("changed to \(words(change.size, change.modified))")
            case .deleted: translated("deleted")
            }
        guard let current = change.current else { return translated("\(name)  \(what) by \(style.name(device))") }
        let has = translated(
            "the folder has \(words(current.size, current.modified))\(current.isHere ? "" : translated(", not here"))")
        return translated("\(name)  \(what) by \(style.name(device)); \(has)")
    }

    private static func words(_ size: Int64, _ modified: String?) -> String {
        translated("\(Quantity.size(size)) of \(Timestamp.local(modified))")
    }
}

/// Which changes are accepted or reverted.
struct RefusedChoice: ParsableArguments {
    @Argument(
        help: ArgumentHelp(translated("Files, directories (with everything in them) or folder ids.")),
        completion: .file())
    var paths: [String]

    @Option(help: ArgumentHelp(translated("Device id or name whose changes to include."), valueName: "device"))
    var device: String?

    @Flag(help: ArgumentHelp(translated("Show what would be done; do nothing.")))
    var dryRun = false
}

/// What accepting and reverting share.
private protocol RefusedSettling: RunnableCommand {
    var chosen: RefusedChoice { get }
    var global: GlobalOptions { get }
    static var action: RefusalRequest.Action { get }
    /// What is asked before; nil if nothing would be lost.
    static func question(_ plans: [RefusalOutcome]) -> String?
}

extension RefusedSettling {
    fileprivate func settle(in context: CommandContext) async throws {
        var answer = try await ask(context, isDryRun: true)
        if !chosen.dryRun {
            if let question = Self.question(answer.folders) { try context.confirm(question) }
            answer = try await ask(context, isDryRun: false)
        }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
        } else {
            for outcome in answer.folders { try show(outcome, context) }
        }
        if answer.folders.contains(where: { !$0.staying.isEmpty }) {
            throw ExitCode(answer.folders.contains { $0.count > 0 } ? 2 : 1)
        }
    }

    private func ask(_ context: CommandContext, isDryRun: Bool) async throws -> RefusalAnswer {
        let request = RefusalRequest(
            paths: chosen.paths.map(context.path), action: Self.action, device: chosen.device, isDryRun: isDryRun)
        return try await context.agent().call(Endpoints.settleRefused, request)
    }

    private func show(_ outcome: RefusalOutcome, _ context: CommandContext) throws {
        let style = context.style
        let words =
            switch (outcome.action, outcome.isDryRun) {
            case (.accept, true): translated("would be accepted")
            case (.accept, false): translated("accepted")
            case (.revert, true): translated("would be reverted")
            case (.revert, false): translated("reverted; the devices that made them follow once they are connected")
            }
        try context.output.print("\(style.name(outcome.folder)): \(Quantity.changes(outcome.count)) \(words)")
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

struct RefusedAcceptCommand: RefusedSettling {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "accept", abstract: translated("Accept refused changes."),
            discussion: translated(
                """
                Accepts exactly the versions that are listed; later changes by the device are refused again. Asks for \
                confirmation if files would be replaced or deleted.
                """))
    }
    static let action = RefusalRequest.Action.accept

    @OptionGroup var chosen: RefusedChoice

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws { try await settle(in: context) }

    static func question(_ plans: [RefusalOutcome]) -> String? {
        let replaced = plans.reduce(0) { $0 + $1.replacements }
        let deleted = plans.reduce(0) { $0 + $1.deletions }
        guard replaced + deleted > 0 else { return nil }
        return
            translated(
                "\(Quantity.files(replaced)) will be replaced and \(Quantity.files(deleted)) deleted on all "
                    + "devices. Accept?")
    }
}

struct RefusedRevertCommand: RefusedSettling {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "revert", abstract: translated("Revert refused changes on the devices that made them."),
            discussion: translated(
                """
                Announces the folder's versions as newer than the changes: the devices restore the old contents and \
                delete what they added. Their changes are lost unless they keep old versions, so it asks for \
                confirmation. Only files on this disk can be restored.
                """))
    }
    static let action = RefusalRequest.Action.revert

    @OptionGroup var chosen: RefusedChoice

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws { try await settle(in: context) }

    static func question(_ plans: [RefusalOutcome]) -> String? {
        let count = plans.reduce(0) { $0 + $1.count }
        guard count > 0 else { return nil }
        return translated("\(Quantity.changes(count)) will be lost on the devices that made them. Revert?")
    }
}

struct FolderRoleCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "role", abstract: translated("Set the role of a device in a folder."),
            discussion: translated(
                """
                read: the device receives everything, but its changes are refused here (`synctrain refused`); write \
                (default): its changes are applied; admin: devices and folders that it offers are also added. Each \
                synctrain device sets roles for itself: a device that grants write propagates the changes as its own.

                Example: synctrain folder role photos tablet read
                """))
    }

    enum Role: String, ExpressibleByArgument, CaseIterable { case read, write, admin }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @Argument(help: ArgumentHelp(translated("Device id or name.")))
    var device: String

    @Argument(help: ArgumentHelp(translated("Role: read, write or admin.")))
    var role: Role

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.perform(
            .setFolderRole(FolderRoleChange(folder: folder, device: device, role: role.rawValue)))
    }
}
