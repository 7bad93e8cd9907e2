import ArgumentParser
import ControlAPI
import Phrases

struct ThumbnailCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "thumbnail",
            abstract: translated("Write a thumbnail of a photo or film as a JPEG."),
            discussion: translated(
                """
                The thumbnail has at most 255 by 255 pixels. For a file that is not present only the necessary blocks \
                are downloaded: a photo's embedded preview, a film's first frame. libvips and ffmpeg create it in a \
                sandbox (Debian packages bubblewrap, libvips-tools and ffmpeg), and it is cached; [thumbnails] in the \
                configuration sets where.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Photo or film.")), completion: .file())
    var path: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(translated("Output file; standard output if omitted."), valueName: "out"),
        completion: .file())
    var output: String?

    @Flag(help: ArgumentHelp(translated("Overwrite an existing file.")))
    var force = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let bytes = try await context.agent().call(Endpoints.thumbnail, context.path(path))
        guard let output else { return try context.output.write(bytes: bytes) }
        let file = try ExtractFile(path: context.absolute(output), replaces: force)
        do throws(ControlError) {
            try file.write(bytes)
            try file.publish()
        } catch {
            file.discard()
            throw error
        }
    }
}
