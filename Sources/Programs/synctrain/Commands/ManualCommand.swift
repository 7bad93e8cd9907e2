import ArgumentParser
import Phrases

struct ManualCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "man", abstract: translated("Print the manual page."),
            discussion: translated("Read it with: synctrain man | man -l -"))
    }

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try context.output.write(try ManualPage.text(dump: Synctrain._dumpHelp()))
    }
}
