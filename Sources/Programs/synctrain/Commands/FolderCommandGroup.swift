import ArgumentParser
import ControlAPI
import Phrases
import Spelling

struct FolderCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "folder", abstract: translated("Manage shared folders."),
            subcommands: [
                FolderListCommand.self, FolderAddCommand.self, FolderPauseCommand.self, FolderResumeCommand.self,
                FolderShareCommand.self, FolderUnshareCommand.self, FolderRemoveCommand.self, FolderSetCommand.self,
                FolderGetCommand.self, FolderModeCommand.self,
                FolderBluetoothCommand.self, FolderOverrideCommand.self,
                FolderRevertCommand.self, FolderRoleCommand.self, FolderRelaysCommand.self, FolderIgnoreCommand.self,
                FolderIgnoredCommand.self,
                FolderConfirmCommand.self, FolderRepairCommand.self,
            ])
    }
}

struct FolderListCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: translated("List folders with their global and local contents."),
            discussion: translated("Without a running agent, lists the configured folders."))
    }

    @Flag(help: ArgumentHelp(translated("List pending folders: folders offered by known devices.")))
    var pending = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        var rendering = StatusRendering(style: context.style)
        if pending {
            let folders = try await context.agent().call(Endpoints.pending).folders
            if global.json {
                try context.output.print(bytes: try ControlJSON.encode(PendingFolderList(folders: folders)))
            } else if folders.isEmpty {
                try context.remark(translated("No pending folders."))
            } else {
                for line in rendering.pending(folders) { try context.output.print(line) }
            }
            return
        }
        let (_, folders, isFromAgent) = try await context.known()
        rendering.isFromAgent = isFromAgent
        if !isFromAgent { try context.remark(translated("The agent is not running; showing the configuration.")) }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(FolderList(folders: folders)))
        } else if folders.isEmpty {
            try context.remark(translated("No folders yet. Add one with `synctrain folder add`."))
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
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "add", abstract: translated("Share a folder, or accept a pending one."),
            discussion: translated(
                """
                Creates the directory and its marker if they do not exist. A pending folder gets the label that its devices \
                offer, and is shared with them unless --device is given. On a terminal, asks before it makes a folder that \
                no device offers, in case of a typing error.

                Example: synctrain folder add photos ~/Photos --device nas
                """))
    }

    enum Mode: String, ExpressibleByArgument, CaseIterable { case selective, full }
    enum Kind: String, ExpressibleByArgument, CaseIterable { case sendreceive, sendonly, receiveonly }

    @Argument(help: ArgumentHelp(translated("Folder id, the same on every device.")))
    var id: String

    @Argument(help: ArgumentHelp(translated("Path on this device.")), completion: .directory)
    var path: String

    @Option(help: ArgumentHelp(translated("Label on this device; the offered one if omitted."), valueName: "label"))
    var label: String?

    @Option(
        help: ArgumentHelp(
            translated("Device to share with, id or name; repeatable. The devices that offer it if omitted."),
            valueName: "device"))
    var device: [String] = []

    @Option(
        help: ArgumentHelp(
            translated("Mode: selective (only selected files; the default) or full (everything).")))
    var mode: Mode?

    @Option(help: ArgumentHelp(translated("Folder type: sendreceive (the default), sendonly or receiveonly.")))
    var type: Kind?

    @Flag(help: ArgumentHelp(translated("Do not ask whether a folder that no device offers is meant to be new.")))
    var new = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let offers = try await offers(context)
        var settings = FolderSettings(
            id: id, label: label ?? offers.first { !$0.label.isEmpty }?.label,
            path: context.folderPath(path), mode: (mode ?? .selective).rawValue, type: (type ?? .sendreceive).rawValue,
            devices: device.isEmpty ? offers.map(\.device) : device)
        guard let known = try await context.known().folders.first(where: { $0.id == id }) else {
            return try await context.perform(.addFolder(settings))
        }
        // The folder stays as it is: what would have to change is not passed over.
        if let change = Self.change(of: known, label: label, mode: mode, type: type) {
            throw ControlError(
                .alreadyExists, "The folder \(id) is already there. To change it: `\(change)`.", path: id)
        }
        (settings.mode, settings.type, settings.label) = (known.mode, known.type, nil)
        try await context.edit(.addFolder(settings))
        let (name, path) = (context.style.name(id), context.style.name(known.path))
        let devices = settings.devices.map { context.style.name($0) }.joined(separator: ", ")
        try context.confirm(
            done: devices.isEmpty
                ? translated("Folder \(name) is already there, in \(path). Nothing has changed.")
                : translated("Folder \(name) is already there, in \(path). It is shared with \(devices)."))
    }

    /// The command for the first of the options that says something else than a folder that is there has; nil if none does.
    private static func change(of known: FolderStatus, label: String?, mode: Mode?, type: Kind?) -> String? {
        if let mode, mode.rawValue != known.mode {
            return ShellWord.command(["folder", "mode", known.id, mode.rawValue])
        }
        if let type, type.rawValue != known.type {
            return ShellWord.command(["folder", "set", known.id, "type=" + type.rawValue])
        }
        if let label, label != known.label { return ShellWord.command(["folder", "set", known.id, "label=" + label]) }
        return nil
    }

    /// Who offers the folder. Asks if nobody does; without an agent nobody can say.
    private func offers(_ context: CommandContext) async throws -> [PendingFolder] {
        let agent = try context.agent()
        let pending: [PendingFolder]
        do {
            pending = try await agent.call(Endpoints.pending).folders
        } catch let error as ControlError where error.code == .noAgent {
            return []
        }
        let offers = pending.filter { $0.id == id }
        guard offers.isEmpty, !new, context.asks else { return offers }
        let known = try await agent.call(Endpoints.status).folders
        guard !known.contains(where: { $0.id == id }) else { return [] }
        try context.agree(Self.question(id, offered: pending.map(\.id)))
        return []
    }

    static func question(_ id: String, offered: [String]) -> String {
        let near =
            NearestWord.find(id, in: offered).map { translated(" (`\(EscapedName.escape($0))` is offered)") } ?? ""
        return translated(
            "No device offers a folder `\(EscapedName.escape(id))`\(near). Create a new folder with this id?")
    }
}

