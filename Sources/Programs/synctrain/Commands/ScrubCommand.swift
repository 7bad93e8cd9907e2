import ArgumentParser
import ControlAPI
import Phrases

struct ScrubCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "scrub", abstract: translated("Check the files on this disk for damage, and repair them."),
            discussion: translated(
                """
                Reads the files again, from the disk, and compares them with their hashes. A file that nobody changed and \
                that has other bytes now is damaged: it is listed with the devices that have it. It is never announced as \
                a new version, its damaged blocks are not sent, and this device promises nobody to keep it. --repair \
                fetches the damaged blocks from other devices; the damaged file goes to the archive, if the folder has one.

                Ctrl-C ends it; the next scrub of the same path within a day continues there. Exits with 2 if damaged \
                files are left.

                Example: synctrain scrub photos:2024 --repair
                """))
    }

    @Argument(
        help: ArgumentHelp(translated("Files, directories or folder ids; every folder that is not paused if omitted.")),
        completion: .file())
    var paths: [String] = []

    @Flag(help: ArgumentHelp(translated("Restore damaged files from other devices.")))
    var repair = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let line = ProgressLine(
            errors: context.process.errors,
            isShown: context.terminal.hasProgress(variables: context.process.variables) && !global.quiet
                && !global.json, width: context.terminal.width)
        let report = ScrubReport(context: context, line: line, isRepairing: repair)
        do {
            try await context.agent().call(
                Endpoints.scrub, ScrubRequest(paths: paths.map(context.path), isRepairing: repair)
            ) { try report.take($0) }
        } catch {
            try report.clear()
            throw error
        }
        try report.finish()
    }
}
