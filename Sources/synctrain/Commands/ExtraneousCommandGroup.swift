import ArgumentParser
import ControlAPI

struct ExtraneousCommandGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extraneous", abstract: "Files that are on this disk and not selected.",
        subcommands: [ExtraneousListCommand.self, ExtraneousResolveCommand.self])
}

struct ExtraneousListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List what is on this disk and not selected.",
        discussion: """
            Prints size, time of change and FOLDER:path; where other devices have another version under that name, also \
            its size, its time and the device that made it. `synctrain extraneous resolve` settles what is listed.
            """)

    @Argument(help: "The folder's id; all folders if not given.")
    var folder: String?

    @Flag(name: [.customShort("0"), .customLong("null")], help: "Names alone, each ended by a zero byte; unescaped.")
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if null, global.json { throw ValidationError("-0 gives names alone: leave out --json.") }
    }

    func execute(in context: CommandContext) async throws {
        let listing = FolderListing(context: context, isNull: null)
        try await context.agent().call(Endpoints.extraneous, folder) { try listing.show($0) }
    }
}

struct NeedCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "need", abstract: "List what is selected and still to be fetched, in the order of its turn.",
        discussion: """
            Prints state, size, time of change and FOLDER:path. With --device: what another device has yet to get of what \
            is known here, without a state. What it has said that it does not keep is left out; of names that a Syncthing \
            ignores and has never come by it says nothing, so they are listed.
            """)

    @Argument(help: "The folder's id; all folders if not given.")
    var folder: String?

    @Option(help: ArgumentHelp("Another device, id or name.", valueName: "device"))
    var device: String?

    @Flag(name: [.customShort("0"), .customLong("null")], help: "Names alone, each ended by a zero byte; unescaped.")
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if null, global.json { throw ValidationError("-0 gives names alone: leave out --json.") }
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
                try context.output.print("\(size)  \(modified)    the other version, by \(device)")
            }
        }
    }
}
