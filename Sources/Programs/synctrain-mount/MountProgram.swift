import CFuse
import CLinux
import Glibc
import KernelFiles
import LocalSocket
import MountProtocol
import MountRules
import Synchronization
import Threads

/// `synctrain-mount --socket PATH --folder ID --ready DESCRIPTOR [--said LINE] [--read-only] [--read-budget BYTES] DIRECTORY`: started by `synctrain mount`.
///
/// Says `ready`, or the line, on the descriptor once the tree can be used, or why it cannot, and runs until it is unmounted or gets SIGTERM. To
/// another program also why changes are refused, where they are.
@main
enum MountProgram {
    private static let threadCount = 4
    private static let connectionPatience = Duration.seconds(5)

    /// Whether the agent is of another version than this program: synctrain was updated meanwhile.
    private static let isOutdated = Atomic(false)

    /// The agent has refused this version: the thread of signals does the rest.
    static func noteUpdate() {
        isOutdated.store(true, ordering: .relaxed)
        kill(getpid(), SIGTERM)
    }

    private struct Arguments {
        var socket = ""
        var folder = ""
        var ready: CInt = -1
        /// What is said once the tree can be used.
        var said = "ready"
        var directory = ""
        var isReadOnly = false
        var readBudget: Int64?

        init?(_ words: [String]) {
            var rest = words[...]
            while let word = rest.popFirst() {
                switch word {
                case "--socket": socket = rest.popFirst() ?? ""
                case "--folder": folder = rest.popFirst() ?? ""
                case "--ready": ready = rest.popFirst().flatMap { CInt($0) } ?? -1
                case "--said": said = rest.popFirst() ?? said
                case "--read-only": isReadOnly = true
                case "--read-budget": readBudget = rest.popFirst().flatMap { Int64($0) }
                default: directory = word
                }
            }
            guard !socket.isEmpty, !folder.isEmpty, directory.hasPrefix("/") else { return nil }
        }
    }

    static func main() {
        StandardStreams.occupy()
        signal(SIGPIPE, SIG_IGN)
        if CommandLine.arguments.dropFirst().first == MountPoint.callingOption { exit(WatcherCalls.run()) }
        guard let arguments = Arguments(Array(CommandLine.arguments.dropFirst())) else {
            say("usage: synctrain-mount --socket PATH --folder ID DIRECTORY; `synctrain mount` starts it", -1)
            exit(64)
        }
        exit(run(arguments))
    }

