import CLinux
import ControlAPI
import Foundation
import Glibc
import Phrases
import Threads

/// The program that shows or plays what a link leads to.
enum OpeningProgram {
    static let variable = "SYNCTRAIN_OPEN"

    /// What to run for a link, to be read by the shell: `$SYNCTRAIN_OPEN`, or `xdg-open` if it is there; nil for nothing.
    static func command(_ variables: [String: String]) -> String? {
        if let command = variables[variable], !command.isEmpty { return command }
        let directories = (variables["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        return directories.contains { access("\($0)/xdg-open", X_OK) == 0 } ? "xdg-open" : nil
    }

    /// Runs a command with the link or file behind its own arguments, and returns when it has ended. What it prints goes to
    /// standard error. Throws `failed` if it ends with another code than 0; a cancellation ends it.
    static func run(_ command: String, _ link: String, variables: [String: String]) async throws {
        try await run(shell(command, link), command, link, variables)
    }

    /// As `run`, for an agent. One that systemd runs as a unit has systemd run the command: what it started itself would be held to the
    /// unit's rights, with which browsers do not work (MemoryDenyWriteExecute), and would be killed when the unit stops.
    static func runForAgent(_ command: String, _ link: String, variables: [String: String]) async throws {
        guard clinux_no_new_privileges() != 0, UserService.isAvailable(variables),
            let systemdRun = Mounting.find("systemd-run")
        else { return try await run(command, link, variables: variables) }
        try await run([systemdRun] + unitArguments(command, link), command, link, variables)
    }

    private static func shell(_ command: String, _ link: String) -> [String] {
        ["/bin/sh", "-c", "\(command) \"$@\"", "synctrain", link]
    }

    /// For systemd-run(1). A browser that the command leaves running stays when the command has ended. Pure.
    private static func unitArguments(_ command: String, _ link: String) -> [String] {
        // systemd replaces variables in arguments; `$$` is a `$`.
        let words = shell(command, link).map { $0.split(separator: "$", omittingEmptySubsequences: false) }
            .map { $0.joined(separator: "$$") }
        return ["--user", "--quiet", "--collect", "--wait", "--property=KillMode=process", "--"] + words
    }

    private static func run(
        _ words: [String], _ command: String, _ link: String, _ variables: [String: String]
    ) async throws {
        let child = try spawn(words, variables)
        let status = try await ChildEnd.status(of: child)
        // The low byte is 0 for a program that ended by itself; its code is above.
        guard status == 0 else {
            let reason =
                status & 0x7F == 0
                ? translated("ended with \(status >> 8 & 0xFF)") : translated("was killed by a signal")
            throw ControlError(
                .failed,
                "`\(command)` \(reason). Set \(variable) to another program, or open it yourself: \(link)")
        }
    }

    private static func spawn(_ arguments: [String], _ variables: [String: String]) throws(ControlError) -> pid_t {
        do throws(ChildProcess.StartError) {
            return try ChildProcess.start(
                arguments[0], Array(arguments.dropFirst()), environment: variables.map { "\($0.key)=\($0.value)" },
                group: .inherited, signals: AgentProcess.ignoredSignals
            ) { actions in
                posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
            }
        } catch {
            throw ControlError(.failed, "\(arguments[0]) cannot be started: \(error.reason).")
        }
    }
}
