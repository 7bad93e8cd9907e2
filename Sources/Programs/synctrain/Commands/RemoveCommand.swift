import ArgumentParser
import Arithmetic
import ControlAPI
import Phrases

struct RemoveCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rm", abstract: translated("Delete files and directories on all devices."),
            discussion: translated(
                """
                Deletes files whether or not they are on this disk; the other devices delete their copies once they are \
                connected. Names the devices that have the files and asks for confirmation. To free space on this device \
                only, use `synctrain deselect`.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Files and directories.")), completion: .file())
    var paths: [String]

    @Flag(help: ArgumentHelp(translated("Required: confirms deletion on every device.")))
    var everywhere = false

    @Flag(help: ArgumentHelp(translated("Show what would be deleted and which devices have it; delete nothing.")))
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard everywhere else {
            throw ValidationError(
                translated(
                    "rm needs --everywhere. `synctrain deselect` frees the space here and leaves the files on the other devices; "
                        + "`synctrain rm --everywhere` deletes them on all devices."))
        }
    }

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        var request = RemovalRequest(paths: paths.map(context.path), isDryRun: true)
        if !dryRun {
            let plans = try await agent.call(Endpoints.remove, request).folders
            try context.confirm(question(plans))
            request.isDryRun = false
        }
        let answer = try await agent.call(Endpoints.remove, request)
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
        } else {
            for outcome in answer.folders { try show(outcome, context) }
        }
        if answer.folders.contains(where: { !$0.staying.isEmpty }) {
            throw ExitCode(answer.folders.contains { $0.files > 0 } ? 2 : 1)
        }
    }

    private func question(_ plans: [RemovalOutcome]) -> String {
        let files = plans.reduce(Int64(0)) { $0.addingClamped($1.files) }
        let bytes = plans.reduce(Int64(0)) { $0.addingClamped($1.bytes) }
        let directories = plans.reduce(Int64(0)) { $0.addingClamped($1.directories) }
        let here = plans.reduce(Int64(0)) { $0.addingClamped($1.localFiles) }
        var holders = here > 0 ? [translated("this device (\(here))")] : []
        for holder in plans.flatMap(\.holders) { holders.append(Self.words(holder)) }
        let also = directories > 0 ? translated(" and \(Quantity.directories(directories))") : ""
        return
            translated(
                "\(Quantity.files(files))\(also), \(Quantity.size(bytes)), will be deleted on all devices. They are on: "
                    + "\(holders.isEmpty ? translated("no device whole") : holders.joined(separator: ", ")). Delete them?"
            )
    }

    private static func words(_ holder: RemovalOutcome.Holder) -> String {
        let name = holder.name.isEmpty ? String(holder.id.prefix(7)) : EscapedName.escape(holder.name)
        return "\(name) (\(holder.files)\(holder.isConnected ? "" : translated(", not connected")))"
    }

    private func show(_ outcome: RemovalOutcome, _ context: CommandContext) throws {
        let style = context.style
        let words =
            outcome.isDryRun
            ? translated("would be deleted on all devices")
            : translated("deleted; the other devices follow once they are connected")
        let also = outcome.directories > 0 ? translated(" and \(Quantity.directories(outcome.directories))") : ""
        try context.output.print(
            translated(
                "\(style.name(outcome.folder)): \(Quantity.files(outcome.files))\(also), "
                    + "\(Quantity.size(outcome.bytes)), \(outcome.localFiles) of them here, \(words)"))
        for holder in outcome.holders { try context.output.print(translated("  held by \(Self.words(holder))")) }
        if outcome.isDryRun {
            for name in outcome.names { try context.output.print("  \(style.name("\(outcome.folder):\(name)"))") }
        }
        for name in outcome.staying {
            try context.output.print(
                translated(
                    "stays: \(style.name("\(outcome.folder):\(name.path)"))  \(name.reason): \(translated("\(name.phrase)"))"
                ))
        }
    }
}
