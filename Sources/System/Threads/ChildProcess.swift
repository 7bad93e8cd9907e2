import CLinux
import Glibc

/// Another program, started by this one.
package enum ChildProcess {
    package struct StartError: Error {
        package let errno: CInt
        package let reason: String

        package init(errno: CInt, reason: String? = nil) {
            self.errno = errno
            self.reason = reason ?? String(cString: strerror(errno))
        }
    }

    /// Whose signals from a terminal the program gets.
    package enum Group: Sendable {
        case inherited, own, newSession
    }

    /// POSIX_SPAWN_SETSID of glibc's <spawn.h>, which Swift does not see.
    private static let setSession: Int16 = 0x80

    /// Starts a program. The caller waits for its end with `waitpid`.
    ///
    /// - Parameters:
    ///   - arguments: without the program itself.
    ///   - environment: `NAME=value` each; the program gets no others.
    ///   - signals: those that the program does not ignore though this process may; nil for all of them, and then none
    ///     is blocked.
    ///   - last: the highest descriptor that the program has. It gets no copies beyond: a file that a child has open for writing
    ///     is in use, and a socket that it holds is not closed when this process closes it.
    ///   - files: what the program's descriptors up to `last` are; the others are those of this process.
    package static func start(
        _ program: String, _ arguments: [String], environment: [String], group: Group, signals: [CInt]? = nil,
        upTo last: CInt = STDERR_FILENO, files: (inout posix_spawn_file_actions_t) -> Void
    ) throws(StartError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        files(&actions)
        let refused = clinux_close_from(&actions, last + 1)
        guard refused == 0 else { throw StartError(errno: refused) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var flags = Int16(POSIX_SPAWN_SETSIGDEF)
        var defaults = sigset_t()
        if let signals {
            sigemptyset(&defaults)
            for signal in signals { sigaddset(&defaults, signal) }
        } else {
            sigfillset(&defaults)
            var none = sigset_t()
            sigemptyset(&none)
            posix_spawnattr_setsigmask(&attributes, &none)
            flags |= Int16(POSIX_SPAWN_SETSIGMASK)
        }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        switch group {
        case .inherited: break
        case .own:
            posix_spawnattr_setpgroup(&attributes, 0)
            flags |= Int16(POSIX_SPAWN_SETPGROUP)
        case .newSession: flags |= setSession
        }
        posix_spawnattr_setflags(&attributes, flags)
        var child: pid_t = 0
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        let result = posix_spawn(&child, program, &actions, &attributes, &words, &variables)
        guard result == 0 else { throw StartError(errno: result) }
        return child
    }
}
