import ArgumentParser
import ControlAPI

struct RefusedCommandGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refused", abstract: "Changes of devices that may only read.",
        discussion: """
            What a device changes, adds or deletes in a folder in which its role is read (`synctrain folder role`) is \
            not followed here. It is listed until it is accepted or reverted, or until that device has what the folder has.
            """,
        subcommands: [RefusedListCommand.self, RefusedAcceptCommand.self, RefusedRevertCommand.self])
}

struct RefusedListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List them: who changed what, and what the folder has.")

    @Argument(help: "The folder's id; all folders if not given.")
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
            case .new: "new \(change.kind), \(words(change.size, change.modified))"
            case .changed: "changed to \(words(change.size, change.modified))"
            case .deleted: "deleted"
            }
        guard let current = change.current else { return "\(name)  \(what) by \(style.name(device))" }
        let has = "the folder has \(words(current.size, current.modified))\(current.isHere ? "" : ", not here")"
        return "\(name)  \(what) by \(style.name(device)); \(has)"
    }

    private static func words(_ size: Int64, _ modified: String?) -> String {
        "\(Quantity.size(size)) of \(Timestamp.local(modified))"
    }
}

/// Which changes are accepted or reverted.
struct RefusedChoice: ParsableArguments {
    @Argument(help: "Files, directories for all in them, or a folder's id.", completion: .file())
    var paths: [String]

    @Option(help: ArgumentHelp("Only the changes of this device, id or name.", valueName: "device"))
    var device: String?

    @Flag(help: "Say what would be done; do nothing.")
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
            case (.accept, true): "would be accepted"
            case (.accept, false): "accepted"
            case (.revert, true): "would be reverted"
            case (.revert, false): "reverted; the devices that made them follow when they hear of it"
            }
        try context.output.print("\(style.name(outcome.folder)): \(Quantity.count(outcome.count, "change")) \(words)")
        if outcome.isDryRun {
            for name in outcome.names { try context.output.print("  \(style.name("\(outcome.folder):\(name)"))") }
        }
        for name in outcome.staying {
            try context.output.print(
                "stays: \(style.name("\(outcome.folder):\(name.path)"))  \(name.reason): \(name.message)")
        }
    }
}

struct RefusedAcceptCommand: RefusedSettling {
    static let configuration = CommandConfiguration(
        commandName: "accept", abstract: "Let changes count as if a device that may write had made them.",
        discussion: """
            Exactly the versions that are listed count from now on; what the device changes later is refused again. Asks \
            first if files are replaced or deleted by it.
            """)
    static let action = RefusalRequest.Action.accept

    @OptionGroup var chosen: RefusedChoice

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws { try await settle(in: context) }

    static func question(_ plans: [RefusalOutcome]) -> String? {
        let replaced = plans.reduce(0) { $0 + $1.replacements }
        let deleted = plans.reduce(0) { $0 + $1.deletions }
        guard replaced + deleted > 0 else { return nil }
        return
            "\(Quantity.count(replaced, "file")) will be replaced and \(Quantity.count(deleted, "file")) deleted on all "
            + "devices. Accept?"
    }
}

struct RefusedRevertCommand: RefusedSettling {
    static let configuration = CommandConfiguration(
        commandName: "revert", abstract: "Have the devices that made them take changes back.",
        discussion: """
            Announces what the folder has as later than the changes: the devices get the old contents back, and delete \
            what they added. What they had is lost unless they keep old versions, so it asks first. This device gives \
            back only what is on its disk.
            """)
    static let action = RefusalRequest.Action.revert

    @OptionGroup var chosen: RefusedChoice

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws { try await settle(in: context) }

    static func question(_ plans: [RefusalOutcome]) -> String? {
        let count = plans.reduce(0) { $0 + $1.count }
        guard count > 0 else { return nil }
        return "\(Quantity.count(count, "change")) will be lost on the devices that made them. Revert?"
    }
}

struct FolderRoleCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "role", abstract: "Say what a device may do in a folder.",
        discussion: """
            read: it gets everything, and what it changes is refused here (`synctrain refused`); write: what it changes \
            counts, the usual; admin: further devices and folders that it offers are taken over as well. Each device \
            that runs synctrain decides this for itself: one that lets it write passes its changes on as its own.
            """)

    enum Role: String, ExpressibleByArgument, CaseIterable { case read, write, admin }

    @Argument(help: "The folder's id.")
    var folder: String

    @Argument(help: "The device's id or name.")
    var device: String

    @Argument(help: "read, write or admin.")
    var role: Role

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.edit(
            .setFolderRole(FolderRoleChange(folder: folder, device: device, role: role.rawValue)))
    }
}
