import ArgumentParser
import ControlAPI
import MountRules
import Phrases

struct MountCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "mount",
            abstract: translated("Show all files of a folder in one directory, downloaded when they are used."),
            discussion: translated(
                """
                Files that are on this disk are read from it; all others are downloaded block by block as programs read \
                them. What programs write is a change of the folder: it goes to all devices, deletions as well. New files \
                stay on this disk until space is needed and other devices have them. A file that is not here is downloaded \
                whole before it is written to. It stays mounted until `synctrain unmount`.

                Example: synctrain mount photos ~/Library
                Example: synctrain mount photos ~/Library --at-login
                """))
    }

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

    @Flag(
        help: ArgumentHelp(
            translated(
                "Mount it whenever the agent starts; without a directory on ~/FOLDER, or if taken ~/FOLDER-all."
            )))
    var atLogin = false

    @Flag(help: ArgumentHelp(translated("List mounted folders.")))
    var list = false

    @OptionGroup var global: GlobalOptions

    private struct Place {
        var folder: String
        /// As typed, or as the configuration has it.
        var directory: String
    }

    func validate() throws {
        if list == (first != nil || option != nil) {
            throw ValidationError(translated("Give a directory to mount on, or --list."))
        }
        if list, readOnly { throw ValidationError(translated("--read-only cannot be combined with --list.")) }
        if list, readBudget != nil {
            throw ValidationError(translated("--read-budget cannot be combined with --list."))
        }
        if list, atLogin { throw ValidationError(translated("--at-login cannot be combined with --list.")) }
        if let readBudget, try FreeCommand.size(readBudget) <= 0 {
            throw ValidationError(translated("\(readBudget) is not a budget. Use 20G or 500MB."))
        }
        if second != nil, let option, option != first { throw ValidationError(translated("Give one folder.")) }
        guard atLogin else { return }
        if foreground { throw ValidationError(translated("--at-login cannot be combined with --foreground.")) }
        if readBudget != nil {
            throw ValidationError(
                translated(
                    "--at-login cannot be combined with --read-budget. Use `synctrain config set mount.read-budget SIZE`."
                ))
        }
    }

    func execute(in context: CommandContext) async throws {
        if list { return try await showList(context) }
        let status = try await context.agent().call(Endpoints.status)
        let place = try place(status, context)
        if atLogin { return try await mountAtLogin(place, context) }
        let path = try Mounting.prepare(
            context.absolute(place.directory), folders: status.folders.map(\.path), typed: place.directory)
        let mount = WantedMount(
            folder: place.folder, directory: path, isReadOnly: readOnly,
            readBudget: try readBudget.map(FreeCommand.size))
        let places = MountPlaces(try context.places())
        if foreground {
            let said = try global.json ? ControlJSON.encode(Confirmation(message: done(place, refusal: nil))) : nil
            return try Mounting.become(places, mount, said: said.map { String(decoding: $0, as: UTF8.self) })
        }
        let refusal = try await Mounting.start(places, mount).refusal
        try context.remark(done: done(place, refusal: refusal))
    }

    private func done(_ place: Place, refusal: String?) -> String {
        let access = readOnly ? translated(", read-only") : refusal.map { ", " + $0 } ?? ""
        return translated(
            "Mounted \(place.folder) on \(place.directory)\(access). To unmount: synctrain unmount \(ShellWord.quoted(place.directory))"
        )
    }

    /// Has the agent mount it, now and whenever it starts.
    private func mountAtLogin(_ place: Place, _ context: CommandContext) async throws {
        let change = MountSwitch(
            folder: place.folder, directory: context.absolute(place.directory), isMounted: true,
            isReadOnly: readOnly, isConfigured: true)
        try await context.agent().call(Endpoints.setMounted, change)
        try context.remark(
            done: translated(
                "Mounted \(place.folder) on \(place.directory), and from now on whenever the agent starts. To end that: synctrain unmount --forget \(ShellWord.quoted(place.directory))"
            ))
        guard await !UserService.startsAtLogin(context.process.variables) else { return }
        let isAvailable = UserService.isAvailable(context.process.variables)
        try context.remark(
            isAvailable
                ? translated(
                    "The agent does not start at login yet: systemctl --user enable \(SystemdUnit.name), after `synctrain agent install`."
                )
                : translated(
                    "This user has no systemd that starts the agent: have your session run `synctrain agent start`."))
    }

    /// Which folder is mounted where. A single word is a folder if one has that id, and a directory otherwise.
    private func place(_ status: AgentStatus, _ context: CommandContext) throws -> Place {
        let ids = status.folders.map(\.id)
        if let second { return Place(folder: try chosen(option ?? first, among: ids), directory: second) }
        let isFolder = option == nil && first.map(ids.contains) == true
        let folder = try chosen(isFolder ? first : option, among: ids)
        guard let directory = isFolder ? known(folder, status, context) : first ?? known(folder, status, context) else {
            throw ControlError(
                .invalidRequest,
                "\(folder) has no directory to be mounted on. Use `synctrain mount \(ShellWord.quoted(folder)) DIRECTORY`.",
                path: folder)
        }
        return Place(folder: folder, directory: directory)
    }

    /// The directory that the configuration has for a folder; with --at-login one in the user's home.
    private func known(_ folder: String, _ status: AgentStatus, _ context: CommandContext) -> String? {
        if let found = status.mounts?.first(where: { $0.folder == folder && $0.isConfigured }) {
            return found.directory
        }
        guard atLogin, let home = context.process.variables["HOME"], home.hasPrefix("/") else { return nil }
        let others = (status.mounts ?? []).filter { $0.folder != folder }.map(\.directory)
        return MountPoint.proposal(home: home, folder: folder, taken: status.folders.map(\.path) + others)
    }

    private func chosen(_ folder: String?, among ids: [String]) throws -> String {
        if let folder {
            guard ids.contains(folder) else {
                throw ControlError.noSuchFolder(folder, among: ids)
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

    private func showList(_ context: CommandContext) async throws {
        let socket = MountPlaces(try context.places()).socket
        let known: [ControlAPI.MountStatus]?
        do { known = try await context.agent().call(Endpoints.mounts).mounts } catch { known = nil }
        let mounts = try Mounting.all().map { mount in
            let server = Mounting.server(of: mount.directory)
            let said = known?.first { $0.directory == mount.directory && $0.folder == mount.folder }?.state
            let state = MountServerState(
                server, isAbandoned: server == nil && Mounting.isAbandoned(mount.directory), ownSocket: socket,
                isAgentThere: known != nil, said: said.flatMap { MountStanding(rawValue: $0) })
            // One that does not answer is not asked: who asks would wait, for ever if its process is stopped.
            let access = state == .answers ? Mounting.statedAccess(of: mount.directory) : nil
            return MountStatus(
                directory: mount.directory, folder: mount.folder,
                state: (state == .answers ? MountStanding.mounted : .notAnswering).rawValue, access: access,
                trouble: Self.trouble(state, mount.directory))
        }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(MountStatuses(mounts: mounts)))
        } else if mounts.isEmpty {
            try context.remark(translated("No folder is mounted."))
        } else {
            for line in Table.lines(
                mounts.map { mount in
                    [
                        mount.folder, context.style.name(mount.directory),
                        mount.trouble ?? mount.access.map(Word.shown) ?? Self.unseen,
                    ]
                })
            {
                try context.output.print(line)
            }
        }
    }
}

