import CFuse
import Glibc

/// A request of the kernel, which is answered exactly once, from any thread: libfuse locks inside.
struct Request: @unchecked Sendable {
    let raw: fuse_req_t

    /// Takes the interrupt function away; before every answer that another thread gives. No call of it follows.
    func settle() { fuse_req_interrupt_func(raw, nil, nil) }

    func fail(_ number: CInt) { fuse_reply_err(raw, number) }

    /// The thread that waits; 0 for the kernel itself, as with pages read ahead.
    var caller: pid_t { fuse_req_ctx(raw)?.pointee.pid ?? 0 }

    /// Answers that nobody has the name that was looked up, which the kernel may keep for so long.
    func replyNobodys(for validity: Duration) {
        var parameters = fuse_entry_param()
        parameters.entry_timeout = validity / .seconds(1)
        fuse_reply_entry(raw, &parameters)
    }

    /// Answers with bytes as getxattr(2) wants it: with size 0 their count alone.
    func reply(_ bytes: [UInt8], size: Int) {
        if size == 0 {
            fuse_reply_xattr(raw, bytes.count)
        } else if bytes.count > size {
            fail(ERANGE)
        } else {
            reply(bytes)
        }
    }

    func reply(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            _ = fuse_reply_buf(raw, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
        }
    }
}

/// What libfuse lends for a call, kept for the answer.
struct Information: @unchecked Sendable { let raw: fuse_file_info }
