import ArgumentParser
import ControlAPI

struct ZipCommandGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zip", abstract: "Look into zips and ISO images without fetching them.",
        subcommands: [List.self, Cat.self])

    struct List: RunnableCommand {
        static let configuration = CommandConfiguration(
            commandName: "ls", abstract: "List what is in an archive, a path on a line.",
            discussion: """
                Only the blocks that hold the archive's directory are fetched. With -l: size, time of change, path, and \
                what is to be said of it.
                """)

        @Argument(help: "The zip or ISO image, here or not.", completion: .file())
        var archive: String

        @Flag(name: .short, help: "Size and time as well.")
        var long = false

        @OptionGroup var global: GlobalOptions

        func execute(in context: CommandContext) async throws {
            let agent = try context.agent()
            var query = ArchiveQuery(archive: context.path(archive))
            while true {
                let listing = try await agent.call(Endpoints.archive, query)
                for member in listing.members {
                    if global.json {
                        try context.output.print(bytes: try ControlJSON.encode(member))
                    } else {
                        try context.output.print(Self.line(member, isLong: long, style: context.style))
                    }
                }
                query.offset += listing.members.count
                guard !listing.members.isEmpty, query.offset < listing.total else { return }
            }
        }

        static func line(_ member: ArchiveEntry, isLong: Bool, style: Style) -> String {
            let name = style.name(member.path)
            let shown = member.kind == .directory ? style.directory(name + "/") : name
            guard isLong else { return shown }
            let size = Table.pad(member.kind == .file ? Quantity.size(member.size) : "-", to: 8, .right)
            let remark =
                member.encrypted == true
                ? "  (encrypted)"
                : member.target.map { " -> " + style.name($0) } ?? (member.kind == .symlink ? "  (link)" : "")
            return "\(size)  \(Table.pad(Timestamp.local(member.modified), to: 16))  \(shown)\(remark)"
        }
    }

    struct Cat: RunnableCommand {
        static let configuration = CommandConfiguration(
            commandName: "cat", abstract: "Write a file in an archive to standard output or to a file.",
            discussion: """
                Only the blocks that hold it are fetched. A zip's checksum is compared before the last bytes are written. \
                The path is one that `zip ls` prints; of several files of that path the last is meant.
                """)

        @Argument(help: "The zip or ISO image, here or not.", completion: .file())
        var archive: String

        @Argument(help: "The file in it.")
        var member: String

        @Option(
            name: [.short, .long], help: ArgumentHelp("A new file for it, whole or not at all.", valueName: "file"),
            completion: .file())
        var output: String?

        @Flag(help: "Replace the file that is there.")
        var force = false

        @OptionGroup var global: GlobalOptions

        func validate() throws {
            if force, output == nil { throw ValidationError("--force goes with -o.") }
        }

        func execute(in context: CommandContext) async throws {
            let reference = MemberReference(archive: context.path(archive), member: member)
            let agent = try context.agent()
            guard let output else {
                let standard = context.output
                return try await agent.readMember(reference, range: nil) { _, _ in
                } emit: {
                    try standard.write(bytes: $0)
                }
            }
            let file = try ExtractFile(path: context.absolute(output), replaces: force)
            do {
                try await agent.readMember(reference, range: nil) { _, _ in
                } emit: {
                    try file.write($0)
                }
                try file.publish()
            } catch {
                file.discard()
                throw error
            }
        }
    }
}
