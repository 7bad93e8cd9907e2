import ArgumentParser
import ControlAPI
import MountRules
import Phrases

struct MountCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: translated("Show all files of a folder in one directory, downloaded when they are used."),
        discussion: translated(
            """
            Files that are on this disk are read from it; all others are downloaded block by block as programs read \
            them. What programs write is a change of the folder: it goes to all devices, deletions as well. New files \
            stay on this disk until space is needed and other devices have them. A file that is not here is downloaded \
            whole before it is written to. It stays mounted until `synctrain unmount`.

            Example: synctrain mount photos ~/Library
            """))

    @Argument(
        help: ArgumentHelp(translated("Folder; may be omitted if there is only one."), valueName: "folder"),
        completion: .directory)
    var first: String?

    @Argument(
        help: ArgumentHelp(translated("Empty directory; created if missing."), valueName: "directory"),
        completion: .directory)
    var second: String?

    @Option(
        name: .customLong("folder"),
        help: ArgumentHelp(translated("Folder, in place of the first word."), valueName: "folder"))
    var option: String?

    @Flag(
        help: ArgumentHelp(
            translated("Print `ready` once files can be read, and run until Ctrl-C or SIGTERM, which unmount.")))
    var foreground = false

    @Flag(help: ArgumentHelp(translated("Refuse changes.")))
    var readOnly = false

    @Option(
        help: ArgumentHelp(
            translated("Bytes that one program may download by reading within 10 minutes: 20G or 500MB."),
            valueName: "size"))
    var readBudget: String?

    @Flag(help: ArgumentHelp(translated("List mounted folders.")))
    var list = false

    @OptionGroup var global: GlobalOptions

    private var directory: String? { second ?? first }

    private var folder: String? { option ?? (second == nil ? nil : first) }

    func validate() throws {
        if list == (directory != nil) { throw ValidationError(translated("Give a directory to mount on, or --list.")) }
        if list, readOnly { throw ValidationError(translated("--read-only cannot be combined with --list.")) }
        if list, readBudget != nil {
            throw ValidationError(translated("--read-budget cannot be combined with --list."))
        }
        if let readBudget, try FreeCommand.size(readBudget) <= 0 {
            throw ValidationError(translated("\(readBudget) is not a budget. Use 20G or 500MB."))
        }
        if second != nil, let option, option != first { throw ValidationError(translated("Give one folder.")) }
    }

    func execute(in context: CommandContext) async throws {
        guard let directory else { return try showList(context) }
        let folders = try await context.agent().call(Endpoints.status).folders
        let id = try chosen(among: folders.map(\.id))
        let path = try Mounting.prepare(
            context.absolute(directory), folders: folders.map(\.path), typed: directory)
        let mount = WantedMount(
            folder: id, directory: path, isReadOnly: readOnly, readBudget: try readBudget.map(FreeCommand.size))
        if foreground { return try Mounting.become(try context.places(), mount) }
        let refusal = try await Mounting.start(try context.places(), mount)
        let access = readOnly ? translated(", read-only") : refusal.map { ", " + $0 } ?? ""
        try context.remark(
            translated("Mounted \(id) on \(directory)\(access). To unmount: synctrain unmount \(directory)"))
    }

    private func chosen(among ids: [String]) throws -> String {
        if let folder {
            guard ids.contains(folder) else {
                throw ControlError(
                    .noSuchFolder, "\(folder): no such folder; `synctrain folder list` shows the folders", path: folder)
            }
            return folder
        }
        guard let only = ids.first else {
            throw ControlError(.noSuchFolder, "There is no folder to mount. Add one with `synctrain folder add`.")
        }
        guard ids.count == 1 else {
            throw ControlError(
                .invalidRequest,
                "There are several folders (\(ids.sorted().joined(separator: ", "))). Name one: "
                    + "`synctrain mount FOLDER DIRECTORY`.")
        }
        return only
    }

    private func showList(_ context: CommandContext) throws {
        let mounts = try Mounting.all().map {
            MountStatus(
                directory: $0.directory, folder: $0.folder, access: Mounting.statedAccess(of: $0.directory))
        }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(MountStatuses(mounts: mounts)))
        } else if mounts.isEmpty {
            try context.remark(translated("No folder is mounted."))
        } else {
            for line in Table.lines(
                mounts.map { mount in
                    [mount.folder, context.style.name(mount.directory), mount.access ?? ""]
                })
            {
                try context.output.print(line)
            }
        }
    }
}

private struct MountStatuses: Encodable {
    var schema = 1
    var mounts: [MountStatus]
}

private struct MountStatus: Encodable {
    var directory: String
    var folder: String
    /// Whether it can be written to, and why not; nil for another user's.
    var access: String?
}

struct UnmountCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount", abstract: translated("Unmount a folder."),
        discussion: translated(
            """
            Refused while programs use the directory; names them. With --lazy the directory is free at once, and the \
            programs keep what they have open.

            Example: synctrain unmount ~/Library --lazy
            """))

    @Argument(help: ArgumentHelp(translated("Directory that the folder is mounted on.")), completion: .directory)
    var directory: String

    @Flag(help: ArgumentHelp(translated("Unmount although programs use it.")))
    var lazy = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await Mounting.end(context.absolute(directory), typed: directory, isLazy: lazy)
    }
}
