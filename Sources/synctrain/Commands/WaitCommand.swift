import ArgumentParser
import ControlAPI
import Synchronization

struct WaitCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait", abstract: "Wait until a folder, or every folder, needs nothing.",
        discussion: """
            Ends with 7 if the time is over before, and with 1 if the folder, or one of them, has halted, is paused or \
            cannot go on.
            """)

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
        let deadline = timeout.map { ContinuousClock.now + .seconds($0) }
        let waitingFor = Mutex("")
        let isDone = try await StatusWatch(agent: try context.agent()).first(until: deadline) { [folder] status in
            guard let verdict = try Self.judge(status, folder: folder) else { return true }
            waitingFor.withLock { $0 = verdict }
            return nil
        }
        if isDone == nil {
            throw ControlError(
                .timeout, "The time is over: \(waitingFor.withLock { $0 })", isRetryable: true, path: folder)
        }
    }

    /// Nil if there is nothing to wait for, else what is. Throws `noSuchFolder`, and `folderHalted`, `selectionUnusable`,
    /// `noSpace` or `failed` for a folder that does not go on by itself.
    static func judge(_ status: AgentStatus, folder: String?) throws(ControlError) -> String? {
        let folders: [FolderStatus]
        if let folder {
            guard let found = status.folders.first(where: { $0.id == folder }) else {
                throw ControlError(
                    .noSuchFolder, "No folder is named \(folder). See `synctrain folder list`.", path: folder)
            }
            guard found.condition != .paused else {
                throw ControlError(
                    .failed, "\(folder) is paused. Resume it with `synctrain folder resume \(folder)`.", path: folder)
            }
            folders = [found]
        } else {
            folders = status.folders.filter { $0.condition != .paused }
        }
        var waiting: String?
        for folder in folders {
            let condition = folder.condition
            if condition.isFailure {
                throw ControlError(
                    code(condition),
                    "\(folder.id) (\(folder.state)): \(folder.message ?? "it does not go on; see `synctrain status`")",
                    path: folder.id)
            }
            // Each is looked at, because one that cannot go on ends the wait whatever the others do.
            guard waiting == nil else { continue }
            if !folder.need.isZero {
                let errors = folder.errors > 0 ? " (\(Quantity.count(folder.errors, "error")), see `status`)" : ""
                waiting = "\(folder.id) needs \(Quantity.need(folder.need))\(errors)."
            } else if !condition.isAtRest {
                waiting = "\(folder.id) is \(folder.state.replacing("-", with: " "))."
            }
        }
        return waiting
    }

    private static func code(_ condition: FolderState) -> ControlError.Code {
        if condition.isHalted { return .folderHalted }
        return condition == .selectionError ? .selectionUnusable : condition == .lowSpace ? .noSpace : .failed
    }
}
