import ControlAPI
import FoundationEssentials

/// The manual page, made from what the parser says of itself.
enum ManualPage {
    /// The parts of the parser's dump (`--experimental-dump-help`) that the page shows.
    private struct Tool: Decodable { var command: Command }

    private struct Command: Decodable {
        var commandName: String
        var abstract: String?
        var discussion: String?
        var shouldDisplay: Bool?
        var arguments: [Argument]?
        var subcommands: [Command]?
    }

    private struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
        }

        var kind: String
        var shouldDisplay: Bool
        var isOptional: Bool
        var isRepeating: Bool
        var names: [Name]?
        var valueName: String?
        var abstract: String?
        var defaultValue: String?
    }

    /// In the language of man(7).
    static func text(dump: String) throws(ControlError) -> String {
        let tool: Tool
        do {
            tool = try JSONDecoder().decode(Tool.self, from: Data(dump.utf8))
        } catch {
            throw ControlError(.failed, "The parser's description of the commands cannot be decoded: \(error).")
        }
        var lines = [
            ".TH SYNCTRAIN 1 \"\" \"synctrain \(ProgramVersion.text)\"", ".SH NAME",
            "synctrain \\- \(escaped(tool.command.abstract ?? ""))", ".SH SYNOPSIS", ".B synctrain",
            ".RI [ global\\ options ]", ".I command", ".RI [ options ]", ".SH DESCRIPTION",
        ]
        lines += paragraphs(tool.command.discussion)
        lines.append(".SH COMMANDS")
        for command in tool.command.subcommands ?? [] { append(command, path: "synctrain", to: &lines) }
        lines += [
            ".SH GLOBAL OPTIONS", "Before or after the command.",
        ]
        let globals = tool.command.subcommands?.first?.arguments?.filter(isGlobal) ?? []
        for argument in globals { append(argument, to: &lines) }
        lines += [
            ".SH ENVIRONMENT", ".TP", ".B SYNCTRAIN_HOME", "As \\-\\-home.", ".TP", ".B NO_COLOR",
            "Not empty: no colour, unless \\-\\-color says otherwise.",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func append(_ command: Command, path: String, to lines: inout [String]) {
        guard command.shouldDisplay ?? true, command.commandName != "help" else { return }
        let path = "\(path) \(command.commandName)"
        if let subcommands = command.subcommands?.filter({ $0.commandName != "help" }), !subcommands.isEmpty {
            for subcommand in subcommands { append(subcommand, path: path, to: &lines) }
            return
        }
        let arguments = (command.arguments ?? []).filter {
            $0.shouldDisplay && !isGlobal($0) && !["help", "version"].contains($0.names?.last?.name)
        }
        let synopsis = arguments.filter { $0.kind == "positional" }.map { argument in
            let name = (argument.valueName ?? "value").uppercased() + (argument.isRepeating ? "..." : "")
            return argument.isOptional ? "[\(name)]" : name
        }
        lines.append(".SS \(escaped(([path] + synopsis).joined(separator: " ")))")
        lines += paragraphs(command.abstract)
        if let discussion = command.discussion { lines += [".PP"] + paragraphs(discussion) }
        for argument in arguments { append(argument, to: &lines) }
    }

    private static func append(_ argument: Argument, to lines: inout [String]) {
        let title: String
        if argument.kind == "positional" {
            title = (argument.valueName ?? "value").uppercased()
        } else {
            let names = (argument.names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name }
            let value = argument.kind == "option" ? " " + (argument.valueName ?? "value").uppercased() : ""
            title = names.joined(separator: ", ") + value
        }
        var text = argument.abstract ?? ""
        if let value = argument.defaultValue { text += " (default: \(value))" }
        lines += [".TP", ".B \(escaped(title))", escaped(text)]
    }

    private static func isGlobal(_ argument: Argument) -> Bool {
        ["home", "color", "quiet", "json", "yes"].contains(argument.names?.last { $0.kind == "long" }?.name ?? "")
    }

    private static func paragraphs(_ text: String?) -> [String] {
        (text ?? "").split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.isEmpty ? ".PP" : escaped(String($0))
        }
    }

    /// A line of text as troff takes it: backslashes and dashes by name, no dot or quote that begins a request.
    private static func escaped(_ text: String) -> String {
        let text = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }
}
