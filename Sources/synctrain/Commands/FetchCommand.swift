import ArgumentParser
import ControlAPI

struct FetchCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Get files from the devices that hold them, now, and wait.",
        discussion: """
            Every block is checked against its hash. A directory brings all below it. Files go to their own place in \
            the folder or, with -o, to another; one that is there and differs is kept unless --force is given.

            Without a path: all that is selected, in every folder that is not paused.
            """)

    @Argument(help: "The files and directories; all that is selected if not given.", completion: .file())
    var paths: [String] = []

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "A file's new name; for several paths or a directory the directory to put them in.", valueName: "out"),
        completion: .file())
    var output: String?

    // A suffix, -N, begins like an option.
    @Option(parsing: .unconditional, help: ByteRangeArgument.help)
    var range: ByteRangeArgument?

    @Flag(help: "Write the one file's bytes to standard output.")
    var stdout = false

    @Flag(help: "Replace files that are there and differ.")
    var force = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if paths.isEmpty, stdout || range != nil || output != nil || force {
            throw ValidationError("Say which files; what is selected goes to its own place.")
        }
        if stdout, output != nil { throw ValidationError("--stdout and -o exclude each other.") }
        if stdout || range != nil, paths.count > 1 {
            throw ValidationError("--stdout and --range take one file.")
        }
        if range != nil, !stdout, output == nil {
            throw ValidationError("Part of a file needs a place of its own: give -o OUT or --stdout.")
        }
    }

    func execute(in context: CommandContext) async throws {
        if stdout {
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
