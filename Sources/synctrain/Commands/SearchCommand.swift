import ArgumentParser
import ControlAPI

struct SearchCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search", abstract: "Find names in the index, here or not.",
        discussion: """
            A name matches if it contains the text, upper and lower case alike; with a / in the text the whole path is \
            looked at. Prints FOLDER:path, which every command takes.
            """)

    @Argument(help: "The text.")
    var text: String

    @Option(help: ArgumentHelp("Look in this folder alone.", valueName: "folder"))
    var folder: String?

    @Option(help: ArgumentHelp("End after so many.", valueName: "count"))
    var limit: Int?

    @Flag(name: [.customShort("0"), .customLong("null")], help: "End names with a zero byte; nothing is escaped.")
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if text.isEmpty { throw ValidationError("Say what to look for.") }
        if let limit, limit < 1 { throw ValidationError("--limit is a number above 0.") }
        if null, global.json { throw ValidationError("-0 gives names alone: leave out --json.") }
    }

    func execute(in context: CommandContext) async throws {
        let printer = EntryPrinter(output: context.output)
        let (style, isNull, isJSON) = (context.style, null, global.json)
        try await context.agent().call(Endpoints.search, FindQuery(text: text, folder: folder, limit: limit ?? .max)) {
            entry in
            let name = "\(entry.folder):\(entry.path)"
            if isJSON {
                try printer.printJSON(entry)
            } else if isNull {
                try printer.output.write(bytes: name.utf8 + [0])
            } else {
                try printer.output.print(style.name(name) + (entry.kind == .directory ? "/" : ""))
            }
        }
    }
}
