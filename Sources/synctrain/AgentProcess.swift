import ControlAPI
import Foundation
import Glibc

/// The agent as a process of its own.
enum AgentProcess {
    /// POSIX_SPAWN_SETSID of glibc's <spawn.h>, which Swift does not see.
    private static let setSession: Int16 = 0x80
    private static let pause = Duration.milliseconds(50)

    /// Absolute path of this program.
    static func executable() throws(ControlError) -> String {
        do {
            return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        } catch {
            throw ControlError(.failed, "This program's own file is not known: /proc is not mounted.")
        }
    }

    static func isAnswering(_ agent: any AgentControl) async throws -> Bool {
        do {
            _ = try await agent.status()
            return true
        } catch let error as ControlError where error.code == .noAgent {
            return false
        }
    }

    /// Starts `agent run` in a session of its own, its words in the log file, and returns when it answers. Throws
    /// `failed` with the end of the log if it ends before, `timeout` if it does not answer in time.
    static func start(
        _ places: CommandEnvironment.Places, connect: (CommandEnvironment.Places) -> any AgentControl,
        timeout: Duration
    ) async throws {
        var arguments = [try executable(), "agent", "run"]
        if let home = places.home { arguments += ["--home", home] }
        let logged = size(ofFile: places.logFile)
        let child = try spawn(arguments, logFile: places.logFile)
        let deadline = ContinuousClock.now + timeout
        let agent = connect(places)
        while ContinuousClock.now < deadline {
            if try await isAnswering(agent) { return }
            var status: Int32 = 0
            if waitpid(child, &status, WNOHANG) == child {
                throw ControlError(
                    .failed, "The agent ended at once: \(lastWords(in: places.logFile, from: logged))",
                    path: places.logFile)
            }
            try await Task.sleep(for: pause)
        }
        throw ControlError(
            .timeout, "The agent has not answered in time. See \(places.logFile).", isRetryable: true,
            path: places.logFile)
    }

    /// Returns when the agent's socket is gone.
    static func waitForEnd(of places: CommandEnvironment.Places, timeout: Duration) async throws {
        let deadline = ContinuousClock.now + timeout
        while FileManager.default.fileExists(atPath: places.socket) {
            guard ContinuousClock.now < deadline else {
                throw ControlError(
                    .timeout, "The agent has not ended in time. See its log, or end its process.", isRetryable: true)
            }
            try await Task.sleep(for: pause)
        }
    }

    /// Starts a program in a session of its own, with both outputs behind what is in the file. Whoever calls this waits
    /// for its end, with `waitpid`.
    static func spawn(
        _ arguments: [String], logFile: String,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ControlError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(
            &actions, STDOUT_FILENO, logFile, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This process ignores both; a child would inherit that.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGINT)
        sigaddset(&defaults, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, setSession | Int16(POSIX_SPAWN_SETSIGDEF))
        keepDescriptors()
        var child: pid_t = 0
        let variables = environment.map { "\($0.key)=\($0.value)" }
        let result = withCStrings(arguments) { argv in
            withCStrings(variables) { envp in
                posix_spawn(&child, arguments[0], &actions, &attributes, argv, envp)
            }
        }
        guard result == 0 else {
            throw ControlError(
                .failed, "The agent cannot be started: \(String(cString: strerror(result))). It logs to \(logFile).",
                path: logFile)
        }
        return child
    }

    /// Lets no child have this process's descriptors, beyond the three usual ones: a socket that a child holds, too, is
    /// not closed when this process closes it.
    static func keepDescriptors() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            guard let descriptor = Int32(name), descriptor > STDERR_FILENO else { continue }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    /// A null-terminated array of C strings that live during the call.
    static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        let array = UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: copies.count)
        defer { array.deallocate() }
        _ = array.initialize(from: copies)
        guard let base = array.baseAddress else { preconditionFailure("an array with a null has an address") }
        return body(base)
    }

    private static func size(ofFile path: String) -> UInt64 {
        var found = stat()
        return lstat(path, &found) == 0 ? UInt64(max(0, found.st_size)) : 0
    }

    /// The last lines that were written behind `offset`.
    private static func lastWords(in path: String, from offset: UInt64) -> String {
        guard let file = FileHandle(forReadingAtPath: path) else { return "it left no word." }
        defer { try? file.close() }
        let end = (try? file.seekToEnd()) ?? 0
        let start = max(offset, end > 4096 ? end - 4096 : 0)
        guard (try? file.seek(toOffset: min(start, end))) != nil, let bytes = try? file.readToEnd() else {
            return "it left no word."
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").suffix(3)
        return lines.isEmpty ? "it left no word." : lines.joined(separator: "\n")
    }
}
