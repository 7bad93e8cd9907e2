import CFuse
import Glibc

/// The kernel's first request, in which both sides say what they can do.
///
/// Before each write the kernel asks for `security.capability`: a file that somebody writes to loses that and its set-user-ID bit. It
/// does not ask where the file system says that it sees to that itself (`FUSE_HANDLE_KILLPRIV_V2`, Linux 5.11), and in a mount no file
/// has either. libfuse 3.14 cannot be told to say so; its answer is caught, and the flag added.
enum FirstRequest {
    /// Takes one request and answers it, before any other thread takes one.
    static func answer(_ session: OpaquePointer) {
        var request = fuse_buf()
        defer { free(request.mem) }
        var count: CInt
        repeat { count = fuse_session_receive_buf(session, &request) } while count == -EINTR
        guard count > 0 else { return }
        let answer =
            isOffered(in: UnsafeRawBufferPointer(start: request.mem, count: Int(count)))
            ? caught(fuse_session_fd(session)) { fuse_session_process_buf(session, &request) } : nil
        guard var answer else { return fuse_session_process_buf(session, &request) }
        if answer.count >= flags.upperBound {
            answer.withUnsafeMutableBytes { bytes in
                let said = bytes.loadUnaligned(fromByteOffset: flags.lowerBound, as: UInt32.self)
                bytes.storeBytes(of: said | handlesPrivileges, toByteOffset: flags.lowerBound, as: UInt32.self)
            }
        }
        // An error is libfuse's answer to a kernel that it does not understand; the kernel ends the mount.
        _ = write(fuse_session_fd(session), answer, answer.count)
    }

    private static let handlesPrivileges = UInt32(FUSE_HANDLE_KILLPRIV_V2)

    /// The place of the flags in an answer that reports success.
    private static let flags: Range<Int> = {
        let start = MemoryLayout<fuse_out_header>.size + MemoryLayout<fuse_init_out>.offset(of: \.flags)!
        return start..<start + MemoryLayout<UInt32>.size
    }()

    private static func isOffered(in request: UnsafeRawBufferPointer) -> Bool {
        let start = MemoryLayout<fuse_in_header>.size
        guard request.count >= start + MemoryLayout<fuse_init_in>.offset(of: \.flags2)! else { return false }
        let header = request.loadUnaligned(as: fuse_in_header.self)
        let flags = request.loadUnaligned(
            fromByteOffset: start + MemoryLayout<fuse_init_in>.offset(of: \.flags)!, as: UInt32.self)
        return header.opcode == FUSE_INIT.rawValue && flags & handlesPrivileges != 0
    }

    /// What `body` writes to `device`, which goes nowhere else; nil if there are no descriptors for it, and `body` was not called.
    private static func caught(_ device: CInt, _ body: () -> Void) -> [UInt8]? {
        var ends: [CInt] = [-1, -1]
        let kept = fcntl(device, F_DUPFD_CLOEXEC, 0)
        defer { for descriptor in ends + [kept] where descriptor >= 0 { close(descriptor) } }
        guard kept >= 0, pipe(&ends) == 0, dup2(ends[1], device) >= 0 else { return nil }
        body()
        dup2(kept, device)
        // A program that takes this one's place makes a mount of its own.
        _ = fcntl(device, F_SETFD, FD_CLOEXEC)
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        var answer = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &answer, answer.count)
        return Array(answer.prefix(max(0, count)))
    }
}
