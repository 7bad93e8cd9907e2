import CLinux
import Glibc

/// A thread of our own for work that blocks for long, which the threads that carry tasks must not do.
package enum OwnedThread {
    private final class Work {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Runs `body` in a new thread. False, with `errno`, if the system has no thread left.
    ///
    /// - Parameters:
    ///   - name: as in ps(1), at most 15 bytes of it.
    ///   - stackByteCount: the address space of its stack; nil for the system's usual 8 MiB.
    @discardableResult
    package static func start(
        _ name: String, stackByteCount: Int? = nil, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        let work = Unmanaged.passRetained(Work(name, body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        if let stackByteCount { pthread_attr_setstacksize(&attributes, stackByteCount) }
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                clinux_name_thread(work.name)
                work.body()
                return nil
            }, work.toOpaque())
        guard failure == 0 else {
            work.release()
            errno = failure
            return false
        }
        return true
    }
}
