import Glibc
import Synchronization
import Threads

/// Another program that is run with nothing on its standard input, for a limited time and a limited output. It and all that
/// it starts are one process group, which is ended as a whole.
package struct BoundedProgram: Sendable {
    package enum End: Equatable, Sendable {
        case exited(CInt)
        /// By a signal.
        case killed(CInt)
        case timedOut
        case outputTooLong
        case cancelled
        /// With the errno of what failed.
        case notStarted(CInt)
    }

    package struct Outcome: Equatable, Sendable {
        package var end: End
        /// At most `outputLimit` bytes.
        package var output: [UInt8]

        package init(end: End, output: [UInt8]) {
            self.end = end
            self.output = output
        }
    }

    /// Absolute.
    package var path: String
    package var arguments: [String]
    /// `NAME=value` each; the program gets no others.
    package var environment: [String]
    package var timeLimit: Duration
    package var outputLimit: Int

    package init(path: String, arguments: [String], environment: [String], timeLimit: Duration, outputLimit: Int) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
        self.timeLimit = timeLimit
        self.outputLimit = outputLimit
    }

    /// Between two looks at whether to go on.
    private static let lookEvery: CInt = 50

    /// Holds one of `threads` until the program has ended; a cancellation ends it.
    package func run(on threads: any DiskThreads) async -> Outcome {
        let isCancelled = Flag()
        return await withTaskCancellationHandler {
            do {
                return try await threads.runIfActive { runHere(isCancelled) }
            } catch {
                return Outcome(end: .cancelled, output: [])
            }
        } onCancel: {
            isCancelled.set()
        }
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .relaxed) }
        func set() { value.store(true, ordering: .relaxed) }
    }

    private func runHere(_ isCancelled: Flag) -> Outcome {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { return Outcome(end: .notStarted(errno), output: []) }
        // Whatever else is started at this very moment may inherit them: so the end of the output is not waited for.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let output = ends[0]
        defer { close(output) }
        let process: pid_t
        do throws(ChildProcess.StartError) {
            defer { close(ends[1]) }
            process = try ChildProcess.start(path, arguments, environment: environment, group: .own) { actions in
                posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
                posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
                posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
            }
        } catch {
            return Outcome(end: .notStarted(error.errno), output: [])
        }
        let deadline = ContinuousClock.now + timeLimit
        var bytes: [UInt8] = []
        var (isOpen, end) = (true, End?.none)
        while end == nil {
            if isCancelled.isSet {
                end = .cancelled
            } else if ContinuousClock.now >= deadline {
                end = .timedOut
            } else {
                if isOpen { isOpen = readSome(output, into: &bytes, within: Self.lookEvery) } else { poll(nil, 0, 5) }
                if Self.hasEnded(process) {
                    let status = Self.endGroup(of: process)
                    while isOpen, bytes.count <= outputLimit, hasMore(output) {
                        isOpen = readSome(output, into: &bytes, within: 0)
                    }
                    if bytes.count <= outputLimit { return Outcome(end: Self.end(status), output: bytes) }
                    return Outcome(end: .outputTooLong, output: Array(bytes.prefix(outputLimit)))
                }
                if bytes.count > outputLimit { end = .outputTooLong }
            }
        }
        _ = Self.endGroup(of: process)
        return Outcome(end: end ?? .timedOut, output: Array(bytes.prefix(outputLimit)))
    }

    /// Whether the program is over. It is not reaped: until it is, no other process can get its number.
    private static func hasEnded(_ process: pid_t) -> Bool {
        var information = siginfo_t()
        let result = waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT)
        return result == 0 && information.si_signo == SIGCHLD
    }

    /// Ends the program and what it started and left behind, and reaps it; gives its status as waitpid(2) does.
    private static func endGroup(of process: pid_t) -> CInt {
        kill(-process, SIGKILL)
        var status: CInt = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }

    private func hasMore(_ output: CInt) -> Bool {
        var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, 0) > 0
    }

    /// False at the end of the output.
    private func readSome(_ output: CInt, into bytes: inout [UInt8], within milliseconds: CInt) -> Bool {
        var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds) > 0 else { return true }
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        let count = read(output, &buffer, buffer.count)
        if count > 0 { bytes += buffer.prefix(count) }
        return count > 0 || count < 0 && (errno == EINTR || errno == EAGAIN)
    }

    private static func end(_ status: CInt) -> End {
        let signal = status & 0x7f
        return signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal)
    }
}
