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

                Names are sorted as people count, directories first: IMG_2 before IMG_10.

                Example: synctrain ls -lS library: shows what is largest first.
                """))
    }

    enum Sort: String, ExpressibleByArgument, CaseIterable { case name, size, date }

    @Argument(
        help: ArgumentHelp(translated("Directory or file; the current directory if omitted.")), completion: .file())
    var path = "."

    @Flag(name: .short, help: ArgumentHelp(translated("Show state, selection, number of devices, size and time.")))
    var long = false

    @Flag(name: [.customShort("R"), .long], help: ArgumentHelp(translated("List subdirectories recursively.")))
    var recursive = false

    @Option(
        help: ArgumentHelp(
            translated("Order: name, size (largest first; of a directory, all below it) or date (newest first)."),
            valueName: "order"))
    var sort: Sort?

    @Flag(name: .customShort("S"), help: ArgumentHelp(translated("Same as --sort size.")))
    var bySize = false

    @Flag(name: .customShort("t"), help: ArgumentHelp(translated("Same as --sort date.")))
    var byDate = false

    @Flag(name: [.customShort("r"), .long], help: ArgumentHelp(translated("Reverse the order.")))
    var reverse = false

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: ArgumentHelp(translated("End names with a zero byte and do not escape them.")))
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if null, long || global.json { throw ValidationError(translated("-0 cannot be combined with -l or --json.")) }
        guard [sort != nil, bySize, byDate].count(where: { $0 }) <= 1 else {
            throw ValidationError(translated("Use one of --sort, -S and -t."))
        }
    }

    private func query(_ path: PathReference) -> ListQuery {
        let (sort, isDescending): (EntrySort, Bool) =
            switch sort ?? (bySize ? .size : byDate ? .date : .name) {
            case .name: (.natural, false)
            case .size: (.size, true)
            case .date: (.modified, true)
            }
        return ListQuery(path: path, isRecursive: recursive, sort: sort, isDescending: isDescending != reverse)
    }

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        let reference = context.path(path)
        let output = context.output
        if global.json {
            let printer = EntryPrinter(output: output)
            try await agent.call(Endpoints.list, query(reference)) {
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
        try await agent.call(Endpoints.list, query(reference)) { entry in
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
