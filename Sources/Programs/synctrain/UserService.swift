import ControlAPI
import Foundation
import Glibc
import Threads

/// The agent as a unit of the user's systemd.
enum UserService {
    /// Whether the user's systemd runs: only then `systemctl --user` reaches one.
    static func isAvailable(_ variables: [String: String]) -> Bool {
        guard let runtime = variables["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") else { return false }
        return FileManager.default.fileExists(atPath: runtime + "/systemd/private")
    }

    /// Installs the unit unless the Debian package has, and has it started now and at every login.
    ///
    /// - Throws: `alreadyExists` if another unit of that name is there; `failed` with what systemctl says.
    static func enable(_ unit: SystemdUnit, _ variables: [String: String]) async throws {
        if unit.packaged() == nil {
            if try unit.isOtherwiseInstalled() {
                throw ControlError(
                    .alreadyExists, "\(unit.path) exists and differs. Replace it with `synctrain agent install`.",
                    path: unit.path)
            }
            try unit.install()
        }
        for arguments in [["daemon-reload"], ["enable", "--now", SystemdUnit.name]] {
            try await run(["systemctl", "--user"] + arguments, variables)
        }
    }

    /// Starts the unit that is installed.
    ///
    /// - Throws: `failed` with what systemctl says.
    static func start(_ variables: [String: String]) async throws {
        try await run(["systemctl", "--user", "start", SystemdUnit.name], variables)
    }

    /// Stops the unit and starts it again.
    ///
    /// - Throws: `failed` with what systemctl says.
    static func restart(_ variables: [String: String]) async throws {
        try await run(["systemctl", "--user", "restart", SystemdUnit.name], variables)
    }

    /// Whether the agent runs as the unit now.
    static func isRunning(_ variables: [String: String]) async -> Bool {
        guard isAvailable(variables) else { return false }
        return (try? await run(["systemctl", "--user", "--quiet", "is-active", SystemdUnit.name], variables)) != nil
    }

    /// Whether the user's systemd starts the agent at login.
    static func startsAtLogin(_ variables: [String: String]) async -> Bool {
        guard isAvailable(variables) else { return false }
        return (try? await run(["systemctl", "--user", "--quiet", "is-enabled", SystemdUnit.name], variables)) != nil
    }

    /// Runs a program of `PATH` to its end, its words on standard error. A cancellation ends it.
    private static func run(_ words: [String], _ variables: [String: String]) async throws {
        let child: pid_t
        do throws(ChildProcess.StartError) {
            child = try ChildProcess.start(
                "/usr/bin/env", words, environment: variables.map { "\($0.key)=\($0.value)" }, group: .inherited,
                signals: AgentProcess.ignoredSignals
            ) { actions in
                posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
                posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
            }
        } catch {
            throw ControlError(.failed, "systemctl cannot be started: \(error.reason).")
        }
        guard try await ChildEnd.status(of: child) == 0 else {
            throw ControlError(.failed, "`\(words.joined(separator: " "))` failed; see what it printed above.")
        }
    }
}
