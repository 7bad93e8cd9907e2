import Glibc
import MountProtocol
import MountRules
import Threads

/// The running process that calls for programs which watch. Used by one thread.
final class WatcherProcess {
    /// How long a call may take: the mount answers within the time that names have.
    static let patience = Duration.seconds(10)

    let number: pid_t
    /// The process's input and output.
    private let socket: CInt
    private var decoder = MountFrame.Decoder(limit: WatcherAnswer.limit)
    private var callCount: UInt64 = 0

    /// Starts it, with no descriptor of this process but its end of a pair of sockets.
    ///
    /// - Throws: if it cannot be started.
    init(directory: String, word: [UInt8]) throws(ChildProcess.StartError) {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw ChildProcess.StartError(errno: errno)
        }
        let (ours, theirs) = (ends[0], ends[1])
        defer { close(theirs) }
        do {
            // The file of this program, also where another version has been installed meanwhile. In a group of its own: Control-C is for
            // the mount.
            number = try ChildProcess.start(
                "/proc/self/exe", [MountPoint.callingOption], environment: Self.environment, group: .own
            ) { actions in
                posix_spawn_file_actions_adddup2(&actions, theirs, STDIN_FILENO)
                posix_spawn_file_actions_adddup2(&actions, theirs, STDOUT_FILENO)
            }
        } catch {
            close(ours)
            throw error
        }
        socket = ours
        send(WatcherCommand.begin(directory: directory, word: word).frame(number: 0))
    }

    /// Where libraries of a program that is not installed are.
    private static var environment: [String] {
        getenv("LD_LIBRARY_PATH").map { ["LD_LIBRARY_PATH=" + String(cString: $0)] } ?? []
    }

    /// Has a call made. The errno of it, 0 for none; nil if the process does not answer, and is of no more use then.
    func call(_ command: WatcherCommand) -> CInt? {
        callCount &+= 1
        guard send(command.frame(number: callCount)) else { return nil }
        let end = Clock.now + Self.patience
        var buffer = [UInt8](repeating: 0, count: 256)
        while true {
            do throws(MountProtocolError) {
                while let frame = try decoder.next() {
                    if frame.number == callCount { return try WatcherAnswer(frame).number }
                }
            } catch {
                return nil
            }
            var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            let rest = Int32(clamping: Int64((end - Clock.now) / .milliseconds(1)))
            guard rest > 0 else { return nil }
            let isReady = poll(&waiting, 1, rest)
            if isReady < 0, errno == EINTR { continue }
            guard isReady > 0 else { return nil }
            let count = recv(socket, &buffer, buffer.count, CInt(MSG_DONTWAIT))
            if count < 0, errno == EAGAIN || errno == EINTR { continue }
            guard count > 0 else { return nil }
            buffer.withUnsafeBytes { decoder.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    @discardableResult
    private func send(_ frame: MountFrame) -> Bool {
        // One call at a time: it fits into the socket, whatever the process does.
        let bytes = frame.bytes
        return Glibc.send(socket, bytes, bytes.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL)) == bytes.count
    }

    /// Ends it. `isDead` is called when it can make no call any more and its number is nobody else's yet.
    func end(isDead: () -> Void) {
        close(socket)
        kill(number, SIGKILL)
        var information = siginfo_t()
        while waitid(P_PID, id_t(number), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        isDead()
        while waitpid(number, nil, 0) < 0, errno == EINTR {}
    }
}
