import ArgumentParser
import Phrases
import Spelling

/// The names of the commands, for one that is not known. Pure.
enum CommandNames {
    /// What is wrong with a command line whose first words name no command; nil if they do.
    ///
    /// - Parameter arguments: global options only before the first word, or behind the command.
    static func problem(_ arguments: [String], root: any ParsableCommand.Type) -> String? {
        var command = root
        var path: [String] = []
        for word in GlobalOptionOrder.behindGlobals(arguments[...]) {
            let commands = command.configuration.subcommands
            guard !commands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            guard let next = commands.first(where: { names($0).contains(word) }) else {
                return unknown(word, behind: path, among: commands)
            }
            path.append(word)
            command = next
        }
        return nil
    }

    static func names(_ command: any ParsableCommand.Type) -> [String] {
        [command.configuration.commandName ?? ""] + command.configuration.aliases
    }

    private static func unknown(
        _ word: String, behind path: [String], among commands: [any ParsableCommand.Type]
    ) -> String {
        let shown = commands.map { $0.configuration }.filter { $0.shouldDisplay }.compactMap { $0.commandName }
        let typed = (path + [word]).joined(separator: " ")
        if let near = NearestWord.find(word, in: shown, share: 2) {
            return translated("`\(typed)` is not a command. Did you mean `\((path + [near]).joined(separator: " "))`?")
        }
        let help = (["synctrain"] + path + ["--help"]).joined(separator: " ")
        return translated("`\(typed)` is not a command. `\(help)` lists the commands.")
    }
}
