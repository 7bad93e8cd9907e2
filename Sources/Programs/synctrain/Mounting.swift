import AsyncTools
import BlockExchange
import CLinux
import ControlAPI
import Foundation
import Glibc
import KernelFiles
import MountRules
import Names
import Phrases
import Threads

/// What a mount's process needs of the agent's places.
struct MountPlaces: Sendable {
    /// The agent's socket for mounts.
    var socket: String
    var logFile: String
}

extension MountPlaces {
    init(_ places: CommandEnvironment.Places) {
        let runtime = places.socket.parentPath
        self.init(socket: runtime + "/mount.sock", logFile: places.logFile)
    }
}

/// Mounts and unmounts: what is done with the system for it.
enum Mounting {
    private static let program = "synctrain-mount"
    static let unmountProgram = "fusermount3"
    /// For what blocks: tasks' own threads are few, and the mount asks the agent, which may be this process.
    private static let threads: any DiskThreads = .singleton

    /// A mount that is in place.
    struct Started {
        /// Its process, whose end the caller waits for, or leaves to init.
        var process: pid_t
        /// Why programs can change nothing in it; nil if they can, or are not to.
        var refusal: String?
    }

    /// The mounted folders of this machine that this process sees.
    static func all() throws(ControlError) -> [MountedFolder] {
        guard let text = KernelFile.text(at: MountedFolder.table) else {
            throw ControlError(.failed, "The mounts are unknown because /proc is not mounted.")
        }
        return MountedFolder.all(in: text)
    }

    /// Those whose process has ended or is stopped.
    static func silent() -> [MountedFolder] {
        ((try? all()) ?? []).filter { mount in
            guard let server = server(of: mount.directory) else { return isAbandoned(mount.directory) }
            return server.isStopped
        }
    }

    // MARK: before

