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
        let child = try spawn(["/bin/sh", "-c", "\(command) \"$@\"", "synctrain", link], variables)
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