extension MountCommand {
    /// Of a mount that says nothing to this user.
    private static var unseen: String { translated("its state is not known: it may be another user's") }

    /// Why programs wait or fail in a mount, and what helps; nil if they do not.
    private static func trouble(_ state: MountServerState, _ directory: String) -> String? {
        switch state {
        case .answers: nil
        case .isGone:
            translated(
                "does not answer: its process has ended. Use `synctrain unmount \(ShellWord.quoted(directory))`, then mount it again."
            )
        case .isStopped(let process):
            translated("does not answer: its process \(process) is stopped. Use `kill -CONT \(process)`.")
        case .hasNoAgent: translated("does not answer: the agent does not run. Start it with `synctrain agent start`.")
        case .isNotConnected: translated("does not answer: its process is not connected to the agent")
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
    /// `mounted`, or `not-answering`: programs wait or fail there.
    var state: String
    /// Whether it can be written to, and why not; nil for another user's, and where nobody answers.
    var access: String?
    /// Why nobody answers, and what helps.
    var trouble: String?

    private enum CodingKeys: CodingKey { case directory, folder, state, access }
}

struct UnmountCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "unmount", abstract: translated("Unmount a folder."),
            discussion: translated(
                """
                Refused while programs use the directory; names them. With --lazy the directory is free at once, and the \
                programs keep what they have open. A folder that is mounted whenever the agent starts comes back then, unless \
                --forget is given.

                Example: synctrain unmount ~/Library --lazy
                Example: synctrain unmount ~/Library --forget
                """))
    }

    @Argument(
        help: ArgumentHelp(translated("Directory that the folder is mounted on, or the folder with --forget.")),
        completion: .directory)
    var directory: String

    @Flag(help: ArgumentHelp(translated("Unmount although programs use it.")))
    var lazy = false

    @Flag(help: ArgumentHelp(translated("Do not mount it any more when the agent starts.")))
    var forget = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        guard forget else {
            try await Mounting.end(context.absolute(directory), typed: directory, isLazy: lazy)
            return try context.remark(done: translated("No folder is mounted on \(directory) any more."))
        }
        let path = Mounting.resolved(context.absolute(directory))
        let mounts = try await context.agent().call(Endpoints.mounts).mounts.filter(\.isConfigured)
        guard let mount = mounts.first(where: { Mounting.resolved($0.directory) == path || $0.folder == directory })
        else {
            throw ControlError(
                .noSuchPath,
                "No folder is mounted on \(directory) when the agent starts. `synctrain status` shows those that are.",
                path: directory)
        }
        let change = MountSwitch(folder: mount.folder, isMounted: false, isConfigured: false, isLazy: lazy)
        try await context.agent().call(Endpoints.setMounted, change)
        try context.remark(done: translated("\(mount.folder) is not mounted on \(mount.directory) any more."))
    }
}
