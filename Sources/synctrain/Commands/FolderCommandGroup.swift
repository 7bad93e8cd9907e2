import ArgumentParser
import ControlAPI

struct FolderCommandGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "folder", abstract: "The shared folders.",
        subcommands: [
            FolderListCommand.self, FolderAddCommand.self, FolderPauseCommand.self, FolderResumeCommand.self,
            FolderRemoveCommand.self, FolderModeCommand.self, FolderBluetoothCommand.self, FolderOverrideCommand.self,
            FolderRevertCommand.self, FolderRoleCommand.self,
            FolderConfirmCommand.self, FolderRepairCommand.self,
        ])
}

struct FolderListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List folders, what is in them and what is here.",
        discussion: "Without a running agent the configured folders are listed.")

    @Flag(help: "List the folders that known devices offer.")
    var pending = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let rendering = StatusRendering(style: context.style)
        if pending {
            let folders = try await context.agent().call(Endpoints.pending).folders
            if global.json {
                try context.output.print(bytes: try ControlJSON.encode(PendingFolderList(folders: folders)))
            } else if folders.isEmpty {
                try context.remark("No folder is offered that is not here.")
            } else {
                for line in rendering.pending(folders) { try context.output.print(line) }
            }
            return
        }
        let (_, folders, isFromAgent) = try await context.known()
        if !isFromAgent { try context.remark("No agent runs: this is what is configured.") }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(FolderList(folders: folders)))
        } else if folders.isEmpty {
            try context.remark("There are no folders. Add one with `synctrain folder add`.")
        } else {
            for line in rendering.folders(folders) { try context.output.print(line) }
        }
    }
}

extension FolderStatus {
    /// A folder nobody looks after: the state is `stopped`, and what it holds is not known.
    init(stopped folder: FolderSettings) {
        self.init(
            id: folder.id, label: folder.label ?? folder.id, path: folder.path, mode: folder.mode, type: folder.type,
            state: folder.isPaused ? "paused" : "stopped", devices: folder.devices, global: .init(), local: .init(),
            need: .init())
    }
}

/// What `folder list --pending --json` prints.
struct PendingFolderList: Codable, Equatable {
    var schema = 1
    var folders: [PendingFolder]
}

struct FolderAddCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Share a folder, or take one that is offered.",
        discussion: "The directory and its marker are made if they are not there.")

    enum Mode: String, ExpressibleByArgument, CaseIterable { case selective, full }
    enum Kind: String, ExpressibleByArgument, CaseIterable { case sendreceive, sendonly, receiveonly }

    @Argument(help: "The folder's id, the same on every device.")
    var id: String

    @Argument(help: "Where it lies here.", completion: .directory)
    var path: String

    @Option(help: ArgumentHelp("What to call it here.", valueName: "label"))
    var label: String?

    @Option(help: ArgumentHelp("A device to share it with, id or name; may be given again.", valueName: "device"))
    var device: [String] = []

    @Option(help: "selective keeps what is picked, full keeps everything.")
    var mode = Mode.selective

    @Option(help: "sendreceive, sendonly or receiveonly.")
    var type = Kind.sendreceive

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.edit(
            .addFolder(
                FolderSettings(
                    id: id, label: label, path: context.absolute(path), mode: mode.rawValue, type: type.rawValue,
                    devices: device)))
    }
}

struct FolderPauseCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Let a folder rest: nothing is sent, received or fetched.")

    @Argument(help: "The folder's id.")
    var folder: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws { try await context.edit(.setFolderPaused(folder, true)) }
}

struct FolderResumeCommand: RunnableCommand {
    static let configuration = CommandConfiguration(commandName: "resume", abstract: "End a folder's rest.")

    @Argument(help: "The folder's id.")
    var folder: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws { try await context.edit(.setFolderPaused(folder, false)) }
}

struct FolderRemoveCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a folder and share it no longer. Its files stay.",
        discussion: "Asks first.")

    @Argument(help: "The folder's id.")
    var folder: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        if !global.yes { try context.confirm(try await question(context)) }
        try await context.edit(.removeFolder(folder))
        try Removed(folder).say("Removed the folder \(context.style.name(folder)). Its files stay.", in: context)
    }

    /// Throws `noSuchFolder` if there is none to ask about.
    private func question(_ context: CommandContext) async throws -> String {
        guard let found = try await context.known().folders.first(where: { $0.id == folder }) else {
            throw ControlError(
                .noSuchFolder, "No folder is named `\(folder)`. `synctrain folder list` shows those shared.",
                path: folder)
        }
        let devices =
            found.devices.isEmpty ? "" : ", shared with \(Quantity.count(Int64(found.devices.count), "device"))"
        return
            "Remove the folder \(EscapedName.escape(found.id))\(devices)? Its selection and index go; its files stay in "
            + "\(EscapedName.escape(found.path))."
    }
}
