import CLinux
import Glibc

/// A thread for work that waits in system calls.
package enum OwnThread {
    private final class Work {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Runs `body` in a new thread. Fails when the system gives none.
    ///
    /// - Parameter name: at most 15 bytes, as it appears in ps(1).
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let work = Unmanaged.passRetained(Work(name: name, body: body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        // A few frames and buffers on the heap: the default of eight mebibytes is not needed.
        pthread_attr_setstacksize(&attributes, 512 * 1024)
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
            throw SystemError("pthread_create", failure)
        }
    }
}
