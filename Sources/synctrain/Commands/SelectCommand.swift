import ArgumentParser
import ControlAPI

struct SelectCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "select", abstract: "Keep files and directories on this device, now and later.",
        discussion: """
            A directory brings all that is and will be below it. What is not there yet is kept when it appears. The \
            selection is the folder's .stignore; lines that you wrote yourself stay as they are.

            With --list: what is selected by name, as FOLDER:path.
            """)

    @Argument(help: "The files and directories; with --list the id of one folder.", completion: .file())
    var paths: [String] = []

    @Flag(help: "List what is selected by name, in one folder or in all.")
    var list = false

    @Flag(help: ArgumentHelp("Say what would change and what it would cost; change nothing."))
    var dryRun = false

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: "With --list: end names with a zero byte; nothing is escaped.")
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if list {
            if paths.count > 1 { throw ValidationError("--list takes one folder, or none for all.") }
            if dryRun { throw ValidationError("--list changes nothing: leave out --dry-run.") }
            if null, global.json { throw ValidationError("-0 gives names alone: leave out --json.") }
        } else {
            if paths.isEmpty { throw ValidationError("Say what to select, or --list.") }
            if null { throw ValidationError("-0 belongs to --list.") }
        }
    }

    func execute(in context: CommandContext) async throws {
        guard list else {
            return try await SelectionReport(context: context).change(paths, isSelecting: true, isDryRun: dryRun)
        }
        let (output, style, isJSON, isNull) = (context.output, context.style, global.json, null)
        try await context.agent().selection(folder: paths.first) { path in
            let name = "\(path.folder):\(path.path)"
            if isJSON {
                try output.print(bytes: try ControlJSON.encode(path))
            } else if isNull {
                try output.write(bytes: name.utf8 + [0])
            } else {
                let slash = path.kind == .directory ? "/" : ""
                try output.print(style.name(name) + slash + (path.exists ? "" : "  (not there yet)"))
            }
        }
    }
}

struct DeselectCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deselect", abstract: "Keep files and directories on this device no more.",
        discussion: """
            In a selected directory, part of it can be deselected. What is on this disk stays where it is: \
            `synctrain extraneous list` shows it.
            """)

    @Argument(help: "The files and directories.", completion: .file())
    var paths: [String]

    @Flag(help: "Say what would change; change nothing.")
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await SelectionReport(context: context).change(paths, isSelecting: false, isDryRun: dryRun)
    }
}

/// Changes the selection and says what came of it.
struct SelectionReport: Sendable {
    let context: CommandContext

    func change(_ paths: [String], isSelecting: Bool, isDryRun: Bool) async throws {
        let change = SelectionChange(
            paths: paths.map(context.path), isSelecting: isSelecting, isDryRun: isDryRun)
        try show(try await context.agent().select(change))
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
