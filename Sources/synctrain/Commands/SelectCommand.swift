import ArgumentParser
import Arithmetic
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

    @Flag(help: "Keep it only while there is space: it may go by itself when the folder's `keep-free` asks for it.")
    var whileSpace = false

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: "With --list: end names with a zero byte; nothing is escaped.")
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if list {
            if paths.count > 1 { throw ValidationError("--list takes one folder, or none for all.") }
            if whileSpace { throw ValidationError("--list changes nothing: leave out --while-space.") }
            if dryRun { throw ValidationError("--list changes nothing: leave out --dry-run.") }
            if null, global.json { throw ValidationError("-0 gives names alone: leave out --json.") }
        } else {
            if paths.isEmpty { throw ValidationError("Say what to select, or --list.") }
            if null { throw ValidationError("-0 belongs to --list.") }
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
                try output.print(style.name(name) + slash + (path.exists ? "" : "  (not there yet)"))
            }
        }
    }
}

struct DeselectCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deselect", abstract: "Keep files and directories on this device no more, and free their space.",
        discussion: """
            Files that are the same as on enough other devices (`min-copies` of the folder, usually one; what they last \
            said counts, connected or not) go from this disk. Everything else stays and is listed with the reason; \
            `synctrain extraneous list` shows it later. Nothing is deleted on other devices: for that there is \
            `synctrain rm --everywhere`. In a selected directory, part of it can be deselected.
            """)

    @Argument(help: "The files and directories.", completion: .file())
    var paths: [String]

    @Flag(help: "Say what would change, what would be freed and what would stay; change nothing.")
    var dryRun = false

    @Flag(help: "Leave all files where they are.")
    var keepLocal = false

    @Flag(help: "Free also what other devices do not hold; says what is given up, and asks.")
    var force = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if keepLocal, force { throw ValidationError("--keep-local keeps what --force would give up: leave one out.") }
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
        try show(try await context.agent().call(Endpoints.select, change))
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
        if files > Int64(lines.count) { try context.process.errors.print("  and \(files - Int64(lines.count)) more") }
        try context.confirm(
            "\(Quantity.count(files, "file")), \(Quantity.size(bytes)), may be nowhere else in this form and will be gone. "
                + "Give them up?")
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
