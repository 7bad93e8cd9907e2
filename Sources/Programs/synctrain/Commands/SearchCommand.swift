import ArgumentParser
import ControlAPI
import Phrases

struct SearchCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search", abstract: translated("Search the index for names, present on this device or not."),
        discussion: translated(
            """
            A name matches if it contains the text; case is ignored. If the text contains a /, the whole path is \
            matched. Prints FOLDER:path, which every command accepts.
            """))

    @Argument(help: ArgumentHelp(translated("Text to find.")))
    var text: String

    @Option(help: ArgumentHelp(translated("Folder to search."), valueName: "folder"))
    var folder: String?

    @Option(help: ArgumentHelp(translated("Maximum number of results."), valueName: "count"))
    var limit: Int?

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: ArgumentHelp(translated("End names with a zero byte and do not escape them.")))
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if text.isEmpty { throw ValidationError(translated("Enter a text to search for.")) }
        if let limit, limit < 1 { throw ValidationError(translated("--limit must be at least 1.")) }
        if null, global.json { throw ValidationError(translated("Use either -0 or --json, not both.")) }
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
