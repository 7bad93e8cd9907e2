import Threads

extension OwnedThread {
    /// Runs work that waits in system calls in a new thread. It has a few frames, and its buffers are on the heap: the stack is
    /// small.
    ///
    /// - Parameter name: as in ps(1), at most 15 bytes of it.
    /// - Throws: when the system gives no thread.
    package static func startWaiting(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        guard start(name, stackByteCount: 512 * 1024, body) else { throw SystemError("pthread_create") }
    }
}
