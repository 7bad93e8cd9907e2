import CLinux
import Glibc
import ServiceLifecycle
import SyncAgent

/// Gives back the memory that starting took, once the folders were looked at for the first time, as a rule; and later what
/// work took, when it is over.
struct Settling: Service {
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var rest = RestWatch(usage())
            while (try? await Task.sleep(for: rest.pause)) != nil {
                if rest.isReleaseDue(usage()) {
                    StartupPages.release()
                    _ = malloc_trim(0)
                    rest.released(usage())
                }
            }
        }
        try await gracefulShutdown()
    }

    private func usage() -> RestWatch.Usage {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else {
            return RestWatch.Usage(processorTime: .zero, pageFaults: 0)
        }
        let time = [usage.ru_utime, usage.ru_stime].reduce(Duration.zero) { sum, time in
            sum + .seconds(time.tv_sec) + .microseconds(time.tv_usec)
        }
        return RestWatch.Usage(processorTime: time, pageFaults: usage.ru_minflt)
    }
}