struct FolderPauseCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "pause", abstract: translated("Pause a folder."))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws { try await context.perform(.setFolderPaused(folder, true)) }
}

struct FolderResumeCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "resume", abstract: translated("Resume a folder."))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws { try await context.perform(.setFolderPaused(folder, false)) }
}

struct FolderShareCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "share", abstract: translated("Share a folder with a device."),
            discussion: translated(
                """
                The other device has to accept the folder, too. Shared with it already, nothing changes. A device that keeps \
                the folder encrypted gets it only with --unencrypted.

                Example: synctrain folder share photos nas
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @OptionGroup var devices: NamedDevices

    @Flag(help: ArgumentHelp(translated("Send the folder unencrypted to a device that kept it encrypted.")))
    var unencrypted = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        for device in devices.all {
            try await context.perform(
                .setFolderShared(
                    FolderSharingChange(
                        folder: folder, device: device, isShared: true, isUnencrypted: unencrypted ? true : nil)))
        }
    }
}

struct FolderUnshareCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "unshare",
            abstract: translated("Stop sharing a folder with a device. Files are kept on both devices."),
            discussion: translated(
                """
                Also forgets the device's role in the folder. `synctrain folder share` shares it again.

                Example: synctrain folder unshare photos tablet
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @OptionGroup var devices: NamedDevices

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        for device in devices.all {
            try await context.perform(
                .setFolderShared(FolderSharingChange(folder: folder, device: device, isShared: false)))
        }
    }
}

/// Devices as an argument, as one is typed, or with the option that `folder add` has.
struct NamedDevices: ParsableArguments {
    @Argument(help: ArgumentHelp(translated("Device id or name."), valueName: "device"))
    var devices: [String] = []

    @Option(
        name: .customLong("device"),
        help: ArgumentHelp(translated("Device id or name; repeatable."), valueName: "device"))
    var options: [String] = []

    var all: [String] { devices + options }

    func validate() throws {
        guard !all.isEmpty else { throw ValidationError(translated("Missing the device's id or name.")) }
    }
}

struct FolderRemoveCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "remove", abstract: translated("Remove a folder and stop sharing it. Its files are kept."),
            discussion: translated("Asks for confirmation."))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        if !global.yes { try context.confirm(try await question(context)) }
        try await context.edit(.removeFolder(folder))
        try Removed(folder).say(
            translated("Removed folder \(context.style.name(folder)). Its files are kept."), in: context)
    }

    /// Throws `noSuchFolder` if there is none to ask about.
    private func question(_ context: CommandContext) async throws -> String {
        let folders = try await context.known().folders
        guard let found = folders.first(where: { $0.id == folder }) else {
            throw ControlError.noSuchFolder(folder, among: folders.map(\.id))
        }
        let devices =
            found.devices.isEmpty
            ? "" : translated(", shared with \(Quantity.devices(Int64(found.devices.count)))")
        return
            translated(
                "Remove folder \(EscapedName.escape(found.id))\(devices)? Its selection and index are removed; its files are kept in "
                    + "\(EscapedName.escape(found.path)).")
    }
}
