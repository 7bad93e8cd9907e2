import ArgumentParser
import ControlAPI
import Phrases

struct ExtraneousCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "extraneous",
            abstract: translated("List and resolve files on this disk that are not selected."),
            subcommands: [ExtraneousListCommand.self, ExtraneousResolveCommand.self])
    }
}

struct ExtraneousListCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: translated("List files on this disk that are not selected."),
            discussion: translated(
                """
                Prints size, modification time and FOLDER:path; if other devices have another version, also its size, \
                time and the device that made it. `synctrain extraneous resolve` resolves the files.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id; all folders if omitted.")))
    var folder: String?

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: ArgumentHelp(translated("End names with a zero byte and do not escape them.")))
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if null, global.json { throw ValidationError(translated("Use either -0 or --json, not both.")) }
    }

    func execute(in context: CommandContext) async throws {
        let listing = FolderListing(context: context, isNull: null)
        try await context.agent().call(Endpoints.extraneous, folder) { try listing.show($0) }
    }
}

struct NeedCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "need",
            abstract: translated("List selected files that are still to be downloaded, in download order."),
            discussion: translated(
                """
                Prints state, size, modification time and FOLDER:path. With --device: what another device still needs, \
                without a state. Files that it has reported as not selected are omitted; files that a Syncthing device \
                ignores but has never seen are listed.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id; all folders if omitted.")))
    var folder: String?

    @Option(help: ArgumentHelp(translated("Device id or name."), valueName: "device"))
    var device: String?

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: ArgumentHelp(translated("End names with a zero byte and do not escape them.")))
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if null, global.json { throw ValidationError(translated("Use either -0 or --json, not both.")) }
    }

    func execute(in context: CommandContext) async throws {
        if let device {
            let listing = FolderListing(context: context, isNull: null)
            try await context.agent().call(Endpoints.remoteNeeds, RemoteNeedQuery(device: device, folder: folder)) {
                try listing.show($0)
            }
            return
        }
        let listing = FolderListing(context: context, isNull: null, hasState: true)
        try await context.agent().call(Endpoints.needs, folder) { try listing.show($0) }
    }
}

/// Entries of several folders, one on a line.
struct FolderListing: Sendable {
    let context: CommandContext
    let isNull: Bool
    var hasState = false

    func show(_ entry: Entry) throws {
        let name = "\(entry.folder):\(entry.path)"
        if context.options.json {
            try EntryPrinter(output: context.output).printJSON(entry)
        } else if isNull {
            try context.output.write(bytes: name.utf8 + [0])
        } else {
            let style = context.style
            let size = Table.pad(Quantity.size(entry.size), to: 8, .right)
            let modified = Table.pad(Timestamp.local(entry.modified), to: 16)
            let state = hasState ? style.state(entry.state, padded: 10) + "  " : ""
            let shown = style.name(name)
            try context.output.print(
                "\(state)\(size)  \(modified)  "
                    + (entry.kind == .directory ? style.directory(shown + "/") : shown))
            if let other = entry.other {
                let size = Table.pad(Quantity.size(other.size), to: 8, .right)
                let modified = Table.pad(Timestamp.local(other.modified), to: 16)
                let device = style.name(other.device ?? other.modifiedBy)
                try context.output.print(translated("\(size)  \(modified)    the other version, by \(device)"))
            }
        }
    }
}
