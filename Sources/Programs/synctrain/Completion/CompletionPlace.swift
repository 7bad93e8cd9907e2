import FoundationEssentials

/// What can stand where the cursor is, of what only the agent knows. Pure.
enum CompletionPlace: Equatable, Sendable {
    /// `FOLDER:path`
    case path
    case folder
    case device
    /// The value of a setting of the agent.
    case settingValue(String)

    /// The parts of the parser's dump (`--experimental-dump-help`) that say it.
    private struct Tool: Decodable { var command: Command }

    fileprivate struct Command: Decodable {
        var commandName: String
        var arguments: [Argument]?
        var subcommands: [Command]?
    }

    fileprivate struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
        }
        struct Completion: Decodable {
            /// `file`: one of this disk or of a folder.
            var isFile: Bool

            private struct Key: CodingKey {
                var stringValue: String
                var intValue: Int? { nil }

                init?(stringValue: String) { self.stringValue = stringValue }
                init?(intValue: Int) { nil }
            }

            init(from decoder: any Decoder) throws {
                isFile = try decoder.container(keyedBy: Key.self).allKeys.contains { $0.stringValue == "file" }
            }
        }

        var kind: String
        var isRepeating: Bool
        var names: [Name]?
        var valueName: String?
        var completionKind: Completion?

        func isCalled(_ word: String) -> Bool {
            (names ?? []).contains { word == ($0.kind == "long" ? "--" : "-") + $0.name }
        }
    }

    /// What `--home` says, and what can stand at the cursor; nil where the agent knows nothing about it.
    ///
    /// - Parameters:
    ///   - words: those before the cursor's, behind the program.
    ///   - dump: what the parser says of itself.
    static func find(_ words: [String], dump: String) -> (home: String?, place: CompletionPlace?) {
        guard let tool = try? JSONDecoder().decode(Tool.self, from: Data(dump.utf8)) else { return (nil, nil) }
        var reading = Reading(command: tool.command, globals: tool.command.subcommands?.first?.arguments ?? [])
        for word in words { reading.take(word) }
        return (reading.home, reading.place)
    }

    /// A line that is read word by word.
    private struct Reading {
        var command: Command
        /// Options that may stand before the command, too.
        let globals: [Argument]
        var path: [String] = []
        var positionals: [String] = []
        /// The option whose value comes next.
        var option: Argument?
        var hasEnded = false
        var home: String?

        mutating func take(_ word: String) {
            if let taken = option {
                if taken.isCalled("--home") { home = word }
                option = nil
                return
            }
            if !hasEnded, word.hasPrefix("-"), word != "-" {
                if word == "--" { hasEnded = true }
                if word.hasPrefix("--home=") { home = String(word.dropFirst("--home=".count)) }
                let known = (command.arguments ?? []) + (path.isEmpty ? globals : [])
                option = known.first { $0.kind == "option" && $0.isCalled(word) }
                return
            }
            if positionals.isEmpty, let next = command.subcommands?.first(where: { $0.commandName == word }) {
                command = next
                path.append(word)
            } else {
                positionals.append(word)
            }
        }

        var place: CompletionPlace? {
            if let option { return value(of: option) }
            let arguments = (command.arguments ?? []).filter { $0.kind == "positional" }
            guard let argument = positionals.count < arguments.count ? arguments[positionals.count] : arguments.last,
                positionals.count < arguments.count || argument.isRepeating
            else { return nil }
            return value(of: argument)
        }

        private func value(of argument: Argument) -> CompletionPlace? {
            let isOption = argument.kind == "option"
            switch (path.joined(separator: " "), argument.valueName) {
            case ("config set", "value"): return positionals.first.map { .settingValue($0) }
            case ("drop send", "name") where argument.isCalled("--to"): return .device
            case ("pair", "id") where argument.isCalled("--folder"): return .folder
            case ("pair", "device"): return nil
            case (_, "folder"): return .folder
            case (_, "device"): return .device
            case (_, "path"), (_, "paths"), (_, "archive"):
                return !isOption && argument.completionKind?.isFile == true ? .path : nil
            default: return nil
            }
        }
    }
}
