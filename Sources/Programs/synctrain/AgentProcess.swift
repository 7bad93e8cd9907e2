import ControlAPI
import FileAccess
import Foundation
import Glibc
import KernelFiles
import Phrases
import Threads

/// The agent as a process of its own.
enum AgentProcess {
    private static let pause = Duration.milliseconds(50)
    /// A child would inherit that this process ignores them.
    static let ignoredSignals = Interrupts.signals + [SIGPIPE]

    /// Absolute path of this program.
    static func executable() throws(ControlError) -> String {
        do {
            return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        } catch {
            throw ControlError(.failed, "The path of this program is unknown because /proc is not mounted.")
        }
    }

    /// Whether an agent answers; throws `overdue` if it takes the connection and is silent until `deadline`, as one that was stopped by
    /// Ctrl-Z.
    static func isAnswering(
        _ agent: any AgentControl, until deadline: ContinuousClock.Instant, _ overdue: ControlError
    ) async throws -> Bool {
        do {
            _ = try await limited(until: deadline, overdue) { try await agent.call(Endpoints.status) }
            return true
        } catch let error as ControlError where error.code == .noAgent {
            return false
        }
    }

    /// Runs `body`, which is cancelled at `deadline`.
    ///
    /// - Throws: what `body` throws before; else `overdue`.
    static func limited<Result: Sendable>(
        until deadline: ContinuousClock.Instant, _ overdue: any Error,
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(until: deadline, clock: .continuous)
                throw overdue
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() else { throw overdue }
            return result
        }
    }

    enum Start {
        /// One answers already.
        case before
        case inBackground
        /// By the user's systemd, which starts it at login too.
        case asUnit
    }

    /// Starts the agent unless one answers.
    ///
    /// - Throws: as `start`; `invalidConfiguration` before `init`.
    static func startIfNeeded(in context: CommandContext, timeout: Duration) async throws -> Start {
        let (places, variables) = (try context.places(), context.process.variables)
        let deadline = ContinuousClock.now + timeout
        guard
            try await !isAnswering(context.environment.connect(places), until: deadline, silent(places))
        else { return .before }
        try context.checkSetUp(.invalidConfiguration)
        if try SystemdUnit(places).isInstalled(), await UserService.startsAtLogin(variables) {
            try await UserService.start(variables)
            try await waitUntilAnswering(places, connect: context.environment.connect, timeout: timeout)
            return .asUnit
        }
        try await start(places, connect: context.environment.connect, timeout: timeout)
        return .inBackground
    }

    /// Stops the agent if one answers, and starts it again: as the systemd user unit if it runs as that.
    ///
    /// - Throws: as `startIfNeeded`, before anything is stopped what `init` is for; `timeout` if the agent does not stop; `failed` if it
    ///   is for the system's systemd to restart it.
    static func restart(in context: CommandContext, timeout: Duration) async throws -> Start {
        let (places, variables) = (try context.places(), context.process.variables)
        try context.checkSetUp(.invalidConfiguration)
        let deadline = ContinuousClock.now + timeout
        let isAnswering = try await isAnswering(
            context.environment.connect(places), until: deadline, silent(places))
        if isAnswering, try SystemdUnit(places).isInstalled(), await UserService.isRunning(variables) {
            try await UserService.restart(variables)
            try await waitUntilAnswering(places, connect: context.environment.connect, timeout: timeout)
            return .asUnit
        }
        guard !isSystemUnit(in: context) else {
            throw ControlError(
                .failed,
                "The agent runs as the system unit \(SystemdUnit.name). Restart it with `sudo systemctl restart synctrain`."
            )
        }
        _ = try await stop(in: context, timeout: timeout)
        return try await startIfNeeded(in: context, timeout: timeout)
    }

    /// Whether the agent runs as the system unit of a NAS, which this user's systemd does not manage.
    static func isSystemUnit(in context: CommandContext) -> Bool {
        guard let places = try? context.places(), let process = try? context.environment.agentProcess(places),
            let cgroup = KernelFile.text(at: "/proc/\(process)/cgroup")
        else { return false }
        return SystemdUnit.isOfSystemUnit(cgroup: cgroup)
    }

    /// Stops the agent if one runs, and returns when it has exited.
    ///
    /// One whose socket is gone gets SIGTERM: a user who logs out loses `$XDG_RUNTIME_DIR`, and an agent that `agent start` started goes
    /// on without it.
    ///
    /// - Returns: whether one ran.
    /// - Throws: `timeout` if it does not exit in time; another error if it cannot be reached or may not be stopped.
    static func stop(in context: CommandContext, timeout: Duration) async throws -> Bool {
        let places = try context.places()
        // Where that cannot be seen, connecting fails too, and says why.
        let process = try? context.environment.agentProcess(places)
        let deadline = ContinuousClock.now + timeout
        let agent = context.environment.connect(places)
        do {
            _ = try await limited(until: deadline, notEnded(process, in: context.environment)) {
                try await agent.call(Endpoints.stop)
            }
        } catch let error as ControlError where error.code == .noAgent && error.isRetryable {
            // Nothing listens; another reason why it cannot be reached is reported as it is.
            guard let process = unreached(process) else { return false }
            guard kill(process, SIGTERM) == 0 || errno == ESRCH else {
                throw ControlError(
                    .failed, "The agent (process \(process)) cannot be stopped: \(String(cString: strerror(errno))).")
            }
        }
        try await waitForEnd(of: process, places, in: context.environment, until: deadline)
        return true
    }

    /// The process that holds the agent's place, if it is an agent: one that does not answer. Nil if it is none, or not known.
    static func unreached(_ process: pid_t?) -> pid_t? {
        guard let process, process > 0,
            isAgent(commandLine: KernelFile.bytes(at: "/proc/\(process)/cmdline") ?? [])
        else { return nil }
        return process
    }

    /// Whether a process is `agent run`, by its command line as /proc has it. A command that works on the index meanwhile is not to be
    /// stopped for an agent, nor is a stranger that has got the number. Pure.
    static func isAgent(commandLine: [UInt8]) -> Bool {
        let words = commandLine.split(separator: 0).map { Array($0) }
        return zip(words, words.dropFirst()).contains { $0 == Array("agent".utf8) && $1 == Array("run".utf8) }
    }

    /// Starts `agent run` in a session of its own, its log in the log file, and returns when it answers. Throws
    /// `failed` with the cause in the log if it ends before, `timeout` if it does not answer in time.
    ///
    /// - Parameter started: gets its process id before anything is waited for.
    static func start(
        _ places: CommandEnvironment.Places, connect: (CommandEnvironment.Places) -> any AgentControl,
        timeout: Duration, environment: [String: String] = ProcessInfo.processInfo.environment,
        started: (pid_t) -> Void = { _ in }
    ) async throws {
        var arguments = [try executable(), "agent", "run"]
        if let home = places.home { arguments += ["--home", home] }
        let logged = size(ofFile: places.logFile)
        // What it prints is for one who waits for it, and no line of the log.
        let child = try spawn(arguments, output: "/dev/null", logFile: places.logFile, environment: environment)
        started(child)
        let deadline = ContinuousClock.now + timeout
        let agent = connect(places)
        while ContinuousClock.now < deadline {
            if try await isAnswering(agent, until: deadline, silent(places)) { return }
            var status: Int32 = 0
            if waitpid(child, &status, WNOHANG) == child {
                throw exitedAtOnce(
                    lastWords(in: places.logFile, from: logged), logFile: places.logFile,
                    free: FreeSpace(at: places.logFile)?.available)
            }
            try await Task.sleep(for: pause)
        }
        throw silent(places)
    }

    /// What it means that an agent does not answer in time.
    static func silent(_ places: CommandEnvironment.Places) -> ControlError {
        ControlError(
            .timeout, "The agent did not answer in time. See \(places.logFile).", isRetryable: true,
            path: places.logFile)
    }

    /// What it means that an agent does not end in time.
    private static func notEnded(_ process: pid_t?, in environment: CommandEnvironment) -> ControlError {
        guard let process, process > 0 else {
            return ControlError(
                .timeout, "The agent did not stop in time. See its log, or kill its process.", isRetryable: true)
        }
        if environment.isStopped(process) {
            return ControlError(
                .timeout,
                "The agent (process \(process)) cannot end because it is stopped, for example by Ctrl-Z. Let it continue with "
                    + "`kill -CONT \(process)`.", isRetryable: true)
        }
        return ControlError(
            .timeout, "The agent did not stop in time. See its log, or kill its process with `kill -KILL \(process)`.",
            isRetryable: true)
    }

    /// Returns when the agent that something else has started answers. Throws `timeout`.
    static func waitUntilAnswering(
        _ places: CommandEnvironment.Places, connect: (CommandEnvironment.Places) -> any AgentControl,
        timeout: Duration
    ) async throws {
        let deadline = ContinuousClock.now + timeout
        let agent = connect(places)
        let overdue = ControlError(
            .timeout, "The agent did not answer in time. See `journalctl --user -u \(SystemdUnit.name)`.",
            isRetryable: true)
        while try await !isAnswering(agent, until: deadline, overdue) {
            guard ContinuousClock.now < deadline else { throw overdue }
            try await Task.sleep(for: pause)
        }
    }

    /// Returns when the agent has left its place to another. Its socket goes before: connections to its page end later.
    private static func waitForEnd(
        of process: pid_t?, _ places: CommandEnvironment.Places, in environment: CommandEnvironment,
        until deadline: ContinuousClock.Instant
    ) async throws {
        guard let process else { return }
        while try environment.agentProcess(places) == process {
            guard ContinuousClock.now < deadline else { throw notEnded(process, in: environment) }
            try await Task.sleep(for: pause)
        }
    }

    /// Starts a program in a session of its own, with its errors behind what is in the log file and its output behind what is in
    /// `output`, which may be the same file. The caller waits for its end, with `waitpid`.
    static func spawn(
        _ arguments: [String], output: String, logFile: String,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ControlError) -> pid_t {
        do throws(ChildProcess.StartError) {
            return try ChildProcess.start(
                arguments[0], Array(arguments.dropFirst()), environment: environment.map { "\($0.key)=\($0.value)" },
                group: .newSession, signals: ignoredSignals
            ) { actions in
                posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
                for (descriptor, file) in [(STDOUT_FILENO, output), (STDERR_FILENO, logFile)] {
                    posix_spawn_file_actions_addopen(
                        &actions, descriptor, file, O_WRONLY | O_CREAT | O_APPEND, 0o600)
                }
            }
        } catch {
            throw ControlError(
                .failed, "The agent cannot be started: \(error.reason). It logs to \(logFile).", path: logFile)
        }
    }

    private static func size(ofFile path: String) -> UInt64 {
        var found = stat()
        return lstat(path, &found) == 0 ? UInt64(max(0, found.st_size)) : 0
    }

    /// What it means that the agent ended before it answered. Pure.
    ///
    /// - Parameters:
    ///   - words: why, by its log; nil if it wrote none.
    ///   - free: bytes that are free on the disk of the log; nil if unknown.
    static func exitedAtOnce(_ words: String?, logFile: String, free: UInt64?) -> ControlError {
        if words == nil, free == 0 {
            return ControlError(
                .noSpace,
                "The agent exited at once and could not write its log: the disk of \(logFile) is full. Free some space.",
                path: logFile)
        }
        return ControlError(
            .failed, "The agent exited at once: \(words ?? translated("It wrote no log."))", path: logFile)
    }

    /// Why the agent ended, by what was written behind `offset`; nil if nothing was.
    private static func lastWords(in path: String, from offset: UInt64) -> String? {
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? file.close() }
        let end = (try? file.seekToEnd()) ?? 0
        // A file that is shorter than before is another one.
        let start = max(offset > end ? 0 : offset, end > 4096 ? end - 4096 : 0)
        guard (try? file.seek(toOffset: start)) != nil, let bytes = try? file.readToEnd() else { return nil }
        return cause(in: String(decoding: bytes, as: UTF8.self))
    }

    /// Of what an agent wrote before it exited: the error that it ended with, else the last one that it logged, else the last line.
    /// Nil for an empty text. Pure.
    static func cause(in text: String) -> String? {
        let lines = text.split(separator: "\n").map(String.init)
        let prefix = "synctrain: "
        if let line = lines.last(where: { $0.hasPrefix(prefix) }) { return String(line.dropFirst(prefix.count)) }
        let logged = lines.compactMap { LogFileLine(Array($0.utf8)) }
        if let error = logged.last(where: { ["error", "critical"].contains($0.level) }) { return error.message }
        return lines.last.map { LogFileLine(Array($0.utf8))?.message ?? $0 }
    }
}
