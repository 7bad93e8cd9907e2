import ArgumentParser
import ControlAPI
import Phrases

struct ZipCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "zip",
            abstract: translated("Read zip files and ISO images without downloading them completely."),
            subcommands: [List.self, Cat.self])
    }

    struct List: RunnableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "ls", abstract: translated("List the contents of an archive, one path per line."),
                discussion: translated(
                    """
                    Only the blocks of the archive's directory are downloaded. With -l: size, modification time, path \
                    and remarks.
                    """))
        }

        @Argument(
            help: ArgumentHelp(translated("Zip file or ISO image, present on this device or not.")), completion: .file()
        )
        var archive: String

        @Flag(name: .short, help: ArgumentHelp(translated("Show size and time.")))
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
                ? translated("  (encrypted)")
                : member.target.map { " -> " + style.name($0) }
                    ?? (member.kind == .symlink ? translated("  (link)") : "")
            return "\(size)  \(Table.pad(Timestamp.local(member.modified), to: 16))  \(shown)\(remark)"
        }
    }

    struct Cat: RunnableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "cat", abstract: translated("Extract a file from an archive."),
                discussion: translated(
                    """
                    Only the blocks of that file are downloaded. A zip's checksum is verified before the last bytes are \
                    written. The path is one printed by `zip ls`; if several files have that path, the last one is used.

                    Example: synctrain zip cat library:backup.zip letters/anna.txt -o anna.txt
                    """))
        }

        @Argument(
            help: ArgumentHelp(translated("Zip file or ISO image, present on this device or not.")), completion: .file()
        )
        var archive: String

        @Argument(help: ArgumentHelp(translated("Path of the file in the archive.")))
        var member: String

        @Option(
            name: [.short, .long],
            help: ArgumentHelp(translated("Output file; standard output if omitted."), valueName: "file"),
            completion: .file())
        var output: String?

        @Flag(help: ArgumentHelp(translated("Overwrite an existing file.")))
        var force = false

        @OptionGroup var global: GlobalOptions

        func validate() throws {
            if force, output == nil { throw ValidationError(translated("--force needs -o.")) }
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
