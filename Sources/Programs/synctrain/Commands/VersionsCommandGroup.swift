import ArgumentParser
import ControlAPI
import Phrases
import Synchronization

struct VersionsCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "versions", abstract: translated("List and restore archived versions of files."),
            discussion: translated(
                """
                If `versions` in a folder's configuration is trashcan, simple or staggered, the folder archives files \
                that other devices replace or delete, with Syncthing's names and rules. Files that you delete or change \
                on this device are not archived.
                """),
            subcommands: [VersionsListCommand.self, VersionsShowCommand.self, VersionsRestoreCommand.self])
    }
}

struct VersionsListCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: translated("List archived versions."),
            discussion: translated("Prints archive time, size, modification time and FOLDER:path, oldest first."))
    }

    @Argument(
        help: ArgumentHelp(translated("File, directory or folder id; all folders if omitted.")), completion: .file())
    var path: String?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let (output, style, isJSON) = (context.output, context.style, global.json)
        try await context.agent().call(Endpoints.versions, path.map(context.path)) { version in
            if isJSON { return try output.print(bytes: try ControlJSON.encode(version)) }
            let size = Table.pad(Quantity.size(version.size), to: 8, .right)
            try output.print(
                "\(Timestamp.precise(version.archived))  \(size)  \(Timestamp.local(version.modified))  "
                    + style.name("\(version.folder):\(version.path)"))
        }
    }
}

struct VersionsShowCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show", abstract: translated("Show the archived versions of a file and their paths."),
            discussion: translated("Any program can read the archived files; do not change them."))
    }

    @Argument(help: ArgumentHelp(translated("File.")), completion: .file())
    var path: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let (output, style, isJSON) = (context.output, context.style, global.json)
        let found = Found()
        try await context.agent().call(Endpoints.versions, context.path(path)) { version in
            found.note()
            if isJSON { return try output.print(bytes: try ControlJSON.encode(version)) }
            try output.print(
                translated(
                    "in its place until \(Timestamp.precise(version.archived)), \(Quantity.size(version.size)), changed "
                        + "\(Timestamp.precise(version.modified))\n  \(style.name(version.file))"))
        }
        guard found.isEmpty else { return }
        throw ControlError(
            .noSuchPath, "\(path): no archived version. `synctrain versions list` shows what is archived.",
            path: path)
    }
}

struct VersionsRestoreCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "restore", abstract: translated("Restore an archived version, on this device and all others."),
            discussion: translated(
                """
                The restored version becomes the newest. If the file exists, asks for confirmation and archives the \
                current version. The archive keeps the restored version, too.
                """))
    }

    @Argument(help: ArgumentHelp(translated("File.")), completion: .file())
    var path: String

    @Option(
        help: ArgumentHelp(
            translated("Archive time of the version, for example \"2026-11-21 14:03:05\"; the latest if omitted."),
            valueName: "time"))
    var at: String?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let at, Timestamp.seconds(typed: at) == nil {
            throw ValidationError(
                translated("--at must be a time such as \"2026-11-21 14:03:05\", 2026-11-21 or 20261121-140305."))
        }
    }

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        var request = VersionRestore(
            path: context.path(path), at: at.flatMap(Timestamp.seconds(typed:)), isConfirmed: global.yes)
        let restored: RestoredVersion
        do {
            restored = try await agent.call(Endpoints.restoreVersion, request)
        } catch let error as ControlError where error.code == .confirmationNeeded && !request.isConfirmed {
            try context.confirm(error.shown)
            request.isConfirmed = true
            restored = try await agent.call(Endpoints.restoreVersion, request)
        }
        if global.json { return try context.output.print(bytes: try ControlJSON.encode(restored)) }
        let style = context.style
        let version = restored.version
        try context.output.print(
            translated(
                "\(style.name("\(version.folder):\(version.path)")) restored from the version of "
                    + "\(Timestamp.precise(version.archived)), \(Quantity.size(version.size))"))
        if let replaced = restored.replaced {
            try context.output.print(translated("what was there is now \(style.name(replaced))"))
        }
    }
}

/// Whether something came, for closures that cannot keep a variable.
private final class Found: Sendable {
    private let hasCome = Mutex(false)
    func note() { hasCome.withLock { $0 = true } }
    var isEmpty: Bool { hasCome.withLock { !$0 } }
}
