import ArgumentParser
import ControlAPI
import Synchronization

struct VersionsCommandGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "versions", abstract: "What other devices replaced or deleted, and this one has kept.",
        discussion: """
            A folder keeps it if `versions` in its configuration is trashcan, simple or staggered, with Syncthing's names \
            and rules. What you delete or change yourself is not kept.
            """,
        subcommands: [VersionsListCommand.self, VersionsShowCommand.self, VersionsRestoreCommand.self])
}

struct VersionsListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List archived versions.",
        discussion: "Prints when each was archived, its size, when it was changed, and FOLDER:path; the oldest first.")

    @Argument(help: "A file, a directory or a folder's id; all folders if not given.", completion: .file())
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
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the archived versions of one file, and where they are.",
        discussion: "The archived files can be read with any program; leave them as they are.")

    @Argument(help: "The file.", completion: .file())
    var path: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let (output, style, isJSON) = (context.output, context.style, global.json)
        let found = Found()
        try await context.agent().call(Endpoints.versions, context.path(path)) { version in
            found.note()
            if isJSON { return try output.print(bytes: try ControlJSON.encode(version)) }
            try output.print(
                "in its place until \(Timestamp.precise(version.archived)), \(Quantity.size(version.size)), changed "
                    + "\(Timestamp.precise(version.modified))\n  \(style.name(version.file))")
        }
        guard found.isEmpty else { return }
        throw ControlError(
            .noSuchPath, "There is no archived version of \(path); `synctrain versions list` shows those there are.",
            path: path)
    }
}

struct VersionsRestoreCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Put an archived version back, here and on all devices.",
        discussion: """
            The version becomes the file's newest. What is in its place now goes to the archive; asks first if something \
            is. The archive keeps the version as well.
            """)

    @Argument(help: "The file.", completion: .file())
    var path: String

    @Option(
        help: ArgumentHelp(
            "The version that was in its place then, such as \"2026-11-21 14:03:05\", instead of the last one.",
            valueName: "time"))
    var at: String?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let at, Timestamp.seconds(typed: at) == nil {
            throw ValidationError("--at takes a time such as \"2026-11-21 14:03:05\", 2026-11-21 or 20261121-140305.")
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
            try context.confirm(error.message)
            request.isConfirmed = true
            restored = try await agent.call(Endpoints.restoreVersion, request)
        }
        if global.json { return try context.output.print(bytes: try ControlJSON.encode(restored)) }
        let style = context.style
        let version = restored.version
        try context.output.print(
            "\(style.name("\(version.folder):\(version.path)")) is what it was until "
                + "\(Timestamp.precise(version.archived)) again, \(Quantity.size(version.size))")
        if let replaced = restored.replaced {
            try context.output.print("what was there is now \(style.name(replaced))")
        }
    }
}

/// Whether something came, for closures that cannot keep a variable.
private final class Found: Sendable {
    private let hasCome = Mutex(false)
    func note() { hasCome.withLock { $0 = true } }
    var isEmpty: Bool { hasCome.withLock { !$0 } }
}
