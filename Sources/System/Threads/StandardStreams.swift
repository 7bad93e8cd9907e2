import Glibc

/// The descriptors that every program is started with: 0, 1 and 2.
package enum StandardStreams {
    /// Puts something into the place of those that are closed, as after `>&-`. The next file or socket that the program opens would get
    /// the number, and what is printed or logged would go into it.
    ///
    /// Reading and writing them fails with `EBADF`, as if they were closed.
    ///
    /// - Parameter numbers: other ones, for tests.
    package static func occupy(_ numbers: [CInt] = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]) {
        for number in numbers where fcntl(number, F_GETFD) < 0 && errno == EBADF {
            let descriptor = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
            guard descriptor >= 0, descriptor != number else { continue }
            dup2(descriptor, number)
            close(descriptor)
        }
    }
}
