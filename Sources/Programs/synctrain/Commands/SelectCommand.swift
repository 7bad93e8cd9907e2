import ArgumentParser
import Arithmetic
import ControlAPI
import Phrases

struct SelectCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "select", abstract: translated("Keep files and directories on this device."),
            discussion: translated(
                """
                Selecting a directory selects everything below it, now and in future. A path that does not exist yet is \
                kept once it appears. The selection is stored in the folder's .stignore; lines that you wrote yourself \
                stay as they are.

                With --list: the paths selected by name, as FOLDER:path.
                """))
    }

    @Argument(
        help: ArgumentHelp(translated("Files and directories; with --list the id of one folder.")), completion: .file())
    var paths: [String] = []

    @Flag(help: ArgumentHelp(translated("List the paths selected by name, in one folder or in all.")))
    var list = false

    @Flag(help: ArgumentHelp(translated("Show what would change and how much would be downloaded; change nothing.")))
    var dryRun = false

    @Flag(
        help: ArgumentHelp(translated("Allow the agent to free the files when the folder's `keep-free` needs space.")))
    var whileSpace = false

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: ArgumentHelp(translated("With --list: end names with a zero byte and do not escape them.")))
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if list {
            if paths.count > 1 { throw ValidationError(translated("--list takes at most one folder.")) }
            if whileSpace { throw ValidationError(translated("--while-space cannot be combined with --list.")) }
            if dryRun { throw ValidationError(translated("--dry-run cannot be combined with --list.")) }
            if null, global.json { throw ValidationError(translated("Use either -0 or --json, not both.")) }
        } else {
            if paths.isEmpty { throw ValidationError(translated("Give the paths to select, or --list.")) }
            if null { throw ValidationError(translated("-0 needs --list.")) }
        }
    }

    func execute(in context: CommandContext) async throws {
        guard list else {
            return try await SelectionReport(context: context).change(
                paths, isSelecting: true, isDryRun: dryRun, whileSpace: whileSpace ? true : nil)
        }
        let (output, style, isJSON, isNull) = (context.output, context.style, global.json, null)
        try await context.agent().call(Endpoints.selection, paths.first) { path in
            let name = "\(path.folder):\(path.path)"
            if isJSON {
                try output.print(bytes: try ControlJSON.encode(path))
            } else if isNull {
                try output.write(bytes: name.utf8 + [0])
            } else {
                let slash = path.kind == .directory ? "/" : ""
                try output.print(style.name(name) + slash + (path.exists ? "" : translated("  (not there yet)")))
            }
        }
    }
}

struct DeselectCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "deselect",
            abstract: translated("Stop keeping files and directories on this device and free their space."),
            discussion: translated(
                """
                Frees files of which enough other devices have the same content (the folder's `min-copies`, one by \
                default, according to their last report). Everything else stays and is listed with the reason; \
                `synctrain extraneous list` shows it later. Nothing is deleted on other devices; for that, use \
                `synctrain rm --everywhere`. Part of a selected directory can be deselected.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Files and directories.")), completion: .file())
    var paths: [String]

    @Flag(help: ArgumentHelp(translated("Show what would change, be freed and stay; change nothing.")))
    var dryRun = false

    @Flag(help: ArgumentHelp(translated("Leave all files on this disk.")))
    var keepLocal = false

    @Flag(help: ArgumentHelp(translated("Also free files that no other device has, after confirmation.")))
    var force = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if keepLocal, force { throw ValidationError(translated("Use either --keep-local or --force, not both.")) }
    }

    func execute(in context: CommandContext) async throws {
        let report = SelectionReport(context: context)
        let local: LocalFiles = keepLocal ? .keep : force ? .force : .free
        if force, !dryRun { try await report.confirmForce(paths) }
        try await report.change(paths, isSelecting: false, isDryRun: dryRun, local: local)
    }
}

/// Changes the selection and says what came of it.
struct SelectionReport: Sendable {
    let context: CommandContext

    func change(
        _ paths: [String], isSelecting: Bool, isDryRun: Bool, local: LocalFiles? = nil, whileSpace: Bool? = nil
    ) async throws {
        let change = SelectionChange(
            paths: paths.map(context.path), isSelecting: isSelecting, isDryRun: isDryRun, local: local,
            whileSpace: whileSpace)
        let agent = try context.agent()
        try show(try await StatusProgress(context, agent).during { try await agent.call(Endpoints.select, change) })
    }

    /// Asks before something goes that other devices do not hold, and names it.
    func confirmForce(_ paths: [String]) async throws {
        let change = SelectionChange(
            paths: paths.map(context.path), isSelecting: false, isDryRun: true, local: .force)
        let plans = try await context.agent().call(Endpoints.select, change).folders
        let style = Style(hasColor: false, escapesNames: true)
        var lines: [String] = []
        var (files, bytes): (Int64, Int64) = (0, 0)
        for plan in plans {
            guard let freeing = plan.freeing, freeing.givenUpFiles > 0 else { continue }
            files.addClamped(freeing.givenUpFiles)
            bytes.addClamped(freeing.givenUpBytes)
            lines += freeing.givenUp.prefix(20).map { name in
                "  \(style.name("\(plan.folder):\(name.path)"))  \(Quantity.size(name.size))  \(name.reason)"
            }
        }
        guard files > 0 else { return }
        for line in lines { try context.process.errors.print(line) }
        if files > Int64(lines.count) {
            try context.process.errors.print(translated("  and \(files - Int64(lines.count)) more"))
        }
        try context.confirm(
            translated(
                "\(Quantity.files(files)), \(Quantity.size(bytes)), may exist only on this device and will be lost. "
                    + "Delete them?"))
    }

    func show(_ answer: SelectionAnswer) throws {
        if context.options.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
            return
        }
        let rendering = SelectionRendering(style: context.style)
        for outcome in answer.folders {
            for line in rendering.lines(outcome) { try context.output.print(line) }
        }
    }
}
