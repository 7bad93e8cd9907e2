import ArgumentParser
import ControlAPI
import Phrases

struct CatCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "cat", abstract: translated("Write a file to standard output, downloading missing blocks."))
    }

    @Argument(help: ArgumentHelp(translated("File.")), completion: .file())
    var path: String

    // A suffix, -N, begins like an option.
    @Option(parsing: .unconditional, help: ByteRangeArgument.help)
    var range: ByteRangeArgument?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let output = context.output
        try await FileReading(context: context).read(path, range: range?.range) { try output.write(bytes: $0) }
    }
}

/// `A-B`, `A-` or `-N` on the command line.
struct ByteRangeArgument: ExpressibleByArgument, Equatable, Sendable {
    static let help = ArgumentHelp(
        translated("Bytes A-B, counted from 0, both included; A- to the end, -N for the last N."), valueName: "a-b")

    var range: ByteRange

    init?(argument: String) {
        guard let range = ByteRange(text: argument) else { return nil }
        self.range = range
    }
}
