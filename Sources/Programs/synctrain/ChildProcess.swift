import Foundation
import Glibc

/// Another program, started by this one.
enum ChildProcess {
    struct StartError: Error { let reason: String }

    /// POSIX_SPAWN_SETSID of glibc's <spawn.h>, which Swift does not see.
    private static let setSession: Int16 = 0x80

    /// Starts a program that has of this one's descriptors only what `files` says. Whoever calls this waits for its end,
    /// with `waitpid`.
    ///
    /// - Parameter arguments: the program's path first.
    static func start(
        _ arguments: [String], _ variables: [String: String], inNewSession: Bool = false,
        files: (inout posix_spawn_file_actions_t) -> Void
    ) throws(StartError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        files(&actions)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This process ignores both; a child would inherit that.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGINT)
        sigaddset(&defaults, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, (inNewSession ? setSession : 0) | Int16(POSIX_SPAWN_SETSIGDEF))
        try keepDescriptors()
        var child: pid_t = 0
        let result = withCStrings(arguments) { argv in
            withCStrings(variables.map { "\($0.key)=\($0.value)" }) { envp in
                posix_spawn(&child, arguments[0], &actions, &attributes, argv, envp)
            }
        }
        guard result == 0 else { throw StartError(reason: String(cString: strerror(result))) }
        return child
    }

    /// Lets no child have this process's descriptors, beyond the three usual ones: a socket that a child holds, too, is
    /// not closed when this process closes it.
    private static func keepDescriptors() throws(StartError) {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        } catch {
            throw StartError(reason: "/proc is not mounted")
        }
        for name in names {
            guard let descriptor = Int32(name), descriptor > STDERR_FILENO else { continue }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    /// A null-terminated array of C strings that live during the call.
    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = strings.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return body(&pointers)
    }
}
