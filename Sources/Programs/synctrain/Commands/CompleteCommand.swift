import ArgumentParser
import ControlAPI

/// What the completion scripts ask: words that can stand at the cursor, each with a NUL behind it. Says nothing where there are
/// none, and nothing else ever.
struct CompleteCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "complete", abstract: "Print the words that can follow on a command line.",
            shouldDisplay: false)
    }

    @Argument(help: "Shell: bash, zsh or fish.")
    var shell: String

    @Argument(
        help: "bash: the line and COMP_WORDBREAKS; fish: the line; zsh: the words.")
    var line: [String] = []

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        guard let shell = TypedLine.Shell(rawValue: shell), let first = line.first, let last = line.last else { return }
        let typed =
            switch shell {
            case .bash: TypedLine(first, shell: shell, breaks: line.count > 1 ? last : "")
            case .fish: TypedLine(first, shell: shell)
            // The program is not among them.
            case .zsh: TypedLine(words: ["synctrain"] + line.dropLast(), current: last)
            }
        let (home, place) = CompletionPlace.find(Array(typed.words.dropFirst()), dump: Synctrain._dumpHelp())
        guard let place, let agent = agent(home, in: context) else { return }
        for word in await LiveCandidates(agent: agent, place: place, word: typed.current).all() {
            guard let text = shell == .bash ? typed.replacement(by: word) : word else { continue }
            try context.output.write(bytes: Array(text.utf8) + [0])
        }
    }

    private func agent(_ home: String?, in context: CommandContext) -> (any AgentControl)? {
        var home = home ?? global.home
        // What the shell makes of it when the line is run.
        if let text = home, text.hasPrefix("~/"), let own = context.process.variables["HOME"] {
            home = own + text.dropFirst()
        }
        return (try? context.environment.places(home, context.process.variables)).map {
            context.environment.connect($0)
        }
    }
}
