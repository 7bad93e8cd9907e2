import Glibc
import ServiceLifecycle
import SyncAgent

/// Gives back the memory that starting took, once the folders were looked at for the first time, as a rule; and later what
/// work took, when it is over.
struct Settling: Service {
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var rest = RestWatch(used: processorTime())
            while (try? await Task.sleep(for: rest.pause)) != nil {
                if rest.isReleaseDue(used: processorTime()) {
                    StartupPages.release()
                    rest.released(used: processorTime())
                }
            }
        }
        try await gracefulShutdown()
    }

    private func processorTime() -> Duration {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return .zero }
        return [usage.ru_utime, usage.ru_stime].reduce(.zero) { sum, time in
            sum + .seconds(time.tv_sec) + .microseconds(time.tv_usec)
        }
    }
}
