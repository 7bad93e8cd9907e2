import AgentConfiguration
import AsyncTools
import CLinux
import ControlAPI
import Cryptography
import Foundation
import Glibc
import MountRules
import SyncAgent
import Threads

/// How the agent mounts folders: as a child of its own or, where it may not mount (NoNewPrivileges, which its unit sets, takes
/// fusermount3 the right to), as a unit of the user's systemd.
struct AgentMounts: Sendable {
    /// How long systemd may take to have a folder mounted.
    private static let patience = Duration.seconds(15)
    private static let pause = Duration.milliseconds(100)
    /// For what blocks: tasks' own threads are few.
    private static let threads: any DiskThreads = .singleton

    let places: MountPlaces
    let variables: [String: String]
    /// Whether programs that this process starts get rights of their own.
    let mayMount: Bool

    init(_ places: AgentPlaces, _ variables: [String: String]) {
        self.places = MountPlaces(socket: places.mountSocket, logFile: places.log)
        self.variables = variables
        // The superuser needs none.
        mayMount = geteuid() == 0 || clinux_no_new_privileges() == 0
    }

    var tools: MountTools {
        MountTools(
            mounted: { (try? Mounting.all()) ?? [] }, resolved: { Mounting.resolved($0) },
            start: { try await start($0, folders: $1) }, isSupervised: !mayMount,
            end: { directory, process, isLazy in
                try await Mounting.end(
                    directory, typed: directory, isLazy: isLazy, process: mayMount ? 0 : process)
            })
    }

    private func start(_ mount: WantedMount, folders: [String]) async throws -> MountTools.End? {
        var mount = mount
        let typed = mount.directory
        mount.directory = try await Self.threads.runIfActive {
            try Mounting.prepare(typed, folders: folders, typed: typed)
        }
        guard mayMount else {
            try await startUnit(mount)
            return nil
        }
        let process = try await Mounting.start(places, mount).process
        return {
            guard let status = await ChildEnd.status(leaving: process) else { return false }
            return status != 0
        }
    }

    /// Has the user's systemd run the mount: it is started again there when it fails.
    private func startUnit(_ mount: WantedMount) async throws {
        guard UserService.isAvailable(variables), let run = Mounting.find("systemd-run") else {
            throw ControlError(
                .failed,
                "The agent may not mount folders (NoNewPrivileges), and this user has no systemd. Use `synctrain mount` in a terminal.",
                path: mount.directory)
        }
        let unit = "synctrain-mount-\(Self.unitPart(mount.folder))-\(String(SecureRandom.uint64(), radix: 36))"
        var words = ["--user", "--quiet", "--collect", "--unit=\(unit)", "--property=Restart=on-failure"]
        words += ["--property=RestartSec=5", "--property=TimeoutStopSec=10"]
        words.append("--description=\(SystemdUnit.mountDescription(of: mount.folder))")
        if let unmount = Mounting.find(Mounting.unmountProgram) {
            words.append("--property=ExecStopPost=-\(unmount) -u -z \(SystemdUnit.quoted(mount.directory))")
        }
        words += ["--", try Mounting.mountProgram()] + Mounting.arguments(places, mount, ready: nil)
        let child: pid_t
        do throws(ChildProcess.StartError) {
            child = try ChildProcess.start(
                run, words, environment: variables.map { "\($0.key)=\($0.value)" }, group: .own
            ) { actions in
                posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
                posix_spawn_file_actions_addopen(
                    &actions, STDOUT_FILENO, places.logFile, O_WRONLY | O_CREAT | O_APPEND, 0o600)
                posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
            }
        } catch {
            throw ControlError(.failed, "systemd-run cannot be started: \(error.reason).")
        }
        guard try await ChildEnd.status(of: child) == 0 else {
            throw ControlError(
                .failed, "systemd did not start the mount. See \(places.logFile).", path: mount.directory)
        }
        let end = ContinuousClock.now + Self.patience
        while try !Mounting.all().contains(where: { $0.directory == mount.directory }) {
            guard ContinuousClock.now < end else {
                throw ControlError(
                    .timeout, "The folder was not mounted in time. See `journalctl --user -u \(unit)`.",
                    isRetryable: true, path: mount.directory)
            }
            try await Task.sleep(for: Self.pause)
        }
    }

    /// A part of a unit's name: letters and digits stay, all else is `_`.
    private static func unitPart(_ folder: String) -> String {
        String(
            folder.unicodeScalars.prefix(40).map {
                $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0) ? Character($0) : "_"
            })
    }
}
