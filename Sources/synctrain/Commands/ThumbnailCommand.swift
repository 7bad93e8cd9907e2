import ArgumentParser
import ControlAPI

struct ThumbnailCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail",
        abstract: "Write a small picture of a photo or film, here or not, as a JPEG.",
        discussion: """
            Neither side has more than 255 pixels. Of a file that is not here only the blocks are fetched that it takes: a \
            photo's preview, a film's first picture. Made by libvips and ffmpeg in a sandbox (Debian's packages bubblewrap, \
            libvips-tools and ffmpeg), and kept for the next time; [thumbnails] in the configuration says where.
            """)

    @Argument(help: "The picture or film.", completion: .file())
    var path: String

    @Option(
        name: .shortAndLong, help: ArgumentHelp("A new file for it; else standard output.", valueName: "out"),
        completion: .file())
    var output: String?

    @Flag(help: "Replace a file that is there.")
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
