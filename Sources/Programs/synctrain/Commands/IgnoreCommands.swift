import ArgumentParser
import ControlAPI
import Phrases

struct DeviceIgnoreCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ignore",
            abstract: translated("Ignore an unknown device for good: it is never listed as pending."),
            discussion: translated("`synctrain device ignored` lists them; adding the device ends this, too."))
    }

    @Argument(help: ArgumentHelp(translated("Device id.")))
    var id: String

    @Flag(help: ArgumentHelp(translated("List the device as pending again.")))
    var undo = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.perform(.setIgnored(IgnoreChange(device: id, isIgnored: !undo)))
    }
}

struct DeviceIgnoredCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ignored", abstract: translated("List ignored devices."))
    }

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let ignored = try await context.ignored()
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(ignored))
        } else if ignored.devices.isEmpty {
            try context.remark(translated("No ignored devices."))
        } else {
            for device in ignored.devices { try context.output.print(device) }
        }
    }
}

struct FolderIgnoreCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ignore",
            abstract: translated("Ignore a folder that others offer for good: it is never listed as pending."),
            discussion: translated(
                """
                `synctrain folder ignored` lists them; adding the folder ends this, too.

                Example: synctrain folder ignore photos --from nas
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @Option(help: ArgumentHelp(translated("Only offers of this device: its id or name."), valueName: "device"))
    var from: String?

    @Flag(help: ArgumentHelp(translated("List the folder as pending again.")))
    var undo = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.perform(.setIgnored(IgnoreChange(device: from, folder: folder, isIgnored: !undo)))
    }
}

struct FolderIgnoredCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ignored", abstract: translated("List ignored folders."))
    }

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let ignored = try await context.ignored()
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(ignored))
        } else if ignored.folders.isEmpty {
            try context.remark(translated("No ignored folders."))
        } else {
            for offer in ignored.folders {
                let from = offer.device.map { translated(" from \($0)") } ?? ""
                try context.output.print(context.style.name(offer.folder) + from)
            }
        }
    }
}

struct FolderRelaysCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "relays", abstract: translated("Allow or forbid a folder on relays."),
            discussion: translated(
                """
                off: the folder waits for a direct connection or Bluetooth, whatever relays the device uses.

                Example: synctrain folder relays films off
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @Argument(help: ArgumentHelp(translated("on or off.")))
    var use: OnOff

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.perform(.setFolderRelays(FolderRelaysChange(folder: folder, relays: use.isOn)))
    }
}

extension CommandContext {
    /// Who and what is ignored, as the agent says, or as configured if none runs.
    fileprivate func ignored() async throws -> IgnoredList {
        do {
            return try await agent().call(Endpoints.ignored)
        } catch let error as ControlError where error.code == .noAgent {
            try checkSetUp(.invalidConfiguration)
            return try environment.configured(try places()).ignored
        }
    }
}
