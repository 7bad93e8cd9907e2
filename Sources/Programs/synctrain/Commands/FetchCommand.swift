import ArgumentParser
import ControlAPI
import Phrases

struct FetchCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "fetch", abstract: translated("Download files now and wait until they are complete."),
            discussion: translated(
                """
                Every block is verified against its hash. For a directory, everything below it is downloaded. Files go \
                to their place in the folder, or to the path given by -o; an existing file that differs is kept unless \
                --force is given.

                Without a path: everything selected, in every folder that is not paused.
                """))
    }

    @Argument(
        help: ArgumentHelp(translated("Files and directories; everything selected if omitted.")), completion: .file())
    var paths: [String] = []

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            translated(
                "Output file, or - for standard output; for several paths or a directory, the output directory."),
            valueName: "out"),
        completion: .file())
    var output: String?

    // A suffix, -N, begins like an option.
    @Option(parsing: .unconditional, help: ByteRangeArgument.help)
    var range: ByteRangeArgument?

    @Flag(help: ArgumentHelp(translated("Write one file to standard output.")))
    var stdout = false

    @Flag(help: ArgumentHelp(translated("Overwrite existing files that differ.")))
    var force = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if paths.isEmpty, stdout || range != nil || output != nil || force {
            throw ValidationError(translated("-o, --stdout, --range and --force need a path."))
        }
        if stdout, output != nil { throw ValidationError(translated("Use either --stdout or -o, not both.")) }
        if isToStandardOutput || range != nil, paths.count > 1 {
            throw ValidationError(translated("--stdout, -o - and --range need exactly one file."))
        }
        if range != nil, !stdout, output == nil {
            throw ValidationError(translated("--range needs -o OUT or --stdout."))
        }
    }

    /// A file of that name is `./-`.
    private var isToStandardOutput: Bool { stdout || output == "-" }

    func execute(in context: CommandContext) async throws {
        if isToStandardOutput {
            let output = context.output
            try await FileReading(context: context).read(paths[0], range: range?.range) {
                try output.write(bytes: $0)
            }
        } else if let range, let output {
            try await fetchPart(range.range, to: context.absolute(output), in: context)
        } else {
            try await fetchFiles(in: context)
        }
    }

    private func fetchPart(_ range: ByteRange, to path: String, in context: CommandContext) async throws {
        let file = try ExtractFile(path: path, replaces: force)
        do {
            try await FileReading(context: context).read(paths[0], range: range) { try file.write($0) }
            try file.publish()
        } catch {
            file.discard()
            throw error
        }
    }

    private func fetchFiles(in context: CommandContext) async throws {
        let request = FetchRequest(
            paths: paths.map(context.path), output: output.map(context.absolute), isForced: force)
        let report = FetchReport(
            context: context,
            line: ProgressLine(
                errors: context.process.errors,
                isShown: context.terminal.hasProgress(variables: context.process.variables) && !global.quiet
                    && !global.json, width: context.terminal.width))
        do {
            if paths.isEmpty {
                try await SelectedFetch(context: context, report: report).run()
            } else {
                try await context.agent().call(Endpoints.fetch, request) { try report.take($0) }
            }
        } catch {
            try report.clear()
            throw error
        }
        try report.finish()
    }
}
