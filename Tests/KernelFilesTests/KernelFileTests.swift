import Glibc
import Testing

@testable import KernelFiles

struct KernelFileTests {
    /// A file without a size that the kernel writes in parts of a page.
    private static let maps = "/proc/self/maps"

    @Test func aFileOfManyPagesIsReadToItsEnd() throws {
        let text = try #require(KernelFile.text(at: Self.maps))
        #expect(text.utf8.count > 2 << 12)
        #expect(text.hasSuffix("\n"))
        // The stack of the first thread lies above all libraries.
        #expect(text.contains("[stack]"))
    }

    @Test(arguments: [0, 1, 5000])
    func noMoreIsReadThanWasAskedFor(limit: Int) throws {
        #expect(try #require(KernelFile.bytes(at: Self.maps, limit: limit)).count == limit)
    }

    @Test func whatCannotBeReadIsNothing() {
        #expect(KernelFile.bytes(at: "/proc/self/no such file") == nil)
        // A directory can be opened, but not read.
        #expect(KernelFile.bytes(at: "/proc/self") == nil)
    }

    /// Who asks whether a thread has ended must not take every error for that.
    @Test(arguments: [("/proc/self/no such file", true), ("/proc/self", false), ("/proc/self/comm/x", false)])
    func whatIsAbsentIsToldFromWhatCannotBeRead(path: String, isAbsent: Bool) {
        let failure = #expect(throws: KernelFile.Failure.self) { try KernelFile.read(path) }
        #expect(failure?.isAbsence == isAbsent)
    }

    @Test func aProcessThatHasEndedIsAbsent() throws {
        var child = pid_t()
        var words = [strdup("/bin/true"), nil]
        defer { free(words[0]) }
        try #require(posix_spawn(&child, "/bin/true", nil, nil, &words, nil) == 0)
        let path = "/proc/\(child)/status"
        _ = try KernelFile.read(path)
        while waitpid(child, nil, 0) < 0, errno == EINTR {}
        let failure = #expect(throws: KernelFile.Failure.self) { try KernelFile.read(path) }
        #expect(failure?.isAbsence == true)
    }
}
