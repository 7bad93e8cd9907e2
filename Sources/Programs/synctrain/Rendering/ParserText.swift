import Phrases

/// What ArgumentParser writes into help and errors, in the language of the task. It knows English only, so its lines are
/// recognised by their form; one that is not known stays as it is.
enum ParserText {
    static func shown(_ text: String) -> String {
        guard Translation.current.language != "en" else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }
            .joined(separator: "\n")
    }

    private static func line(_ line: String) -> String {
        // Groups of commands have a name of ours before the word.
        if line.hasSuffix(" SUBCOMMANDS:") { return line.dropLast(" SUBCOMMANDS:".count) + ":" }
        for form in lines {
            if let phrase = form.matching(line) { return Translation.current.text(phrase) }
        }
        return parts.reduce(line) { line, part in
            line.replacing(part.template, with: Translation.current.text(part))
        }
    }

    private static let lines = [
        Phrase("OVERVIEW: \("")"), Phrase("USAGE: \("")"), Phrase("ARGUMENTS:"), Phrase("OPTIONS:"),
        Phrase("SUBCOMMANDS:"),
        Phrase("Usage: \("")"), Phrase("Help:  \("")"), Phrase("  See '\("")' for more information."),
        Phrase("  See '\("")' for detailed help."), Phrase("Error: Unknown option '\("")'. Did you mean '\("")'?"),
        Phrase("Error: Unknown option '\("")'"), Phrase("Error: Missing required subcommand."),
        Phrase("Error: Missing value for '\("")'"), Phrase("Error: Missing expected argument '\("")'"),
        Phrase("Error: Unexpected argument '\("")'"), Phrase("Error: \("") unexpected arguments: '\("")'"),
        Phrase("Error: The option '\("")' does not take any value, but '\("")' was specified."),
        Phrase("Error: The value '\("")' is invalid for '\("")'. Please provide one of \("")."),
        Phrase("Error: The value '\("")' is invalid for '\("")'. Please provide one of the following:"),
        Phrase("Error: The value '\("")' is invalid for '\("")': \("")"),
        Phrase("Error: The value '\("")' is invalid for '\("")'"),
        Phrase("Error: \("")"),
    ]

    /// What is in the midst of lines.
    private static let parts = [
        Phrase("(default: "), Phrase("; default: "), Phrase("(values: "), Phrase("Show help information."),
        Phrase("Show the version."), Phrase("Show subcommand help information."),
    ]
}
