import ArgumentParser
import ControlAPI
import Glibc
import Phrases
import Synchronization

extension SearchFilter.Kind: ExpressibleByArgument {}

struct SearchCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "search", abstract: translated("Search the index for names, present on this device or not."),
            discussion: translated(
                """
                A name matches if it contains all words of the text, in any order; case and accents are ignored. If the text \
                contains a /, the whole path is matched. The options below narrow the search to files of a kind, age, size or device; then the text may be \
                omitted. Prints FOLDER:path, which every command accepts.

                Example: synctrain search --kind video --over 1G --device here
                """))
    }

    @Argument(help: ArgumentHelp(translated("Text to find.")))
    var text: String?

    @Option(help: ArgumentHelp(translated("Folder to search."), valueName: "folder"))
    var folder: String?

    @Option(
        help: ArgumentHelp(
            translated("Files of one kind: photo, video, music, document, archive or other."), valueName: "kind"))
    var kind: SearchFilter.Kind?

    @Option(
        help: ArgumentHelp(
            translated("Files changed since then: 7d, 4w, 2026-11-21 or \"2026-11-21 14:00\"."), valueName: "time"),
        transform: SearchCommand.time)
    var since: TypedTime?

    @Option(
        help: ArgumentHelp(translated("Files changed before then."), valueName: "time"), transform: SearchCommand.time)
    var before: TypedTime?

    @Option(
        help: ArgumentHelp(translated("Files of at least this size, for example 500M or 2GiB."), valueName: "size"),
        transform: FreeCommand.size)
    var over: Int64?

    @Option(
        help: ArgumentHelp(translated("Files of at most this size."), valueName: "size"), transform: FreeCommand.size)
    var under: Int64?

    @Option(
        help: ArgumentHelp(
            translated("Files on a device, by name or id; here: on this one; nobody: on none that is connected."),
            valueName: "device"))
    var device: String?

    @Option(help: ArgumentHelp(translated("Maximum number of results."), valueName: "count"))
    var limit: Int?

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: ArgumentHelp(translated("End names with a zero byte and do not escape them.")))
    var null = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if (text ?? "").isEmpty, filter(now: 0).isEmpty {
            throw ValidationError(translated("Enter a text to search for, or an option such as --kind photo."))
        }
        if let limit, limit < 1 { throw ValidationError(translated("--limit must be at least 1.")) }
        if null, global.json { throw ValidationError(translated("Use either -0 or --json, not both.")) }
    }

    func execute(in context: CommandContext) async throws {
        let printer = EntryPrinter(output: context.output)
        let (style, isNull, isJSON) = (context.style, null, global.json)
        let filter = filter(now: Int64(Glibc.time(nil)))
        try filter.check()
        let query = FindQuery(text: text ?? "", folder: folder, filter: filter, limit: limit ?? .max)
        let hasFound = Atomic(false)
        try await context.agent().call(Endpoints.search, query) { entry in
            hasFound.store(true, ordering: .relaxed)
            let name = "\(entry.folder):\(entry.path)"
            if isJSON {
                try printer.printJSON(entry)
            } else if isNull {
                try printer.output.write(bytes: name.utf8 + [0])
            } else {
                try printer.output.print(style.name(name) + (entry.kind == .directory ? "/" : ""))
            }
        }
        guard !hasFound.load(ordering: .relaxed), let text, text.contains(where: "*?".contains) else { return }
        try context.remark(
            translated(
                "Nothing found. `*` and `?` are not patterns here: type a part of the name, such as .jpg, or use --kind."
            ))
    }

    private func filter(now: Int64) -> SearchFilter {
        SearchFilter(
            kind: kind, since: since?.seconds(now: now), before: before?.seconds(now: now), over: over, under: under,
            device: device)
    }

    /// A time as it was typed.
    enum TypedTime: Sendable {
        case ago(Int64)
        case at(Int64)

        /// Seconds since 1970; nothing is older.
        func seconds(now: Int64) -> Int64 {
            switch self {
            case .ago(let seconds): max(0, now - seconds)  // both are bounded
            case .at(let seconds): max(0, seconds)
            }
        }
    }

    static func time(_ text: String) throws -> TypedTime {
        if let seconds = Timestamp.seconds(typed: text) { return .at(seconds) }
        guard let seconds = TimeSpan.seconds(text), text.last?.isLetter == true, seconds <= 1e10 else {
            throw ValidationError(translated("\(text) is not a time. Use 7d, 4w, 2026-11-21 or \"2026-11-21 14:00\"."))
        }
        return .ago(Int64(seconds))
    }
}
