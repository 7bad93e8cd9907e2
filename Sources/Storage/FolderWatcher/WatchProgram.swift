import Glibc
import Threads

/// Where the watch program lies.
package enum WatchProgram {
    package static let name = "synctrain-watch"

    /// The watch program beside the running executable.
    package static func besideExecutable() -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
        let directory = path.prefix((path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)
        return String(decoding: directory, as: UTF8.self) + name
    }
}

/// The running watch program: one socket to it, and the duty to reap it.
///
/// The program closes whatever other descriptors it inherits: those that are not marked close-on-exec.
///
/// Belongs to the thread that started it. That thread must live as long as the program, because the program asks the
/// kernel for its own end when the thread that started it ends.
struct WatchChild: ~Copyable {
    /// The program's input and output; reads and writes give EAGAIN rather than wait.
    let socket: CInt
    private let process: pid_t

    /// The errno of what failed.
    struct StartError: Error { let errno: CInt }

    init(program: String, root: String) throws(StartError) {
        let (ours, theirs) = try Self.socketPair()
        defer { _ = close(theirs) }
        let process: pid_t
        do throws(ChildProcess.StartError) {
            // A group of its own: Control-C is for the agent, which ends the program by closing its input.
            process = try ChildProcess.start(program, [root], environment: [], group: .own) { actions in
                posix_spawn_file_actions_adddup2(&actions, theirs, STDIN_FILENO)
                posix_spawn_file_actions_adddup2(&actions, theirs, STDOUT_FILENO)
            }
        } catch {
            _ = close(ours)
            throw StartError(errno: error.errno)
        }
        socket = ours
        self.process = process
    }

    /// Ends the program, if it has not ended by itself, and reaps it; gives its status as waitpid(2) does.
    consuming func end() -> CInt {
        let status = finish()
        discard self
        return status
    }

    deinit { _ = finish() }

    private func finish() -> CInt {
        _ = close(socket)
        // It has nothing to put in order.
        _ = kill(process, SIGKILL)
        var status: CInt = 0
        while waitpid(process, &status, 0) < 0 {
            // ECHILD: somebody lets the system reap all children.
            if errno != EINTR { break }
        }
        return status
    }

    /// Two ends of a stream; reading and writing the first never waits, and neither is inherited.
    static func socketPair() throws(StartError) -> (CInt, CInt) {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw StartError(errno: errno) }
        guard fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 else {
            let error = errno
            for end in ends { _ = close(end) }
            throw StartError(errno: error)
        }
        return (ends[0], ends[1])
    }
}
