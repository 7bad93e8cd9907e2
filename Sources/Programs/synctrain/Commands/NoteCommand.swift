import ArgumentParser
import ControlAPI
import Phrases

struct NoteCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "note", abstract: translated("Show or change the notes of a file or directory."),
            discussion: translated(
                """
                A note is a key and a value; a text without a key is stored under the key `note`. Notes are files in the \
                folder's .synctrain/notes, one per device, and sync with the folder; the latest value of a key wins. \
                Notes belong to a path and do not follow a renamed file. In a selective folder, the first note selects \
                .synctrain, so that other devices' notes are kept here as well.

                Example: synctrain note photos:2019/tram.jpg rating=5 title="Lisbon"
                """))
    }

    @Argument(help: ArgumentHelp(translated("File or directory.")), completion: .file())
    var path: String

    @Argument(help: ArgumentHelp(translated("One or more KEY=VALUE, or one text.")))
    var notes: [String] = []

    @Option(help: ArgumentHelp(translated("Key of a note to remove; repeatable."), valueName: "key"))
    var remove: [String] = []

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard notes.count > 1, let text = notes.first(where: { Self.pair($0) == nil }) else { return }
        throw ValidationError(translated("“\(text)” is not KEY=VALUE. Put a text of several words in quotes."))
    }

    /// A key and its value; nil for a text that has no key before its first `=`.
    static func pair(_ text: String) -> (key: String, value: String)? {
        guard let sign = text.firstIndex(of: "="), sign != text.startIndex,
            text[..<sign].unicodeScalars.allSatisfy({
                $0.properties.isAlphabetic || $0.properties.numericType != nil || "._-".unicodeScalars.contains($0)
            })
        else { return nil }
        return (String(text[..<sign]), String(text[text.index(after: sign)...]))
    }

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        var set: [String: String] = [:]
        for text in notes {
            let (key, value) = Self.pair(text) ?? ("note", text)
            set[key] = value
        }
        let isChange = !set.isEmpty || !remove.isEmpty
        let answer =
            isChange
            ? try await agent.call(
                Endpoints.changeNotes, NoteChange(path: context.path(path), set: set, remove: remove))
            : try await agent.call(Endpoints.notes, context.path(path))
        if global.json { return try context.output.print(bytes: try ControlJSON.encode(answer)) }
        for line in Self.lines(answer, context.style) { try context.output.print(line) }
        for name in answer.unreadable { try context.remark(translated("\(name) cannot be read as notes.")) }
        if !answer.isKept {
            try context.remark(
                translated(
                    "The notes of other devices are not selected here; `synctrain select \(ShellWord.quoted(answer.folder + ":.synctrain"))` keeps them."
                )
            )
        }
    }

    static func lines(_ notes: Notes, _ style: Style) -> [String] {
        Table.lines(
            notes.notes.map { note in
                let device = note.name.isEmpty ? StatusRendering.short(note.device) : note.name
                return [style.name(note.key), style.name(note.value), style.name(device), Timestamp.local(note.time)]
            })
    }
}
