import ArgumentParser
import ControlAPI
import Phrases

struct ListCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ls", abstract: translated("List a directory of the global index, one name per line."),
            discussion: translated(
                """
                A path is FOLDER:relative/path, absolute, or relative to the current directory inside a folder.

                With -l: state, selection, number of devices that have it, size, modification time, name; on a terminal with a \
                header.
                """))
    }

    @Argument(
        help: ArgumentHelp(translated("Directory or file; the current directory if omitted.")), completion: .file())
    var path = "."

    @Flag(name: .short, help: ArgumentHelp(translated("Show state, selection, number of devices, size and time.")))
    var long = false

    @Flag(name: [.customShort("R"), .long], help: ArgumentHelp(translated("List subdirectories recursively.")))
    var recursive = false

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: ArgumentHelp(translated("End names with a zero byte and do not escape them.")))
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if null, long || global.json { throw ValidationError(translated("-0 cannot be combined with -l or --json.")) }
    }

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        let reference = context.path(path)
        let output = context.output
        if global.json {
            let printer = EntryPrinter(output: output)
            try await agent.call(Endpoints.list, ListQuery(path: reference, isRecursive: recursive)) {
                try printer.printJSON($0)
            }
            return
        }
        var rendering = EntryRendering(style: context.style, isLong: long)
        // Names of a recursive listing are relative to where it begins, which only the agent knows.
        if recursive { rendering.base = try await agent.call(Endpoints.stat, reference).path }
        let (finished, isNull) = (rendering, null)
        // A script gets entries alone.
        if long, context.terminal.isOutputTTY { try output.print(finished.heading) }
        try await agent.call(Endpoints.list, ListQuery(path: reference, isRecursive: recursive)) { entry in
            if isNull {
                try output.write(bytes: finished.plainName(entry).utf8 + [0])
            } else {
                try output.print(finished.line(entry))
            }
        }
    }
}

/// Prints entries as lines of JSON.
struct EntryPrinter: Sendable {
    let output: Output

    func printJSON(_ entry: Entry) throws {
        var line: [UInt8] = []
        line.reserveCapacity(512)
        try EntryLine.append(entry, to: &line)
        try output.write(bytes: line)
    }
}