    /// Checks that a folder can be mounted there, clears what a mount that was killed has left, and makes the directory.
    ///
    /// - Returns: the directory with its links resolved.
    static func prepare(_ directory: String, folders: [String], typed: String) throws(ControlError) -> String {
        guard FileManager.default.fileExists(atPath: "/dev/fuse") else {
            throw ControlError(
                .failed, "This system has no /dev/fuse. Load the kernel module with `modprobe fuse`.",
                path: "/dev/fuse")
        }
        guard find(unmountProgram) != nil else {
            throw ControlError(.failed, "fusermount3 is not installed. Install the Debian package fuse3.")
        }
        let path = resolved(directory)
        if try all().contains(where: { $0.directory == path }) { clearStale(path) }
        let objection = MountPoint.objection(
            to: path, occupant(of: path), folders: folders.map { resolved($0) }, mounted: try all().map(\.directory))
        if let objection { throw error(objection, typed) }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw uncreated(typed, errno) }
        return path
    }

    /// Why a directory to mount on could not be made.
    static func uncreated(_ directory: String, _ number: CInt) -> ControlError {
        let reason = String(cString: strerror(number))
        return ControlError(
            .failed,
            number == ENOENT
                ? Phrase("\(directory) cannot be created: \(reason). Create its parent first.")
                : Phrase("\(directory) cannot be created: \(reason). Choose another directory."), path: directory)
    }

    /// A mount whose process was killed answers nothing, and is in the way of the next. `auto_unmount` takes it away a moment later.
    private static func clearStale(_ path: String) {
        // One whose process is there is not looked into: if it is stopped, the answer never comes.
        if server(of: path) == nil, isAbandoned(path) { _ = run(["-u", "-z", path]) }
    }

    /// Whether nobody answers in a mount. For one without a `server` alone: who opens one whose process is stopped waits.
    static func isAbandoned(_ path: String) -> Bool {
        // Not `stat`, which the kernel may answer from memory. While the process is ending, this waits until it has.
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory < 0 else {
            close(directory)
            return false
        }
        return errno == ENOTCONN || errno == ECONNABORTED
    }

    /// The process that mounts on the directory and goes on. One that is ending has no command line any more.
    static func server(of path: String) -> MountServerProcess? {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let process = Int32(name), let line = KernelFile.bytes(at: "/proc/\(name)/cmdline"),
                MountPoint.isServer(commandLine: line, of: path, program: program),
                let status = KernelFile.text(at: "/proc/\(name)/status"), !Callers.isDying(status: status)
            else { continue }
            return MountServerProcess(
                process: process, isStopped: RunningProgram.isRunning(process) == false,
                socket: MountPoint.socket(commandLine: line))
        }
        return nil
    }

    private static func occupant(of path: String) -> MountPoint.Occupant {
        var status = stat()
        guard stat(path, &status) == 0 else { return .nothing }
        guard status.st_mode & S_IFMT == S_IFDIR else { return .other }
        let names = try? FileManager.default.contentsOfDirectory(atPath: path)
        return .directory(isEmpty: names?.isEmpty ?? false, isOwn: status.st_uid == geteuid())
    }

    private static func error(_ objection: MountPoint.Objection, _ typed: String) -> ControlError {
        switch objection {
        case .notADirectory:
            ControlError(.alreadyExists, "\(typed) is not a directory. Choose an empty directory.", path: typed)
        case .notEmpty:
            ControlError(.alreadyExists, "\(typed) is not empty. Choose an empty directory.", path: typed)
        case .notOwn:
            ControlError(
                .noPermission, "\(typed) belongs to another user. Choose a directory of your own.", path: typed)
        case .insideFolder(let folder):
            ControlError(
                .invalidRequest, "\(typed) is inside the synced folder \(folder). Choose a directory outside of it.",
                path: typed)
        case .aroundFolder(let folder):
            ControlError(
                .invalidRequest, "\(typed) contains the synced folder \(folder). Choose another directory.",
                path: typed)
        case .mounted:
            ControlError(
                .alreadyExists,
                "A folder is already mounted on \(typed). Unmount it with `synctrain unmount \(ShellWord.quoted(typed))`.",
                path: typed)
        }
    }

    /// Links followed, those of the directory above alone where nothing is there. The directory itself is not looked at: a mount
    /// whose process is stopped would not answer.
    static func resolved(_ path: String, links: Int = 8) -> String {
        var parts = path.pathComponents
        guard let name = parts.popLast() else { return "/" }
        let above = "/" + parts.joined(separator: "/")
        if name == "." || name == ".." { return real(path) ?? path }
        let parent = real(above) ?? resolved(above, links: links)
        let whole = (parent == "/" ? "" : parent) + "/" + name
        guard links > 0, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: whole) else {
            return whole
        }
        return resolved(target.utf8.first == UInt8(ascii: "/") ? target : parent + "/" + target, links: links - 1)
    }

    private static func real(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }

    // MARK: mounting

    /// Starts the program that mounts, in a session of its own, and returns when the tree can be used.
    ///
    /// - Throws: `ControlError`; the program has ended then.
    static func start(_ places: MountPlaces, _ mount: WantedMount) async throws -> Started {
        let executable = try mountProgram()
        var pipe: [CInt] = [-1, -1]
        guard pipe2(&pipe) else { throw ControlError(.failed, "No descriptor is left. Close some programs.") }
        let (reading, writing) = (pipe[0], pipe[1])
        defer { close(reading) }
        let process: pid_t
        do throws(ChildProcess.StartError) {
            defer { close(writing) }
            process = try ChildProcess.start(
                executable, arguments(places, mount, ready: 3),
                environment: ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }, group: .newSession,
                signals: AgentProcess.ignoredSignals, upTo: 3
            ) { actions in
                posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
                posix_spawn_file_actions_addopen(
                    &actions, STDOUT_FILENO, places.logFile, O_WRONLY | O_CREAT | O_APPEND, 0o600)
                posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
                posix_spawn_file_actions_adddup2(&actions, writing, 3)
            }
        } catch {
            throw ControlError(.failed, "\(executable) cannot be started: \(error.reason).", path: executable)
        }
        let word = try await threads.runIfActive { line(from: reading) }
        guard word == "ready" || word.hasPrefix("ready ") else {
            // It ends by itself once it has said why.
            _ = try await threads.runIfActive { waitpid(process, nil, 0) }
            throw ControlError(
                .failed, message: word.isEmpty ? translated("\(program) ended at once. See \(places.logFile).") : word,
                path: mount.directory)
        }
        return Started(process: process, refusal: word == "ready" ? nil : String(word.dropFirst("ready ".count)))
    }

    /// Goes on as the program that mounts: it prints `ready` when the tree can be read, and unmounts at SIGINT and
    /// SIGTERM.
    ///
    /// - Parameter said: one line that it prints in place of `ready`.
    /// - Throws: `failed` if the program is missing or cannot be started. Otherwise it does not return.
    static func become(_ places: MountPlaces, _ mount: WantedMount, said: String? = nil) throws(ControlError) {
        let executable = try mountProgram()
        let words = arguments(places, mount, ready: STDOUT_FILENO, said: said)
        for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
        // Threads of a pool block signals, and the program would inherit that.
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        var vector = ([executable] + words).map { strdup($0) } + [nil]
        execv(executable, &vector)
        throw ControlError(
            .failed, "\(executable) cannot be started: \(String(cString: strerror(errno))).", path: executable)
    }

    /// The program that mounts, which is beside this one.
    static func mountProgram() throws(ControlError) -> String {
        let own = try AgentProcess.executable()
        let executable = own.parentPath + "/" + program
        guard access(executable, X_OK) == 0 else {
            throw ControlError(.failed, "\(executable) is missing. Install synctrain again.", path: executable)
        }
        return executable
    }

    /// - Parameters:
    ///   - ready: where the program says that it is; nil for nowhere.
    ///   - said: what it says; nil for `ready`.
    static func arguments(_ places: MountPlaces, _ mount: WantedMount, ready: CInt?, said: String? = nil) -> [String] {
        let words =
            ["--socket", places.socket, "--folder", mount.folder] + (ready.map { ["--ready", "\($0)"] } ?? [])
            + (said.map { ["--said", $0] } ?? [])
        let budget = mount.readBudget.map { ["--read-budget", "\($0)"] } ?? []
        return words + (mount.isReadOnly ? ["--read-only"] : []) + budget + [mount.directory]
    }

    private static func pipe2(_ ends: inout [CInt]) -> Bool {
        guard Glibc.pipe(&ends) == 0 else { return false }
        // The copy in the child is another than these.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // Where it is 3 already, the copy would be none and would be closed.
        if ends[1] == 3 {
            let other = fcntl(ends[1], F_DUPFD_CLOEXEC, 10)
            close(ends[1])
            ends[1] = other
        }
        return ends[1] >= 0
    }

    /// What is written until the line or the writer ends.
    private static func line(from descriptor: CInt) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < 4096 {
            let count = read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether programs can change something in a mount, and why not; nil if this process may not ask.
    static func statedAccess(of directory: String) -> String? {
        var value = [UInt8](repeating: 0, count: 256)
        let count = getxattr(directory, "user.synctrain.access", &value, value.count)
        return count > 0 ? String(decoding: value.prefix(count), as: UTF8.self) : nil
    }

    // MARK: unmounting

    /// - Parameter process: the mount's, to be ended where this process may not unmount; 0: it may.
    static func end(_ directory: String, typed: String, isLazy: Bool, process: pid_t = 0) async throws {
        let path = resolved(directory)
        guard try all().contains(where: { $0.directory == path }) else {
            throw ControlError(
                .noSuchPath, "No folder is mounted on \(typed). `synctrain mount --list` shows the mounts.", path: typed
            )
        }
        let target = path
        if process > 0 { return try await end(process, of: target, typed: typed, isLazy: isLazy) }
        var failure = ""
        for _ in 0..<unmountAttempts {
            let (code, words) = try await threads.runIfActive {
                run(isLazy ? ["-u", "-z", target] : ["-u", target])
            }
            guard code != 0 else { return }
            let holders = try await threads.runIfActive { Self.holders(of: target) }
            guard holders.isEmpty else { throw inUse(typed, holders) }
            // Nobody uses it any more: for a moment the mount's own process did, that calls for programs which watch.
            failure = words
        }
        throw ControlError(.failed, "\(typed) cannot be unmounted: \(failure)", path: typed)
    }

    private static let unmountAttempts = 5

    /// Has the mount's process unmount it, unless programs use it.
    private static func end(_ process: pid_t, of directory: String, typed: String, isLazy: Bool) async throws {
        let holders = isLazy ? [] : try await threads.runIfActive { Self.holders(of: directory) }
        guard holders.isEmpty else { throw inUse(typed, holders) }
        guard kill(process, SIGTERM) == 0 || errno == ESRCH else {
            throw ControlError(
                .failed, "\(typed) cannot be unmounted: \(String(cString: strerror(errno)))", path: typed)
        }
        let end = ContinuousClock.now + .seconds(5)
        while try all().contains(where: { $0.directory == directory }) {
            guard ContinuousClock.now < end else {
                throw ControlError(
                    .timeout, "\(typed) is not unmounted yet. Try again, or use `synctrain unmount --lazy`.",
                    isRetryable: true, path: typed)
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private static func inUse(_ typed: String, _ holders: [String]) -> ControlError {
        ControlError(
            .busy, "\(typed) is in use by \(holders.joined(separator: ", ")). Close them, or use --lazy.",
            isRetryable: true, path: typed)
    }

    /// The processes that have something below the directory open, mapped or as their working directory.
    private static func holders(of directory: String) -> [String] {
        let manager = FileManager.default
        func isBelow(_ path: String) -> Bool { path.isAtOrBelow(directory) }
        func link(_ path: String) -> String? { try? manager.destinationOfSymbolicLink(atPath: path) }
        var holders: [String] = []
        for process in (try? manager.contentsOfDirectory(atPath: "/proc")) ?? [] where Int(process) != nil {
            let place = "/proc/" + process
            let line = KernelFile.bytes(at: place + "/cmdline") ?? []
            if MountPoint.callsForWatchers(commandLine: line) { continue }
            let descriptors = (try? manager.contentsOfDirectory(atPath: place + "/fd")) ?? []
            let maps = KernelFile.text(at: place + "/maps") ?? ""
            guard
                ["cwd", "root", "exe"].contains(where: { link("\(place)/\($0)").map(isBelow) ?? false })
                    || descriptors.contains(where: { link("\(place)/fd/\($0)").map(isBelow) ?? false })
                    || maps.contains(" " + directory + "/")
            else { continue }
            let name = KernelFile.text(at: place + "/comm") ?? "?"
            holders.append("\(name.split(separator: "\n").first ?? "?") (\(process))")
        }
        return holders.sorted()
    }

    // MARK: fusermount3

    static func find(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return (path.split(separator: ":").map(String.init) + ["/usr/bin", "/bin"]).map { $0 + "/" + name }
            .first { access($0, X_OK) == 0 }
    }

    private static func run(_ arguments: [String]) -> (code: Int32, words: String) {
        guard let executable = find(unmountProgram) else { return (1, translated("fusermount3 is not installed")) }
        let process = Process()
        process.executableURL = URL(filePath: executable)
        process.arguments = arguments
        let errors = Pipe()
        process.standardError = errors
        do { try process.run() } catch { return (1, "\(error)") }
        let words = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, words.split(separator: "\n").joined(separator: " "))
    }
}
