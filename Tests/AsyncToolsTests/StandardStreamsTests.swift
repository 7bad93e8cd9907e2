import Glibc
import Testing
import Threads

struct StandardStreamsTests {
    /// Numbers far behind those that other tests use.
    @Test func whatIsClosedIsTakenAndCannotBeUsed() {
        let (closed, open) = (CInt(901), CInt(902))
        #expect(dup2(Glibc.open("/dev/null", O_WRONLY), open) == open)
        defer { for number in [closed, open] { close(number) } }
        #expect(fcntl(closed, F_GETFD) < 0)

        StandardStreams.occupy([closed, open])

        #expect(fcntl(closed, F_GETFD) == 0, "programs that are started later have it too")
        #expect(write(closed, "x", 1) == -1 && errno == EBADF)
        #expect(write(open, "x", 1) == 1, "what is open stays as it is")
    }
}
