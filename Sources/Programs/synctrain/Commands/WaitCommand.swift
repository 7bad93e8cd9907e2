import ArgumentParser
import ControlAPI
import Phrases
import Synchronization

struct WaitCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "wait", abstract: translated("Wait until folders or paths are up to date."),
            discussion: translated(
                """
                A path is up to date when it is present in the newest version; for a directory, when everything selected \
                in it is. A path that no device has yet is waited for, and so is a folder of which no device has sent its \
                index. Exits with 7 on timeout, and with 1 if a folder \
                is halted, paused or cannot continue, or if a path is not selected.
                """))
    }

    @Argument(
        help: ArgumentHelp(translated("Folder ids and paths; all folders that are not paused if omitted.")),
        completion: .file())
    var path: [String] = []

    @Option(
        help: ArgumentHelp(translated("Timeout: 30, 30s, 5m or 2h."), valueName: "time"),
        transform: WaitCommand.duration)
    var timeout: Double?

    @OptionGroup var global: GlobalOptions

    /// How long a folder has to be at rest: what was put in its place is reported by the system, and then scanned once more.
    private static let settling = Duration.milliseconds(250)

    /// How long an agent is waited for that has not answered at the deadline.
    private static let patience = Duration.seconds(10)

    static func duration(_ text: String) throws -> Double {
        guard let seconds = TimeSpan.seconds(text), (0...31_536_000).contains(seconds) else {
            throw ValidationError(
                translated("--timeout must be between 0 s and 1 year, for example 30, 30s, 5m or 2h."))
        }
        return seconds
    }

    func execute(in context: CommandContext) async throws {
        guard let timeout else { return try await wait(in: context, until: nil) }
        let deadline = ContinuousClock.now + .seconds(timeout)
        // One that is silent, as after Ctrl-Z, does not say at the deadline what is still to come either.
        try await AgentProcess.limited(until: deadline + Self.patience, AgentProcess.silent(try context.places())) {
            try await wait(in: context, until: deadline)
        }
    }

    private func wait(in context: CommandContext, until deadline: ContinuousClock.Instant?) async throws {
        let agent = try context.agent()
        guard !path.isEmpty else { return try await wait(for: nil, on: agent, until: deadline, in: context) }
        var paths: [PathReference] = []
        for text in path {
            do {
                // A folder's id stands for the folder; a file of that name is ./NAME.
                if text.contains(where: { $0 == "/" || $0 == ":" }) {
                    paths.append(context.path(text))
                } else {
                    try await wait(for: text, on: agent, until: deadline, in: context)
                }
            } catch let error as ControlError where error.code == .noSuchFolder {
                paths.append(context.path(text))
            }
        }
        guard !paths.isEmpty else { return }
        let left = deadline.map { ContinuousClock.now.duration(to: $0) }
        let request = WaitRequest(paths: paths, seconds: left.map { max(0, $0 / .seconds(1)) })
        try await StatusProgress(context, agent).during { _ = try await agent.call(Endpoints.wait, request) }
    }

    private func wait(
        for folder: String?, on agent: any AgentControl, until deadline: ContinuousClock.Instant?,
        in context: CommandContext
    ) async throws {
        let waitingFor = Mutex("")
        let progress = StatusProgress(context, agent)
        defer { try? progress.clear() }
        let isDone = try await StatusWatch(agent: agent).first(until: deadline) { status in
            var status = status
            var verdict = try Self.judge(status, folder: folder)
            if verdict == nil {
                try await Task.sleep(for: Self.settling)
                status = try await agent.call(Endpoints.status)
                verdict = try Self.judge(status, folder: folder)
            }
            guard let verdict else { return true }
            waitingFor.withLock { $0 = verdict }
            try progress.show(status)
            return nil
        }
        if isDone == nil {
            throw ControlError(
                .timeout, "Timed out: \(waitingFor.withLock { $0 })", isRetryable: true, path: folder)
        }
    }

    /// Nil if there is nothing to wait for, else what is. Throws `noSuchFolder`, and `folderHalted`, `selectionUnusable`,
    /// `noSpace` or `failed` for a folder that does not go on by itself.
    static func judge(_ status: AgentStatus, folder: String?) throws(ControlError) -> String? {
        let folders: [FolderStatus]
        if let folder {
            guard let found = status.folders.first(where: { $0.id == folder }) else {
                throw ControlError.noSuchFolder(folder, among: status.folders.map(\.id))
            }
            guard found.condition != .paused else {
                throw ControlError(
                    .failed, "\(folder) is paused. Resume it with `synctrain resume \(ShellWord.quoted(folder))`.",
                    path: folder)
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
                    "\(folder.id) (\(Word.shown(folder.state))): \(folder.message ?? translated("it does not go on; see `synctrain status`"))",
                    path: folder.id)
            }
            // Each is looked at, because one that cannot go on ends the wait whatever the others do.
            guard waiting == nil else { continue }
            if !folder.need.isZero {
                let need = Quantity.need(folder.need)
                waiting =
                    folder.errors > 0
                    ? translated("\(folder.id) needs \(need) (\(Quantity.errors(folder.errors)), see `status`).")
                    : translated("\(folder.id) needs \(need).")
            } else if let reason = folder.indexWait {
                waiting = translated("\(folder.id): \(reason).")
            } else if !condition.isAtRest {
                waiting = translated("\(folder.id) is \(Word.shown(folder.state.replacing("-", with: " "))).")
            }
        }
        return waiting
    }

    private static func code(_ condition: FolderState) -> ControlError.Code {
        if condition.isHalted { return .folderHalted }
        return condition == .selectionError ? .selectionUnusable : condition == .lowSpace ? .noSpace : .failed
    }
}