    private static func run(_ arguments: Arguments) -> CInt {
        // Each open file that is present or written is a descriptor.
        DescriptorLimit.raise()
        // Before any thread: one thread takes these.
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&signals, number) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)

        let mount = Mount(
            socket: arguments.socket, folder: arguments.folder,
            origin: MountOrigin(
                directory: arguments.directory, startedAt: UInt64(clamping: time(nil)),
                isReadOnly: arguments.isReadOnly))
        if let budget = arguments.readBudget { mount.terms.setBudget(ReadBudget(limit: budget)) }
        guard mount.agent.start() else { return fail("No thread is left.", arguments) }
        if let failure = mount.agent.waitForConnection(atMost: connectionPatience) {
            let text =
                switch failure {
                case .noSuchFolder: "\(arguments.folder): no such folder; `synctrain folder list` shows the folders"
                case .wrongVersion: "The agent is of another version. Restart it with `synctrain agent stop`."
                case .tooMany:
                    "The agent serves \(MountLimits.mountCount) mounts already. Unmount one of them; `synctrain mount --list` shows them."
                default: "The agent does not answer. Start it with `synctrain agent start`."
                }
            return fail(text, arguments)
        }
        let access = mount.access.withLock { $0 }
        // Where changes are refused now, they may be taken later: then each is refused by itself.
        let isWritable = !arguments.isReadOnly
        mount.isWritable.store(isWritable, ordering: .relaxed)
        var operations = Operations.make()
        var words = fuse_args(argc: 0, argv: nil, allocated: 0)
        let options = MountedFolder.options(folder: arguments.folder, isWritable: isWritable)
        for word in ["synctrain-mount", "-o", options] { fuse_opt_add_arg(&words, word) }
        defer { fuse_opt_free_args(&words) }
        let kept = Unmanaged.passRetained(mount)
        guard
            let raw = fuse_session_new(&words, &operations, MemoryLayout<fuse_lowlevel_ops>.size, kept.toOpaque())
        else { return fail("The library libfuse3 is too old. Install the Debian package fuse3.", arguments) }
        guard fuse_session_mount(raw, arguments.directory) == 0 else {
            return fail("\(arguments.directory) cannot be mounted. See the log for libfuse's reason.", arguments)
        }
        // Before any thread says something to the kernel.
        FirstRequest.answer(raw)
        guardMount(arguments.directory)
        let session = Invalidation.Session(raw: raw)
        var word = arguments.said
        if access != .writable, !arguments.isReadOnly {
            if arguments.ready > STDERR_FILENO {
                word += " " + access.text
            } else {
                say("\(arguments.folder) is \(access.text).", -1)
            }
        }
        // Where nothing can be changed, the kernel refuses what makes events.
        if isWritable, !mount.watching.start(session, mount, arguments.directory) {
            say("No thread is left: programs that watch directories receive no events.", -1)
        }
        guard mount.invalidation.start(session, mount), serve(session, signals, mount, word) else {
            fuse_session_unmount(raw)
            return fail("No thread is left.", arguments)
        }
        return 0
    }

    /// Answers the kernel until the file system is unmounted. False if there are no threads for it.
    private static func serve(
        _ session: Invalidation.Session, _ signals: sigset_t, _ mount: Mount, _ word: String
    ) -> Bool {
        let running = Guarded(threadCount)
        let arguments = Arguments(Array(CommandLine.arguments.dropFirst()))
        for number in 0..<threadCount {
            let isStarted = OwnedThread.start("fuse-\(number)") {
                var buffer = fuse_buf()
                while fuse_session_exited(session.raw) == 0 {
                    let count = fuse_session_receive_buf(session.raw, &buffer)
                    if count == -EINTR { continue }
                    if count <= 0 { break }
                    fuse_session_process_buf(session.raw, &buffer)
                }
                free(buffer.mem)
                running.with { $0 -= 1 }
            }
            guard isStarted else { return false }
        }
        OwnedThread.start("signals") {
            var (signals, number) = (signals, CInt(0))
            while sigwait(&signals, &number) != 0 {}
            // What waits fails, then names and open files go with the process.
            let isOutdated = Self.isOutdated.load(ordering: .relaxed)
            if !isOutdated { mount.agent.tell(.goodbye) }
            mount.agent.end()
            fuse_session_exit(session.raw)
            fuse_session_unmount(session.raw)
            if isOutdated {
                mount.watching.end()
                becomeInstalled()
            }
            exit(isOutdated ? 1 : 0)
        }
        say(word, arguments?.ready ?? -1)
        _ = running.wait { $0 == 0 ? true : nil }
        // The thread of signals does the rest.
        while isOutdated.load(ordering: .relaxed) { pause() }
        mount.agent.tell(.goodbye)
        mount.agent.end()
        mount.invalidation.end()
        mount.watching.end()
        return true
    }

    /// Has a process end what waits for this one if it is killed at a moment at which the kernel would not. The mount goes on without.
    private static func guardMount(_ directory: String) {
        guard
            let (device, place) = MountedFolder.device(
                in: KernelFile.text(at: MountedFolder.table) ?? "", at: directory)
        else { return }
        if clinux_guard_mount(device, place, directory) < 0 {
            say("No process is left to guard the mount: \(String(cString: strerror(errno)))", -1)
        }
    }

    /// Goes on as the program that is installed now, which mounts again. Returns only if that cannot be started.
    private static func becomeInstalled() {
        var words = CommandLine.arguments
        // Who started this one has long been told.
        for option in ["--ready", "--said"] {
            if let place = words.firstIndex(of: option) {
                words.removeSubrange(place...min(place + 1, words.count - 1))
            }
        }
        say("The agent is of another version; this mount is made again by the program that is installed.", -1)
        var vector = words.map { strdup($0) } + [nil]
        // The socket of `auto_unmount` stays open: the helper at its other end unmounts what is there when it closes.
        execv(words[0], &vector)
        say("\(words[0]) cannot be started: \(String(cString: strerror(errno)))", -1)
    }

    private static func fail(_ text: String, _ arguments: Arguments) -> CInt {
        // Standard output is for `ready` alone.
        say(text, arguments.ready > STDERR_FILENO ? arguments.ready : -1)
        return 1
    }

    /// To the program that started this one; else to standard error.
    static func say(_ text: String, _ descriptor: CInt) {
        let line = Array((text + "\n").utf8)
        _ = write(descriptor >= 0 ? descriptor : STDERR_FILENO, line, line.count)
        if descriptor > STDERR_FILENO { close(descriptor) }
    }
}
