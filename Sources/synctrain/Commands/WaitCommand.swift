import ArgumentParser
import ControlAPI

struct WaitCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait", abstract: "Wait until a folder, or every folder, needs nothing.",
        discussion: "Exits with 7 if the time is over before.")

    @Argument(help: "The folder's id; all folders that are not paused if not given.")
    var folder: String?

    @Option(help: ArgumentHelp("Wait no longer than this.", valueName: "seconds"))
    var timeout: Double?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let timeout, !(0...31_536_000).contains(timeout) {
            throw ValidationError("--timeout is a number of seconds from 0 up to a year.")
        }
    }

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        let deadline = timeout.map { ContinuousClock.now + .seconds($0) }
        while true {
            let verdict = try Self.judge(try await agent.status(), folder: folder)
            guard let waiting = verdict else { return }
            if let deadline, ContinuousClock.now >= deadline {
                throw ControlError(.timeout, "The time is over: \(waiting)", isRetryable: true, path: folder)
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Nil if there is nothing to wait for, else what is. Throws `noSuchFolder`, and `failed` for a folder in error.
    static func judge(_ status: AgentStatus, folder: String?) throws(ControlError) -> String? {
        let folders: [FolderStatus]
        if let folder {
            guard let found = status.folders.first(where: { $0.id == folder }) else {
                throw ControlError(
                    .noSuchFolder, "No folder is named \(folder). See `synctrain folder list`.", path: folder)
            }
            guard found.state != "paused" else {
                throw ControlError(
                    .failed, "\(folder) is paused. Resume it with `synctrain folder resume \(folder)`.", path: folder)
            }
            folders = [found]
        } else {
            folders = status.folders.filter { $0.state != "paused" }
        }
        for folder in folders {
            if folder.state == "error" {
                throw ControlError(
                    .failed, "\(folder.id): \(folder.message ?? "in error; see `synctrain status`")", path: folder.id)
            }
            if folder.state == "receiving-index" { return "\(folder.id) is receiving an index." }
            let need = folder.need
            if need.files > 0 || need.directories > 0 || need.bytes > 0 {
                return "\(folder.id) needs \(Quantity.count(need.files, "file")), \(Quantity.size(need.bytes))."
            }
        }
        return nil
    }
}
