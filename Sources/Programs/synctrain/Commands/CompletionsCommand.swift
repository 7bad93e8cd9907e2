import ArgumentParser
import Phrases

struct CompletionsCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "completions", abstract: translated("Print a completion script for a shell."),
            discussion: translated(
                """
                bash: synctrain completions bash > ~/.local/share/bash-completion/completions/synctrain
                zsh: synctrain completions zsh > "${fpath[1]}/_synctrain"
                fish: synctrain completions fish > ~/.config/fish/completions/synctrain.fish

                Folders, files in them, devices and values of settings come from the running agent.
                """))
    }

    enum Shell: String, ExpressibleByArgument, CaseIterable { case bash, zsh, fish }

    @Argument(help: ArgumentHelp(translated("Shell: bash, zsh or fish.")))
    var shell: Shell

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let (kind, script): (TypedLine.Shell, CompletionShell) =
            switch shell {
            case .bash: (.bash, .bash)
            case .zsh: (.zsh, .zsh)
            case .fish: (.fish, .fish)
            }
        try context.output.print(
            CompletionScript.text(kind, parsers: Synctrain.completionScript(for: script)))
    }
}
